"""Walks the tables and rewrites items of older layouts, page by page, while everything runs.

Each rewrite is one update under the condition that no attribute of the item changed since it was
read, and none appeared that it adds or that its kind may have: whoever worked on the item meanwhile
wins, and it is looked at again. What it does not change it does not write. An item that a step
cannot take, or that would become too large, is told with its key, and the walk goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ConditionRefused, ask, ask_conditionally
from hourhand.aws.layouts import ATTRIBUTES
from hourhand.aws.migration_cursor import Cursor
from hourhand.aws.migration_steps import Judged, Standing, Steps, key_attributes
from hourhand.aws.table_schema import CONTROL, IDEMPOTENCY, JOBS, SCHEDULES, Table
from hourhand.aws.values import Item, Value
from hourhand.aws.versions import Kind
from hourhand.domain.errors import TooLarge
from hourhand.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

WALKED = (JOBS, SCHEDULES, IDEMPOTENCY, CONTROL)
"""The tables in the order in which they are walked."""

ITEMS_A_PAGE = 200
"""With items of 1 KB, 25 read units: what one read may cost at once is small."""

MAX_PAGES = 10_000_000
"""Two billion items. A bound, not a limit."""

MAX_TRIES = 3
"""Rewrites of one item that others change at the same time."""

MAX_TOLD_FAILURES = 20
"""Items that are named which could not be rewritten; the rest are counted."""

MIGRATED, WOULD_MIGRATE, RACED, FAILED = "migrated", "to be migrated", "raced", "failed"
STEP_ERRORS = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a step raises for an item that it cannot take."""

_OUTCOMES = {standing: standing.value for standing in Standing}


@dataclass(frozen=True, slots=True)
class Found:
    """Items of one kind and version (``None``: not readable), and what became of them."""

    kind: str
    version: int | None
    outcome: str


