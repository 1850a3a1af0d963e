"""The versions of all that is kept in the tables, and what code may do with a newer one.

Every item tells in ``v`` the version of its layout; one without ``v`` has the first, but for jobs,
which have all told it from the start: no write changes one that does not. The rules, which let an
older and a newer version of the functions work side by side on the same tables:

1. What older code may pass over raises no version: an attribute whose absence goes on to mean
   what it means today. It survives older code, since every write of an item that stands names
   the attributes that it changes (`UpdateItem`), and readers pass over those they do not know.
   Three are put as wholes and would lose it: a text and a failure, whose key stands for what they
   hold, and the claim of an idempotency key. What is added to those raises their version.
2. Everything else raises the version of its kind: an attribute that gets another form or meaning,
   a new state, policy or other word that older code cannot read, a promise it would not keep.
3. Code leaves an item alone whose version it does not know. No read returns it (one of a single
   item raises `WrittenByNewer`, one of many names it in `Found`), and no write changes it: each
   has a condition on ``v``.
4. A version is raised in two releases: the first has it in `KNOWN`, the second in `WRITTEN` too.
   So there is always a release to roll back to, and nothing waits during a rollout.
5. A write is in one version and says which. One of a whole record sets ``v`` with the rest, over
   whatever known version stands (`NOT_NEWER`). One of some attributes is in the version of the
   item that stands, and holds only there (`IN_VERSION`, `in_its_version`): a function of another
   release may have rewritten the item meanwhile, and must not find the other form in it.
6. The attribute ``x``, which TTL reads, has one form in every version, so that it may be set alone.

Messages have a version of their own, under the same rules (`hourhand.aws.layout.messages`).
Payloads and results in the bucket are the callers' own JSON and have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import TypeVar

from hourhand.aws.failures import ConditionRefused
from hourhand.aws.layout.values import Item, Value, number, read_int
from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.side_items import SideItemKind
from hourhand.ports import Found
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import log_newer

FIRST_VERSION = 1
"""What an item without ``v`` has: not every kind was given one from the start."""

NOT_NEWER = "(attribute_not_exists(v) OR v <= :known)"
"""The condition on ``:known`` under which this code may write over an item, or make it."""

IN_VERSION = "v = :version"
IN_FIRST_VERSION = "(attribute_not_exists(v) OR v = :version)"
"""The conditions on ``:version`` under which an update may name some attributes of an item."""

MAX_VERSION_TRIES = 3
"""Updates of an item that functions of two releases rewrite in turn at the same time."""

K = TypeVar("K", bound=str | tuple[str, str])
T = TypeVar("T")


class Kind(StrEnum):
    """What an item can be."""

    JOB = "job"
    TEXT = "text"
    FAILURE = "failure"
    SCHEDULE = "schedule"
    DEFINITION = "definition"
    JOURNAL_PAGE = "journal page"
    BACKFILL = "backfill"
    SCHEDULE_EVENT = "event of a schedule"
    CALENDAR = "calendar"
    WALK = "walk"
    IDEMPOTENCY = "idempotency record"
    LEASE = "lease"
    SWEEP = "sweep"
    TICK = "tick"
    RESWEEP = "resweep"
    ID_KEY = "key of ids"
    CALLER = "caller"
    PAUSES = "pauses of handlers"
    OVERRIDES = "overrides of limits"
    SLOTS = SideItemKind.SLOTS.value
    WAITER = SideItemKind.WAITER.value
    FAIR_SHARE = SideItemKind.FAIR_SHARE.value
    RATE = SideItemKind.RATE.value
    UNIQUE_KEY = SideItemKind.UNIQUE_KEY.value
    STEP = SideItemKind.STEP.value
    WAIT = SideItemKind.WAIT.value
    CALLBACK = SideItemKind.CALLBACK.value
    CURSOR = SideItemKind.CURSOR.value
    CHANGE = SideItemKind.CHANGE.value
    RESET = SideItemKind.RESET.value
    JOIN = SideItemKind.JOIN.value
    DECISIONS = SideItemKind.DECISIONS.value
    VALUE = SideItemKind.VALUE.value
    SIGNAL = SideItemKind.SIGNAL.value
    QUOTA = SideItemKind.QUOTA.value


KNOWN: Mapping[Kind, int] = dict.fromkeys(Kind, FIRST_VERSION)
"""The newest version of each kind that this code reads, and may write over."""

WRITTEN: Mapping[Kind, int] = dict.fromkeys(Kind, FIRST_VERSION)
"""The version of each kind in which this code writes new items: that of `KNOWN` or the one before,
see rule 4."""


def version_value(kind: Kind) -> Value:
    """Return the attribute ``v`` of a new item."""
    return number(WRITTEN[kind])


def known_value(kind: Kind) -> Value:
    """Return what ``:known`` stands for in `NOT_NEWER`."""
    return number(KNOWN[kind])


def version_of(item: Item) -> int:
    """Return the version of an item's layout."""
    return read_int(item["v"]) if "v" in item else FIRST_VERSION


