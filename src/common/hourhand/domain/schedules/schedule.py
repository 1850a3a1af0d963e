"""The nouns of recurring work: a schedule, its definition, its journal and its backfills.

The hot item of a schedule says how far it was decided (the cursor) and what became of the newest
nominal times (the journal); one conditional write moves both, so that each nominal time is
accounted for exactly once. What it runs and when is its definition, which never changes: replacing
a schedule writes another definition and points to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import LATE
from hourhand.domain.jobs.policies import ChosenPolicies
from hourhand.domain.schedules.rule import DstFold, DstGap, Exclusion


class MisfirePolicy(StrEnum):
    """Which of the nominal times run that passed without being materialised."""

    LATEST = "latest"
    ALL = "all"
    EARLIEST = "earliest"
    SKIP = "skip"


MisfireChoice: TypeAlias = MisfirePolicy | Literal["latest", "all", "earliest", "skip"]
"""What callers write for it."""

MISFIRE_GRACE = timedelta(seconds=60)
"""A nominal time decided later than this was missed: one tick may come late without harm."""


class SkipReason(StrEnum):
    """Why a nominal time has no job, or a job that was cancelled before it began."""

    PAUSED = "paused"
    OVERLAP = "overlap"
    WINDOW = "window"
    MISFIRE = "misfire"
    EXCLUDED = "excluded"
    BUFFER_FULL = "buffer full"
    REPLACED = "replaced"
    DELETED = "deleted"
    BACKFILL_CANCELLED = "backfill cancelled"
    LATE = LATE


INCLUDED_AGAIN = "its schedule includes it again"
"""The reason, in a job's history, of the redrive of a job that its schedule had withdrawn."""


@dataclass(frozen=True, slots=True)
class CalendarName:
    """A named calendar whose exclusions a schedule shares."""

    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Misfire:
    """What to do about missed scheduled times, and how old they may be."""

    policy: MisfirePolicy = MisfirePolicy.LATEST
    window_seconds: int = 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    """How many ended occurrences the history of a schedule lists."""

    succeeded: int = 100
    failed: int = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleDefinition(ChosenPolicies):
    """What a schedule runs and when. It never changes: a replaced schedule has another one.

    Policies of the job that are ``None`` are the handler's when the job is created. ``max_running``
    ``None`` is no limit under ``allow`` and 1 under every other policy. ``is_union``: the
    expression was given as a list. ``is_anchor_given``: by a caller, as itself or as the start.
    ``expires_after_seconds``: a job that has not started this long after its nominal time does not
    start, unless a backfill made it.
    """

    expressions: tuple[str, ...]
    handler: str
    is_union: bool = False
    timezone: str = "UTC"
    anchor: datetime | None = None
    dst_gap: DstGap = DstGap.NEXT_VALID
    dst_fold: DstFold = DstFold.FIRST
    exclude: tuple[Exclusion | CalendarName, ...] = ()
    payload_text: str = "null"
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    start_at: datetime | None = None
    end_at: datetime | None = None
    jitter_seconds: float = 0.0
    misfire: Misfire = field(default_factory=Misfire)
    expires_after_seconds: int | None = None
    overlap: OverlapPolicy = OverlapPolicy.SKIP
    max_running: int | None = None
    buffer_limit: int = 100
    max_occurrences: int | None = None
    pause_on_failure: bool = False
    keep: Keep = field(default_factory=Keep)
    is_anchor_given: bool = False

    @property
    def calendars(self) -> tuple[str, ...]:
        """The names of the calendars that it shares."""
        return tuple(e.name for e in self.exclude if isinstance(e, CalendarName))


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """What became of one nominal time, or of a run of them that were skipped for one reason.

    ``reason`` absent: a job was made, for ``first`` alone. ``salt`` distinguishes a job created by
    hand ("trigger") or by a backfill (its id) from the one that the schedule created. ``is_least``:
    more than ``count`` were skipped, too many to be counted.
    """

    first: datetime
    last: datetime
    count: int = 1
    reason: SkipReason | None = None
    salt: str = ""
    is_least: bool = False


def incarnation_key(schedule_id: str, incarnation: int) -> str:
    """Return the key of an incarnation of a schedule; see `Schedule.key`."""
    return f"{schedule_id}.{incarnation}" if incarnation else schedule_id


@dataclass(frozen=True, slots=True)
class FormerRule:
    """The name of a definition that an edit replaced at ``until``, before all was decided."""

    definition: str
    until: datetime