@dataclass(slots=True)
class Tally:
    """What a walk found and used. Units are those that DynamoDB tells of (half for a stale read).

    ``cursor``: where it goes on; ``None``: it is at its end. ``failures``: the first items that
    could not be rewritten or whose version cannot be read, each a sentence.
    """

    found: Counter[Found] = field(default_factory=Counter)
    read_units: float = 0.0
    write_units: float = 0.0
    cursor: Cursor | None = None
    failures: list[str] = field(default_factory=list)

    def count(self, *outcomes: str) -> int:
        """Return how many items ended so."""
        return sum(number for found, number in self.found.items() if found.outcome in outcomes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Migration:
    """One walk. ``tables``: full names by those of the schema. ``is_dry``: nothing is written.

    ``units_per_second``: what reads and writes together may use, on average.
    """

    client: DynamoDBClient
    tables: Mapping[str, str]
    clock: Clock
    is_dry: bool
    units_per_second: float
    steps: Steps = field(default_factory=Steps)

    def walk(self, cursor: Cursor) -> Iterator[Tally]:
        """Go on from ``cursor``; yield the tally, the same one, after every page.

        Raises `Unavailable`; what was done stays, and the last tally's cursor is where to go on.
        """
        tally = Tally(cursor=cursor)
        began = self.clock.monotonic()
        for _ in range(MAX_PAGES):
            if tally.cursor is None:
                return
            tally.cursor = self._do_page(tally.cursor, tally)
            yield tally
            used = tally.read_units + tally.write_units
            ahead = used / self.units_per_second - (self.clock.monotonic() - began)
            if ahead > 0:
                self.clock.sleep(ahead)

    def _do_page(self, cursor: Cursor, tally: Tally) -> Cursor | None:
        table = WALKED[cursor.table]
        arguments: dict[str, Any] = {}
        if cursor.position is not None:
            arguments["ExclusiveStartKey"] = cursor.position
        answer = ask(
            Call("Scan", f"table {self.tables[table.name]}"),
            self.client.scan,
            TableName=self.tables[table.name],
            Segment=cursor.segment,
            TotalSegments=cursor.segments,
            Limit=ITEMS_A_PAGE,
            ReturnConsumedCapacity="TOTAL",
            **arguments,
        )
        tally.read_units += _units(answer)
        for item in answer["Items"]:
            judged, outcome = self._settle_alone(table, item, tally)
            kind = judged.kind.value if judged.kind else f"unknown in {table.name}"
            tally.found[Found(kind, judged.version, outcome)] += 1
        return cursor.after(answer.get("LastEvaluatedKey"), len(WALKED))

    def _settle_alone(self, table: Table, item: Item, tally: Tally) -> tuple[Judged, str]:
        """Settle an item; one that cannot be is named, and keeps no other from its turn."""
        judged, outcome = self.steps.judge(table, item), FAILED
        try:
            judged, outcome = self._settle(table, item, tally)
            reason = "the attribute v must be a whole number"
        except (TooLarge, *STEP_ERRORS) as error:
            reason = f"{type(error).__name__}: {error}"
        is_told = outcome == FAILED or judged.standing is Standing.UNREADABLE
        if is_told and len(tally.failures) < MAX_TOLD_FAILURES:
            key = ", ".join(f"{name}={item[name]}" for name in key_attributes(table))
            tally.failures.append(f"{self.tables[table.name]} {key}: {reason}")
        return judged, outcome

    def _settle(self, table: Table, item: Item, tally: Tally) -> tuple[Judged, str]:
        """Rewrite an item if it needs that; return how it was found and what became of it."""
        first = judged = self.steps.judge(table, item)
        for _ in range(MAX_TRIES):
            if judged.standing is not Standing.OLDER or judged.kind is None:
                return first, _OUTCOMES[judged.standing]
            wanted = self.steps.migrate(table, judged.kind, item)
            if self.is_dry:
                return first, WOULD_MIGRATE
            refused = self._rewrite(table, judged.kind, item, wanted, tally)
            if refused is None:
                return first, MIGRATED
            if refused.item is None:
                # It is gone, or the store does not tell what stands: the next walk sees.
                break
            item = refused.item
            judged = self.steps.judge(table, item)
        return first, RACED

    def _rewrite(
        self, table: Table, kind: Kind, seen: Item, wanted: Item, tally: Tally
    ) -> ConditionRefused | None:
        answer = ask_conditionally(
            Call("UpdateItem", f"table {self.tables[table.name]}"),
            self.client.update_item,
            TableName=self.tables[table.name],
            ReturnConsumedCapacity="TOTAL",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
            **rewrite_arguments(key_attributes(table), seen, wanted, ATTRIBUTES[kind]),
        )
        if isinstance(answer, ConditionRefused):
            # DynamoDB takes the units of a write for a refused one, and does not tell them.
            tally.write_units += 1
            return answer
        tally.write_units += _units(answer)
        return None


def rewrite_arguments(
    key: tuple[str, ...], seen: Item, wanted: Item, known: Collection[str]
) -> dict[str, Any]:
    """Return the update that makes ``wanted`` of an item that is still just as it was ``seen``.

    ``known``: attributes that must not have appeared, since a step would have changed them.
    """
    attributes = sorted({*seen, *wanted, *known} - set(key))
    names = {attribute: f"#a{place}" for place, attribute in enumerate(attributes)}
    values: dict[str, Value] = {}
    tests, sets, removes = [f"attribute_exists({key[0]})"], [], []
    for place, attribute in enumerate(attributes):
        name, before, after = names[attribute], seen.get(attribute), wanted.get(attribute)
        if before is None:
            tests.append(f"attribute_not_exists({name})")
        else:
            values[f":seen{place}"] = before
            tests.append(f"{name} = :seen{place}")
        if after is None:
            removes.append(name)
        elif after != before:
            values[f":new{place}"] = after
            sets.append(f"{name} = :new{place}")
    update = "SET " + ", ".join(sets)
    if removes:
        update += " REMOVE " + ", ".join(removes)
    return {
        "Key": {name: seen[name] for name in key},
        "UpdateExpression": update,
        "ConditionExpression": " AND ".join(tests),
        "ExpressionAttributeNames": {name: attribute for attribute, name in names.items()},
        "ExpressionAttributeValues": values,
    }


def _units(answer: Mapping[str, Any]) -> float:
    return float(answer.get("ConsumedCapacity", {}).get("CapacityUnits", 0.0))
