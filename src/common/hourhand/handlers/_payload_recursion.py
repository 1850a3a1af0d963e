"""A bound on the work of a check: linear in the size of a payload, also for recursive types.

A union tries each member with the same value. If two members lead back to the union through the
same part of that value, each level of a payload multiplies the work, and 500 bytes may take
minutes. The API checks the payloads of all tenants. Therefore such a union accepts any value there,
and the worker decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import permutations
from typing import Any

Check = dict[str, Any]
Step = tuple[str, Check]
"""A part of a value, and the schema that sees it."""

_SAME = ""
"""No part of the value, but the value itself."""

_ITEM, _TEXT = "[]", "json"
_FIELD = "."
"""The part of an object under any name; ``.name`` is the part under one name."""

_SINGLE = {
    "dict": ("values_schema", _FIELD),
    "list": ("items_schema", _ITEM),
    "set": ("items_schema", _ITEM),
    "frozenset": ("items_schema", _ITEM),
    "json": ("schema", _TEXT),
}
"""Where the one schema in a schema of these kinds is, and what part it sees."""


def bound_recursion(check: Check) -> None:
    """Let a union or a record in ``check`` accept any value if levels could multiply its work.

    They could if two of its branches see the same part of a value, one of them leads back to it,
    and the other can go on through any number of levels. Without such pairs, each part of a payload
    is seen at most so many times, and this number depends on the type alone.
    """
    types = _Types(check)
    # All are judged before the first change, so the result does not depend on their order.
    for one in [one for one in types.all if types.multiplies(one)]:
        ref = {"ref": one["ref"]} if "ref" in one else {}
        one.clear()
        one.update(type="any", **ref)


def names_read(name: str, field: Mapping[str, Any]) -> list[str]:
    """Return the names in an object from which a field is read: its own, or those of its alias."""
    alias = field.get("validation_alias", name)
    several = alias if isinstance(alias, list) and isinstance(alias[0], list) else [alias]
    # A path begins with the name of a field.
    return [str(one[0] if isinstance(one, list) else one) for one in several]


class _Types:
    """The schemas of a check, as a graph: a recursive type refers to one that it is part of."""

    def __init__(self, check: Check) -> None:
        self.all = _closure(check, lambda one: [*_steps(one), *_definitions(one)])
        self._defined = {one["ref"]: one for one in self.all if "ref" in one}
        self._led_to: dict[int, frozenset[int]] = {}
        self._recursive = frozenset(
            id(one)
            for one in self._defined.values()
            if any(id(one) in self._leads_to(inner) for _, inner in self._steps(one))
        )

    def multiplies(self, check: Check) -> bool:
        """Whether two branches of ``check`` repeat the work of each other at each level."""
        if not self._recursive:
            return False
        branches = [list(branch) for branch in self._branches(check)]
        itself = frozenset({id(check)})
        returning = [self._parts_towards(itself, branch) for branch in branches]
        endless = [self._parts_towards(self._recursive, branch) for branch in branches]
        pairs = permutations(range(len(branches)), 2)
        return any(_overlap(returning[one], endless[other]) for one, other in pairs)

    def _branches(self, check: Check) -> Iterator[Iterator[Step]]:
        """Yield what is tried with one value: the members of a union, the fields of a record."""
        match check["type"]:
            case "union":
                for choice in check["choices"]:
                    yield self._first_parts(choice)
            case "typed-dict":
                # Two fields may be read from one name.
                for name, field in check["fields"].items():
                    yield _field_steps(name, field)

    def _first_parts(self, check: Check) -> Iterator[Step]:
        """Yield the parts of a value that ``check`` looks at first."""
        same = _closure(check, lambda one: [step for step in self._steps(one) if step[0] == _SAME])
        for one in same:
            yield from (step for step in self._steps(one) if step[0] != _SAME)

    def _parts_towards(self, targets: frozenset[int], branch: list[Step]) -> list[str]:
        return [part for part, inner in branch if targets & self._leads_to(inner)]

    def _leads_to(self, check: Check) -> frozenset[int]:
        """Return the ids of ``check`` and of all that may see a part of the value that it sees."""
        if id(check) not in self._led_to:
            self._led_to[id(check)] = frozenset(map(id, _closure(check, self._steps)))
        return self._led_to[id(check)]

    def _steps(self, check: Check) -> list[Step]:
        if check["type"] == "definition-ref":
            return [(_SAME, self._defined[check["schema_ref"]])]
        return list(_steps(check))


def _closure(check: Check, steps: Callable[[Check], list[Step]]) -> list[Check]:
    """Return ``check`` and all schemas that steps lead to, each once."""
    found, seen = [check], {id(check)}
    for one in found:
        for _, inner in steps(one):
            if id(inner) not in seen:
                seen.add(id(inner))
                found.append(inner)
    return found


def _steps(check: Check) -> Iterator[Step]:
    """Yield the schemas that are written in a schema."""
    match check["type"]:
        case "typed-dict":
            for name, field in check["fields"].items():
                yield from _field_steps(name, field)
            if "extras_schema" in check:
                yield _FIELD, check["extras_schema"]
        case "union":
            yield from ((_SAME, one) for one in check["choices"])
        case "tagged-union":
            yield from ((_SAME, one) for one in check["choices"].values())
        case "tuple":
            yield from ((_ITEM, one) for one in check["items_schema"])
        case kind:
            key, part = _SINGLE.get(kind, ("schema", _SAME))
            if key in check:
                yield part, check[key]


def _field_steps(name: str, field: Check) -> Iterator[Step]:
    for one in dict.fromkeys((name, *names_read(name, field))):
        yield f"{_FIELD}{one}", field["schema"]


def _definitions(check: Check) -> Iterator[Step]:
    yield from ((_SAME, one) for one in check.get("definitions", ()))


def _overlap(some: list[str], others: list[str]) -> bool:
    """Whether two lists of parts have a part in common."""
    return any(
        one == other or (_FIELD in {one, other} and one[0] == other[0])
        for one in some
        for other in others
    )
