"""The steps from one version of an item's layout to the next, and what an item needs of them.

A release that raises a version (see `hourhand.aws.versions`) adds a `Step` to `STEPS`. Reading
older items is the readers' own duty, for as long as such items may be there; the steps let them be
rewritten, so that a later release may forget the older layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from hourhand.aws.table_schema import CONTROL, ID_KEY, IDEMPOTENCY, JOBS, SCHEDULES, Table
from hourhand.aws.values import Item, number, read_text
from hourhand.aws.versions import FIRST_VERSION, KNOWN, WRITTEN, Kind, version_of

Change = Callable[[Item], Item]
"""Returns an item's attributes in the next layout. It keeps the key; ``v`` is not its business."""


@dataclass(frozen=True, slots=True)
class Step:
    """How an item of ``kind`` gets from ``from_version`` to the next one."""

    kind: Kind
    from_version: int
    change: Change


STEPS: tuple[Step, ...] = ()
"""None yet: there is one version of everything."""


class Standing(StrEnum):
    """What this release can do with an item.

    ``UNKNOWN``: it is none of a kind that it knows. ``UNREADABLE``: its version is no whole number.
    """

    CURRENT = "current"
    OLDER = "older"
    NO_STEP = "older, without a step"
    NEWER = "newer"
    UNKNOWN = "unknown"
    UNREADABLE = "without a readable version"


@dataclass(frozen=True, slots=True)
class Judged:
    """An item as it was found; ``None`` for a kind or version that cannot be told."""

    kind: Kind | None
    version: int | None
    standing: Standing


class Steps:
    """The steps up to ``written``, the versions that this release writes.

    What is newer than those but ``known`` is left as it is: a release that reads a version and
    does not write it yet makes no items of it. Raises `ValueError` for two steps of one kind and
    version.
    """

    def __init__(
        self,
        steps: Iterable[Step] = STEPS,
        written: Mapping[Kind, int] = WRITTEN,
        known: Mapping[Kind, int] = KNOWN,
    ) -> None:
        """Take the steps in any order."""
        self._changes: dict[tuple[Kind, int], Change] = {}
        self._written = written
        self._known = known
        for step in steps:
            place = (step.kind, step.from_version)
            if place in self._changes:
                raise ValueError(f"two steps begin at version {step.from_version} of {step.kind}")
            if not FIRST_VERSION <= step.from_version < written[step.kind]:
                raise ValueError(f"no step may begin at version {step.from_version} of {step.kind}")
            self._changes[place] = step.change

    def judge(self, table: Table, item: Item) -> Judged:
        """Say what an item of ``table`` needs."""
        kind = kind_of(table, item)
        try:
            version = version_of(item)
        except (KeyError, ValueError):
            return Judged(kind, None, Standing.UNREADABLE)
        if kind is None:
            return Judged(None, version, Standing.UNKNOWN)
        written = self._written[kind]
        if version > max(written, self._known[kind]):
            return Judged(kind, version, Standing.NEWER)
        if version >= written:
            return Judged(kind, version, Standing.CURRENT)
        has_steps = all((kind, each) in self._changes for each in range(version, written))
        return Judged(kind, version, Standing.OLDER if has_steps else Standing.NO_STEP)

    def migrate(self, table: Table, kind: Kind, item: Item) -> Item:
        """Return an older item in the layout that is written now.

        Raises `ValueError` where a step changed its key, and whatever a step raises.
        """
        migrated = item
        for version in range(version_of(item), self._written[kind]):
            migrated = {**self._changes[kind, version](migrated), "v": number(version + 1)}
        for name in key_attributes(table):
            if migrated.get(name) != item[name]:
                raise ValueError(f"a step changed the key attribute {name} of a {kind}")
        return migrated


def key_attributes(table: Table) -> tuple[str, ...]:
    """Return the attributes of a table's own key."""
    sort = () if table.sort is None else (table.sort.attribute,)
    return (table.partition.attribute, *sort)


_SORT_KEYS: Mapping[str, Mapping[str, Kind]] = {
    JOBS.name: {"J": Kind.JOB, "G": Kind.SLOTS},
    SCHEDULES.name: {"S": Kind.SCHEDULE, "C": Kind.CALENDAR, "W": Kind.WALK},
}
_SORT_PREFIXES: Mapping[str, Mapping[str, Kind]] = {
    JOBS.name: {"T#": Kind.TEXT, "E#": Kind.FAILURE},
    SCHEDULES.name: {"d.": Kind.DEFINITION, "j.": Kind.JOURNAL_PAGE, "b.": Kind.BACKFILL},
}
_CONTROL_KEYS: Mapping[str, Kind] = {
    "sweep": Kind.SWEEP,
    "tick": Kind.TICK,
    "resweep": Kind.RESWEEP,
    ID_KEY: Kind.ID_KEY,
}
_LEASE_PREFIX = "lease."
_PREFIX_LENGTH = 2


def kind_of(table: Table, item: Item) -> Kind | None:
    """Return what an item of ``table`` is, by its key."""
    if table is IDEMPOTENCY:
        return Kind.IDEMPOTENCY
    if table is CONTROL:
        key = read_text(item["p"])
        return Kind.LEASE if key.startswith(_LEASE_PREFIX) else _CONTROL_KEYS.get(key)
    sort = read_text(item["s"])
    exact = _SORT_KEYS[table.name].get(sort)
    return exact or _SORT_PREFIXES[table.name].get(sort[:_PREFIX_LENGTH])
