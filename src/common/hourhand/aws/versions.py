"""The versions of all that is kept in the tables, and what code may do with a newer one.

Every item tells in ``v`` the version of its layout; one without ``v`` has the first. The rules,
which let an older and a newer version of the functions work side by side on the same tables:

1. What older code may pass over raises no version: an attribute whose absence goes on to mean
   what it means today. It survives older code, since every write of an item that stands names
   the attributes that it changes (`UpdateItem`), and readers pass over those they do not know.
2. Everything else raises the version of its kind: an attribute that gets another form or meaning,
   a new state, policy or other word that older code cannot read, a promise it would not keep.
3. Code leaves an item alone whose version it does not know. No read returns it (they raise
   `WrittenByNewer`), and no write changes it: each has `NOT_NEWER` in its condition.
4. A version is raised in two releases: the first reads it and writes the one before, the second
   writes it. So there is always a release to roll back to, and nothing waits during a rollout.
5. An update that names some attributes leaves ``v`` alone: it writes them as the version has them
   that the item tells, which the new code knows as well.

Messages have a version of their own, under the same rules: see `hourhand.aws.messages`. Payloads
and results in the bucket are the callers' own JSON and have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum

from hourhand.aws.values import Item, Value, number, read_int
from hourhand.domain.errors import WrittenByNewer

FIRST_VERSION = 1
"""What an item without ``v`` has: not every kind was given one from the start."""

NOT_NEWER = "(attribute_not_exists(v) OR v <= :known)"
"""The condition on ``:known`` under which this code may write over an item, or make it."""


class Kind(StrEnum):
    """What an item can be."""

    JOB = "job"
    TEXT = "text"
    FAILURE = "failure"
    SLOTS = "slots"
    SCHEDULE = "schedule"
    DEFINITION = "definition"
    JOURNAL_PAGE = "journal page"
    BACKFILL = "backfill"
    CALENDAR = "calendar"
    WALK = "walk"
    IDEMPOTENCY = "idempotency record"
    LEASE = "lease"
    SWEEP = "sweep"
    TICK = "tick"


VERSIONS: Mapping[Kind, int] = dict.fromkeys(Kind, FIRST_VERSION)
"""The newest version of each kind that this code knows, and the one that it writes."""


def version_value(kind: Kind) -> Value:
    """Return the attribute ``v`` of a new item."""
    return number(VERSIONS[kind])


def version_of(item: Item) -> int:
    """Return the version of an item's layout."""
    return read_int(item["v"]) if "v" in item else FIRST_VERSION


def is_newer(kind: Kind, item: Item) -> bool:
    """Whether this code must leave the item alone."""
    return version_of(item) > VERSIONS[kind]


def require_known(kind: Kind, item: Item, id: str) -> None:  # noqa: A002 (a caller's word)
    """Raise `WrittenByNewer` for an item that this code must leave alone."""
    if is_newer(kind, item):
        raise _newer(kind, version_of(item), [id])


def require_all_known(kind: Kind, items: Iterable[Item], id_of: Callable[[Item], str]) -> None:
    """Raise `WrittenByNewer` that names each of ``items`` that this code must leave alone."""
    newer = {id_of(item): version_of(item) for item in items if is_newer(kind, item)}
    if newer:
        raise _newer(kind, max(newer.values()), list(newer))


def _newer(kind: Kind, version: int, ids: list[str]) -> WrittenByNewer:
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return WrittenByNewer(
        f"The {kind} {ids[0]}{more} has version {version} of its layout, and this version of "
        f"Hourhand knows {VERSIONS[kind]}: it is left to a newer one. Finish the upgrade, or go "
        "back no further than to a release that knows it.",
        ids=ids,
    )