def is_newer(kind: Kind, item: Item) -> bool:
    """Whether this code must leave the item alone."""
    return version_of(item) > KNOWN[kind]


def is_version(version: int) -> str:
    """Return the condition on ``:version`` that an item has it."""
    return IN_FIRST_VERSION if version == FIRST_VERSION else IN_VERSION


def other_known_version(kind: Kind, item: Item, tried: int) -> int | None:
    """Return the version of an item that refused a write in another one, if this code knows it."""
    version = version_of(item)
    return version if version != tried and version <= KNOWN[kind] else None


def in_its_version(
    kind: Kind, update: Callable[[int], T | ConditionRefused]
) -> T | ConditionRefused:
    """Make an update of some attributes in the version of the item that stands.

    ``update`` makes it in a version, under the condition that the item has that one, and asks for
    the item that refuses it. Raises `Unavailable` where the item's version changes every time.
    """
    version = WRITTEN[kind]
    for _ in range(MAX_VERSION_TRIES):
        answer = update(version)
        if not isinstance(answer, ConditionRefused) or answer.item is None:
            return answer
        other = other_known_version(kind, answer.item, version)
        if other is None:
            return answer
        version = other
    raise Unavailable(f"The {kind} changed its version during every try to write it; try again.")


def require_known(kind: Kind, item: Item, id: str) -> None:  # noqa: A002 (a caller's word)
    """Raise `WrittenByNewer` for an item that this code must leave alone."""
    if is_newer(kind, item):
        raise _newer(kind, version_of(item), [id])


def found_in(
    kind: Kind,
    items: Iterable[Item],
    key_of: Callable[[Item], K],
    read: Callable[[Item], T],
    telemetry: Telemetry | None,
) -> Found[K, T]:
    """Return what ``items`` hold, by their keys, but for what this code must leave alone.

    That is logged and counted.
    """
    known: dict[K, T] = {}
    newer: dict[str, int] = {}
    for item in items:
        key = key_of(item)
        if is_newer(kind, item):
            newer[_id_in(key)] = version_of(item)
        else:
            known[key] = read(item)
    left = _newer(kind, max(newer.values()), list(newer)) if newer else None
    if left is not None and telemetry is not None:
        log_newer(telemetry, left)
    return Found(known, left)


def _id_in(key: str | tuple[str, str]) -> str:
    """Return the id that a key names; what has a name of its own is called by its owner's."""
    return key if isinstance(key, str) else key[0]


def _newer(kind: Kind, version: int, ids: list[str]) -> WrittenByNewer:
    more = f" and {len(ids) - 1} more" if len(ids) > 1 else ""
    return WrittenByNewer(
        f"The {kind} {ids[0]}{more} has version {version} of its layout, and this version of "
        f"Hourhand knows {KNOWN[kind]}: it is left to a newer one. Finish the upgrade, or roll "
        "back only to a release that knows this version.",
        ids=ids,
    )
