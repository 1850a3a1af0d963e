"""The identities of callers: recorded once, before the first event that names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hourhand.domain.callers import LOCAL, MAX_IDENTITY_CHARACTERS, caller_key, is_key
from hourhand.domain.errors import Unavailable
from hourhand.ports.control_store import ControlStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally

MAX_KEYS = 4
"""Keys of one identity. With 48 bits, a second one is taken once in millions of installations."""

MAX_REMEMBERED = 1_000
"""Callers that a process remembers; it forgets the one that it met first."""

KEYS_A_READ = 100
"""One BatchGetItem."""


@dataclass(slots=True)
class Callers:
    """Finds the key of a caller, and the identities of keys. Threads may share it."""

    control: ControlStore
    telemetry: Telemetry
    _keys: dict[str, str] = field(default_factory=dict, init=False)
    _identities: dict[str, str] = field(default_factory=dict, init=False)

    def key_of(self, identity: str) -> str:
        """Return the key under which events name a caller; its identity is on record then.

        Raises `Unavailable`.
        """
        if identity == LOCAL:
            return LOCAL
        identity = identity[:MAX_IDENTITY_CHARACTERS]
        key = self._keys.get(identity)
        return self._recorded(identity) if key is None else key

    def keys_of(self, identity: str) -> frozenset[str]:
        """Return the keys under which events name a caller: none, if it never called.

        Raises `Unavailable`.
        """
        if identity == LOCAL:
            return frozenset({LOCAL})
        identity = identity[:MAX_IDENTITY_CHARACTERS]
        keys = [caller_key(identity, number) for number in range(MAX_KEYS)]
        found = self.control.read_callers(keys)
        return frozenset(key for key, standing in found.items() if standing == identity)

    def identities(self, actors: Iterable[str]) -> dict[str, str]:
        """Return the identities of those ``actors`` that are keys of callers.

        One that cannot be read is left out: what it did is shown all the same.
        """
        named = set(actors)
        sentence = "Callers could not be read. Their events are shown with the keys alone."
        found = ask_optionally(self.telemetry, sentence, lambda: self.read(named))
        return self._remembered(named) if found is None else found

    def read(self, actors: Iterable[str]) -> dict[str, str]:
        """Return the identities of those ``actors`` that are keys; raise `Unavailable`."""
        keys = {actor for actor in actors if is_key(actor)}
        known = self._remembered(keys)
        missing = sorted(keys - known.keys())
        for start in range(0, len(missing), KEYS_A_READ):
            for key, identity in self.control.read_callers(
                missing[start : start + KEYS_A_READ]
            ).items():
                _remember(self._identities, key, identity)
                known[key] = identity
        return known

    def _remembered(self, keys: set[str]) -> dict[str, str]:
        found = ((key, self._identities.get(key)) for key in keys)
        return {key: identity for key, identity in found if identity is not None}

    def _recorded(self, identity: str) -> str:
        for number in range(MAX_KEYS):
            key = caller_key(identity, number)
            if self.control.keep_caller(key, identity) == identity:
                _remember(self._keys, identity, key)
                _remember(self._identities, key, identity)
                return key
        raise Unavailable("Other callers have every key of this one. Report this as a fault.")


def _remember(known: dict[str, str], name: str, value: str) -> None:
    # A dict keeps the order of insertion, so the first is the oldest.
    while len(known) >= MAX_REMEMBERED and name not in known:
        known.pop(next(iter(known)), None)
    known[name] = value
