"""The handlers that exist, as a JSON file made at packing: the API never imports user code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from hourhand.domain.errors import FieldError, InvalidDebounce, InvalidInput, InvalidUnique
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.policies import POLICY_FIELDS, HandlerPolicies
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.domain.limits.unique_keys import Unique
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo

_Policy = RetryPolicy | DeclaredSchedule | Unique | Debounce
"""What a handler declares as an object of its own."""

_LIMIT_KINDS: Mapping[str, type[Limit]] = {"concurrency": Concurrency, "rate": Rate}


class ManifestHandlerDirectory:
    """Implements the port `HandlerDirectory` over a manifest."""

    def __init__(self, path: str | Path) -> None:
        """Read the manifest; raise `InvalidInput` naming what is wrong with it."""
        infos, self.advice = _read(Path(path))
        self._by_name = {info.name: info for info in sorted(infos, key=lambda info: info.name)}

    def find(self, name: str) -> HandlerInfo | None:
        """Return the handler of that name."""
        return self._by_name.get(name)

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""
        return tuple(self._by_name.values())


def write_manifest(path: Path, handlers: Iterable[HandlerInfo], *, advice: str = "") -> None:
    """Write ``handlers`` to ``path``; what a handler leaves to the default is left out.

    ``advice`` says what to do about a handler that is missing.
    """
    ordered = sorted(handlers, key=lambda info: info.name)
    entries = [json.dumps(_written(info)) for info in ordered]
    # A line for each handler: schemas are long, and indented they are longer.
    listed = "".join(f"\n{entry}," for entry in entries).rstrip(",")
    added = f', "advice": {json.dumps(advice)}' if advice else ""
    path.write_text(f'{{"handlers": [{listed}]{added}}}\n', encoding="utf-8")


def _written(value: HandlerInfo | HandlerPolicies | _Policy) -> dict[str, Any]:
    written: dict[str, Any] = {}
    for option in fields(value):
        given = getattr(value, option.name)
        if isinstance(given, HandlerPolicies):
            written |= _written(given)
            continue
        if isinstance(given, _Policy):
            given = _written(given)
        if option.name == "limits":
            given = [_written_limit(limit) for limit in given]
        if given is not None and given not in ("", (), []):
            written[option.name] = given
    return written


def _written_limit(limit: Limit) -> dict[str, Any]:
    """Return the limit's kind, and what it does not leave to the default."""
    kind = next(name for name, one in _LIMIT_KINDS.items() if isinstance(limit, one))
    written: dict[str, Any] = {"kind": kind}
    for option in fields(limit):
        value = getattr(limit, option.name)
        if option.default is MISSING or value != option.default:
            written[option.name] = value
    return written


def read_manifest(path: Path) -> list[HandlerInfo]:
    """Read a manifest; raise `InvalidInput` for a file that is missing or no manifest."""
    return _read(path)[0]


def _read(path: Path) -> tuple[list[HandlerInfo], str]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
        return [_info(entry) for entry in manifest["handlers"]], str(manifest.get("advice", ""))
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise _invalid(path, reason) from error
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        InvalidLimit,
        InvalidUnique,
        InvalidDebounce,
    ) as error:
        raise _invalid(path, f"is not a manifest of handlers: {error!r}") from error


def _info(entry: Mapping[str, Any]) -> HandlerInfo:
    known = {option.name for option in fields(HandlerInfo)} - {"policies"} | {*POLICY_FIELDS}
    unknown = set(entry) - known
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    read = dict(entry)
    read["payload_examples"] = tuple(read.get("payload_examples", ()))
    read["limits"] = tuple(map(_limit, read.get("limits", ())))
    for name, read_one in _READERS.items():
        if read.get(name) is not None:
            read[name] = read_one(read[name])
    stated = {name: read.pop(name) for name in POLICY_FIELDS if name in read}
    return HandlerInfo(policies=HandlerPolicies(**stated), **read)


def _retry(entry: Mapping[str, Any]) -> RetryPolicy:
    read = dict(entry)
    if "backoff" in read:
        read["backoff"] = Backoff(read["backoff"])
    if "jitter" in read:
        read["jitter"] = Jitter(read["jitter"])
    return RetryPolicy(**read)


def _schedule(entry: Mapping[str, Any]) -> DeclaredSchedule:
    read = dict(entry)
    if isinstance(read["expression"], list):
        read["expression"] = tuple(read["expression"])
    return DeclaredSchedule(**read)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "priority": Priority,
    "retry": _retry,
    "on_lost": OnLost,
    "schedule": _schedule,
    "unique": lambda entry: Unique(**entry),
    "debounce": lambda entry: Debounce(**entry),
}


def _limit(entry: Mapping[str, Any]) -> Limit:
    options = dict(entry)
    return _LIMIT_KINDS[options.pop("kind")](**options)


def _invalid(path: Path, reason: str) -> InvalidInput:
    problem = FieldError("HOURHAND_MANIFEST", f"{path} {reason}")
    return InvalidInput(f"The handlers cannot be read: {problem.message}.", errors=(problem,))
