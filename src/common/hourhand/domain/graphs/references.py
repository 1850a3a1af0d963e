"""References to results: ``{"$result": "extract"}`` in a payload is replaced by a node's result."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

REFERENCE = "$result"
"""The one key of a reference; its value is the name of a node."""


FAILED = {"$failed": "after"}
"""At a key of a payload, it stands for the nodes before this one that failed, and their errors."""


def reference(name: str) -> dict[str, str]:
    """Return the reference to the result of the node ``name``."""
    return {REFERENCE: name}


def is_reference(value: object) -> bool:
    """Whether ``value`` is a well-formed reference."""
    return isinstance(value, Mapping) and REFERENCE in value and reference_problem(value) is None


def reference_problem(value: Mapping[str, Any]) -> str | None:
    """Return why an object with the key ``$result`` is no reference; ``None`` if it is one."""
    if len(value) > 1:
        return f"has an object with {REFERENCE} and other keys; {REFERENCE} must be the only key"
    if not isinstance(value[REFERENCE], str):
        return f"has a {REFERENCE} that is not the name of a node"
    return None


def objects_with_reference(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield each object in a JSON value that has the key ``$result``, well-formed or not."""
    # A stack of its own: the nesting of a payload must not exhaust Python's. Each container of the
    # value is visited once.
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            if REFERENCE in one:
                yield one
            else:
                pending.extend(reversed(list(one.values())))
        elif isinstance(one, (list, tuple)):
            pending.extend(reversed(one))


def referenced_names(value: Any) -> tuple[str, ...]:
    """Return the names of the nodes that a JSON value refers to, each once, in order."""
    found = (one[REFERENCE] for one in objects_with_reference(value) if is_reference(one))
    return tuple(dict.fromkeys(found))


def substitute(value: Any, result_of: Callable[[str], Any]) -> Any:
    """Return a JSON value in which each reference is replaced by ``result_of`` its name.

    ``result_of`` may return the result, or an object that stands for it until a worker reads it.
    What it returns is not searched for references. The value must not be nested deeper than a
    definition may be.
    """
    if is_reference(value):
        return result_of(value[REFERENCE])
    if isinstance(value, Mapping):
        return {key: substitute(item, result_of) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [substitute(item, result_of) for item in value]
    return value