CODE = "code"
"""The origin of the schedules that ``@job`` declares."""

ORIGIN = re.compile(rf"{CODE}|files:[A-Za-z0-9_.-]{{1,64}}")
"""What `Schedule.managed_by` may be."""


class ScheduleEventKind(StrEnum):
    """What a caller did with a schedule. The value is the letter that the stored event keeps."""

    PUT = "U"
    PAUSED = "P"
    RESUMED = "R"
    TRIGGERED = "T"
    BACKFILL_STARTED = "B"
    DELETED = "D"
    CHANGED = "C"
    """Of a handler: the numbers of one of its limits."""
    FREED = "F"
    """Of a handler: the slot that a DEAD job kept of one of its limits."""


EVENT_NOTE_BYTES = 200
"""How much of a note an event keeps: the schedule's item stays below 1 KB with it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScheduleEvent:
    """What a caller did with a schedule. ``sequence`` is that of the write which it is part of.

    ``actor`` is the key of the caller (`hourhand.domain.callers`).
    """

    kind: ScheduleEventKind
    at: datetime
    sequence: int
    actor: str
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """The hot item of a schedule.

    ``sequence`` counts its writes: each is conditional on the one before, and ``write_id``
    identifies a writer's own write. ``revision`` increases when nominal times may change: with each
    replacement, pause, resume, deletion and recomputation; jobs of older revisions whose nominal
    time is ``effective_from`` or later, and which did not start, are withdrawn unless adopted.
    ``cursor``: every nominal time at or before it was decided. ``next_at``: when it wants to be
    visited, its place in the index of due schedules; absent when nothing is to come (paused, ended,
    deleted). ``last_fire`` and ``last_made``: the newest nominal time decided, and the newest that
    became a job. ``paused_from``: when the pause began that ``resumed_at`` ended. ``served_until``:
    missed times up to here belong to an outage for which the policy ``earliest`` ran its one
    already. ``zone_data``: the release of the time zone database that it was computed with.
    ``keep_until``: when a deleted one may be forgotten. ``broken``: why its nominal times cannot be
    computed; it is not visited until what it depends on changes. ``last_event``: the newest thing
    that a caller did with it; older ones are kept beside it. ``managed_by``: the origin that
    puts it, `CODE` or ``files:NAME``; empty for one that people put. ``paused_by``: the origin that
    paused it, which may resume it; empty where a person or a failure did. ``own_note``: the note
    from before its pause, for which the note of the pause stands until it is resumed; ``None``:
    ``note`` is its own. ``tenant_since``: when it was given to its tenant, which sees no event from
    before; ``None``: it has had that tenant since ``created_at``. ``backfills_started`` counts its
    backfills, and so gives each its number. ``former``: the definitions, from the oldest on, that
    ruled a part of the time after the cursor, and had other nominal times. ``incarnation``: how
    many schedules of its id were deleted before it was put.
    """

    id: str
    sequence: int
    revision: int
    write_id: str
    definition: str
    created_at: datetime
    updated_at: datetime
    effective_from: datetime
    cursor: datetime
    zone_data: str
    next_at: datetime | None = None
    made: int = 0
    last_fire: datetime | None = None
    last_made: datetime | None = None
    served_until: datetime | None = None
    paused_at: datetime | None = None
    paused_from: datetime | None = None
    resumed_at: datetime | None = None
    deleted_at: datetime | None = None
    keep_until: datetime | None = None
    note: str = ""
    broken: str = ""
    managed_by: str = ""
    paused_by: str = ""
    own_note: str | None = None
    tenant_since: datetime | None = None
    backfills: tuple[str, ...] = ()
    backfills_started: int = 0
    journal: tuple[JournalEntry, ...] = ()
    last_event: ScheduleEvent | None = None
    former: tuple[FormerRule, ...] = ()
    incarnation: int = 0

    @property
    def is_live(self) -> bool:
        """Whether it makes occurrences: neither paused nor deleted."""
        return self.paused_at is None and self.deleted_at is None

    @property
    def key(self) -> str:
        """Under which its jobs, pages and backfills are known, and those of no other incarnation.

        An id has no dot.
        """
        return incarnation_key(self.id, self.incarnation)


class BackfillOrder(StrEnum):
    """Which of the past nominal times come first."""

    OLDEST = "oldest"
    NEWEST = "newest"


OrderChoice: TypeAlias = BackfillOrder | Literal["oldest", "newest"]
"""What callers write for it."""


class Reprocess(StrEnum):
    """Which of the past nominal times run that have a job already."""

    NONE = "none"
    FAILED = "failed"
    ALL = "all"


ReprocessChoice: TypeAlias = Reprocess | Literal["none", "failed", "all"]
"""What callers write for it."""


class BackfillStatus(StrEnum):
    """How a backfill stands. It is done once its jobs have ended."""

    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True, slots=True)
class Backfill:
    """Past nominal times to be run on purpose, from ``start`` to ``end``, both included.

    ``definition`` is the schedule's when it was asked for. ``position``: how many of its nominal
    times were dealt with, ``reached`` the last of them, in its order; ``made`` and ``skipped``
    count what became of them. ``total``: those and what is still to come, as it was when last
    looked at; a calendar may change it. ``waiting``: ids of jobs made for it that had not ended
    then, or that a pause withdrew. ``failed`` counts those that ended DEAD. The ``id`` begins with
    its number, see `Schedule`. ``in_pause``: when the pause of its schedule began in which it was
    started or resumed; that pause does not stop it.
    """

    id: str
    schedule_id: str
    sequence: int
    write_id: str
    definition: str
    start: datetime
    end: datetime
    total: int
    created_at: datetime
    overlap: OverlapPolicy = OverlapPolicy.BUFFER_ALL
    order: BackfillOrder = BackfillOrder.OLDEST
    max_active: int = 1
    reprocess: Reprocess = Reprocess.NONE
    position: int = 0
    reached: datetime | None = None
    made: int = 0
    skipped: int = 0
    failed: int = 0
    waiting: tuple[str, ...] = ()
    paused_at: datetime | None = None
    in_pause: datetime | None = None
    cancelled_at: datetime | None = None
    note: str = ""
    keep_until: datetime | None = None

    @property
    def number(self) -> int:
        """Its number among the backfills of its schedule; 0 where an older version began it."""
        head, _, rest = self.id.partition("-")
        return int(head) if rest else 0

    @property
    def is_done(self) -> bool:
        """Whether every nominal time was dealt with, and no job of it is still to end."""
        return self.position >= self.total and not self.waiting

    def stopped_by(self, schedule: Schedule) -> SkipReason | None:
        """Return why none of its jobs may begin; ``None``: they may."""
        if schedule.deleted_at is not None or schedule.key != self.schedule_id:
            return SkipReason.DELETED
        if self.cancelled_at is not None:
            return SkipReason.BACKFILL_CANCELLED
        if self.paused_at is not None or schedule.paused_at not in {None, self.in_pause}:
            return SkipReason.PAUSED
        return None

    def status(self, schedule: Schedule) -> BackfillStatus:
        """Return what a caller is shown. One that its schedule dropped counts as cancelled."""
        if self.cancelled_at is None and self.is_done:
            return BackfillStatus.DONE
        if self.cancelled_at is not None or self.id not in schedule.backfills:
            return BackfillStatus.CANCELLED
        is_stopped = self.stopped_by(schedule) is not None
        return BackfillStatus.PAUSED if is_stopped else BackfillStatus.RUNNING


@dataclass(frozen=True, kw_only=True, slots=True)
class Calendar:
    """Exclusions under a name that schedules share. ``revision`` increases with each change."""

    name: str
    revision: int
    exclude: tuple[Exclusion, ...]
    updated_at: datetime
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """What the ticks do for all schedules together, and how far they are.

    A pass over every schedule recomputes what a calendar or the zone data changed. ``wanted`` rises
    with each change; ``position`` is the last schedule seen by the pass under
    way for ``running`` (``None``: none is). ``zone_data``: what the last pass was made with.

    Passes over the declared schedules apply those of a deployment. ``declaring`` names the
    deployment whose declarations are being applied, and ``declared`` the one for which a last pass
    found nothing to do any more: once they are equal, there is nothing to do. ``declared_at``: when
    the last pass for ``declaring`` ended (``None``: none did). ``declared_ids``: the schedules that
    a deployment declares or declared, and which it may have put.
    """

    sequence: int = 0
    write_id: str = ""
    wanted: int = 0
    running: int | None = None
    finished: int = 0
    position: str | None = None
    zone_data: str = ""
    declaring: str = ""
    declared: str = ""
    declared_at: datetime | None = None
    declared_ids: tuple[str, ...] = ()
