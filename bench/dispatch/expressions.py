"""Reads the few forms of expression that a mark is made of, once each.

Whatever is not understood is refused: a stand-in that guessed would measure a wish.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Item = dict[str, Any]
Values = dict[str, Any]
Test = Callable[[Item, Values], bool]
Change = Callable[[Item, Values], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """A write that was understood; ``key`` names the value that is the item's partition key."""

    tests: tuple[Test, ...]
    changes: tuple[Change, ...]
    key: str = ""

    def holds(self, item: Item, values: Values) -> bool:
        """Whether the condition holds."""
        return all(test(item, values) for test in self.tests)

    def apply(self, item: Item, values: Values) -> None:
        """Change the item."""
        for change in self.changes:
            change(item, values)


def plan_of_update(condition: str, update: str) -> Plan:
    """Read the expressions of an UpdateItem."""
    return Plan(_tests(condition), _changes(re.split(r", (?=\w+ =)", update.removeprefix("SET "))))


def plan_of_statement(statement: str) -> Plan:
    """Read a PartiQL UPDATE; its parameters are named by their places."""
    places = iter(range(statement.count("?")))
    named = re.sub(r"\?", lambda _: f":{next(places)}", statement)
    found = re.fullmatch(r'UPDATE "[\w-]+" SET (.*) WHERE (.*)', named)
    if found is None:
        raise ValueError(f"not a mark: {statement}")
    condition = found.group(2).replace('"', "")
    key = re.match(r"p = :(\d+) AND s = :\d+", condition)
    if key is None:
        raise ValueError(f"no key in: {statement}")
    changes = re.split(r" SET ", found.group(1).replace('"', ""))
    return Plan(_tests(condition), _changes(changes), key.group(1))


def _tests(condition: str) -> tuple[Test, ...]:
    return tuple(_test(part) for part in condition.split(" AND "))


def _test(part: str) -> Test:
    found = re.fullmatch(r"attribute_not_exists\((\w+)\)|(\w+) IS MISSING", part)
    if found:
        absent = found.group(1) or found.group(2)
        return lambda item, _: absent not in item
    found = re.fullmatch(r"(\w+) = :(\w+)", part)
    if found:
        name, value = found.groups()
        return lambda item, values: item.get(name) == _of(values, value)
    found = re.fullmatch(r"(\w+) IN [\[(](.*)[\])]", part)
    if found:
        name, options = found.group(1), re.findall(r":(\w+)", found.group(2))
        return lambda item, values: item.get(name) in [_of(values, each) for each in options]
    raise ValueError(f"not a condition of a mark: {part}")


def _changes(parts: list[str]) -> tuple[Change, ...]:
    return tuple(_change(part) for part in parts)


def _change(part: str) -> Change:
    found = re.fullmatch(r"(\w+) = list_append\(\w+, :(\w+)\)", part)
    if found:
        name, value = found.groups()
        return lambda item, values: item[name]["L"].extend(_of(values, value)["L"])
    found = re.fullmatch(r"(\w+)\[\d+\] = :(\w+)", part)
    if found:
        name, value = found.groups()
        return lambda item, values: item[name]["L"].append(_of(values, value))
    found = re.fullmatch(r"(\w+) = :(\w+)", part)
    if found:
        name, value = found.groups()
        return lambda item, values: item.__setitem__(name, _of(values, value))
    raise ValueError(f"not a change of a mark: {part}")


def _of(values: Values, name: str) -> Any:
    return values[name] if name in values else values[f":{name}"]
