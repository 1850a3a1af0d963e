"""Retries of the calls that a worker depends on.

An attempt that gave up at the first call without an answer would be lost: its job would wait for
the end of its lease, and would pay with one of its attempts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from hourhand.domain.errors import Unavailable
from hourhand.ports.clock import Clock
from hourhand.ports.telemetry import Telemetry

P = TypeVar("P")

MAX_TRIES = 5
"""Tries of a call that AWS does not answer; after them the lease of the attempt runs out."""

SECONDS_BETWEEN_TRIES = 1.0


@dataclass(frozen=True, slots=True)
class Retries:
    """Wraps ports so that each call without an answer is tried again, within `MAX_TRIES`."""

    clock: Clock
    telemetry: Telemetry

    def of(self, port: P, name: str) -> P:
        """Return ``port`` with retries; the log calls it ``name``.

        Every method of a port may be repeated; after the last try it raises `Unavailable`.
        """
        return cast("P", _RetriedPort(port, name, self))


class _RetriedPort:
    """Passes every call on to a port, again while it raises `Unavailable`."""

    def __init__(self, port: object, name: str, retries: Retries) -> None:
        self._port = port
        self._name = name
        self._retries = retries

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._port, method)

        def insist(*args: Any, **kwargs: Any) -> Any:
            for _ in range(MAX_TRIES - 1):
                try:
                    return call(*args, **kwargs)
                except Unavailable as error:
                    self._retries.telemetry.warning(
                        "AWS did not answer a call. The worker tries it again in a second.",
                        call=f"{self._name}.{method}",
                        key=_key_of(*args),
                        reason=error.detail,
                    )
                    self._retries.clock.sleep(SECONDS_BETWEEN_TRIES)
            return call(*args, **kwargs)

        return insist


def _key_of(subject: Any = None, *_: Any) -> str | None:
    """Return the id of the job, or the key of the item, that a call is about."""
    return subject if isinstance(subject, str) else getattr(subject, "job_id", None)
