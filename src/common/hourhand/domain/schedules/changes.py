"""The changes of a schedule, as pure functions from the present schedule to the next one.

Each returns what is to be stored under one more ``sequence`` and the writer's ``write_id``. A
change that may move nominal times opens a revision: what was materialised for times after ``now``
is cut from the journal, and the cursor goes back, so that the next visit decides those times again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta

from hourhand.domain.ids import content_hash
from hourhand.domain.schedules.journal import in_order, job_times
from hourhand.domain.schedules.nominal_times import is_used_up
from hourhand.domain.schedules.schedule import (
    FormerRule,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.times import floor_ms

DELETED_KEPT = timedelta(days=30)
"""How long a deleted schedule is remembered: longer than any job of it that did not start."""

DEFINITION_KEPT = timedelta(days=400)
"""How long a replaced definition is kept, for backfills that still work by it."""

MAX_FORMER_RULES = 8
"""Edits of the rule before all is decided, as in one pause: one more gives up what was missed."""

_RULE = (
    *("expressions", "timezone", "anchor", "dst_gap", "dst_fold", "exclude"),
    *("start_at", "end_at"),
)
"""The parts of a definition on which its nominal times depend."""

_TICK = timedelta(milliseconds=1)


def definition_name(definition: ScheduleDefinition) -> str:
    """Return the name of a definition: the same for equal ones, and for those alone.

    A field that was added later counts only if it is set, so that a stored one keeps its name.
    """
    record = asdict(definition)
    if not definition.is_anchor_given:
        del record["is_anchor_given"]
    if definition.expires_after_seconds is None:
        del record["expires_after_seconds"]
    return content_hash("definition", json.dumps(record, sort_keys=True, default=str))


def create(
    schedule_id: str,
    definition: ScheduleDefinition,
    *,
    now: datetime,
    zone_data: str,
    write_id: str,
    paused: bool,
    note: str,
    managed_by: str = "",
) -> Schedule:
    """Return a new schedule. It decides nominal times from ``now`` or its start on."""
    return Schedule(
        id=schedule_id,
        sequence=1,
        revision=1,
        write_id=write_id,
        definition=definition_name(definition),
        created_at=now,
        updated_at=now,
        effective_from=now,
        cursor=floor_ms(now),
        zone_data=zone_data,
        next_at=None if paused else now,
        paused_at=now if paused else None,
        note=note,
        managed_by=managed_by,
    )


def put_over_deleted(schedule: Schedule, deleted: Schedule) -> Schedule:
    """Return a new schedule under the id of a deleted one: another incarnation.

    It goes on with the events of that one, and with nothing else.
    """
    return replace(
        schedule,
        sequence=deleted.sequence + 1,
        revision=deleted.revision + 1,
        incarnation=deleted.incarnation + 1,
        tenant_since=deleted.tenant_since or deleted.created_at,
        last_event=deleted.last_event,
    )


def replace_definition(
    schedule: Schedule,
    definition: ScheduleDefinition,
    *,
    now: datetime,
    zone_data: str,
    write_id: str,
    paused: bool | None = None,
    managed_by: str | None = None,
    before: ScheduleDefinition | None = None,
) -> Schedule:
    """Point a schedule to another definition.

    To be called with the note that it is to have: see `with_put_note`. ``paused``: whether it is to
    be paused, ``managed_by``: its origin (``None``: both as before). ``before``: its definition
    until now. If that `gives_up`, the journal has what it leaves undecided already.
    """
    was_paused_at = schedule.paused_at
    is_paused = was_paused_at is not None if paused is None else paused
    is_resumed = was_paused_at is not None and not is_paused
    reopened = _reopened(schedule, now, write_id)
    former = tuple(rule for rule in schedule.former if rule.until > reopened.cursor)
    if before is None or gives_up(schedule, before):
        reopened, former = replace(reopened, cursor=floor_ms(now)), ()
    elif reopened.cursor < now and _rule_of(before) != _rule_of(definition):
        former = (*former, FormerRule(schedule.definition, floor_ms(now)))
    return replace(
        reopened,
        definition=definition_name(definition),
        former=former,
        zone_data=zone_data,
        next_at=_next_visit(schedule, now, is_live=not is_paused),
        made=0,
        paused_at=(was_paused_at or now) if is_paused else None,
        paused_from=was_paused_at if is_resumed else None if is_paused else schedule.paused_from,
        resumed_at=now if is_resumed else None if is_paused else schedule.resumed_at,
        managed_by=schedule.managed_by if managed_by is None else managed_by,
        paused_by=schedule.paused_by if was_paused_at is not None and paused is None else "",
        broken="",
    )


def gives_up(schedule: Schedule, before: ScheduleDefinition) -> bool:
    """Whether an edit of a schedule with the definition ``before`` leaves nothing to be decided.

    It made all jobs that it may; or its rule was edited too often since its cursor.
    """
    return is_used_up(schedule, before) or len(schedule.former) >= MAX_FORMER_RULES


def _rule_of(definition: ScheduleDefinition) -> list[object]:
    return [getattr(definition, name) for name in _RULE]


def give_to_tenant(schedule: Schedule, *, now: datetime) -> Schedule:
    """Return the schedule for another tenant, which sees no note or event of the one before."""
    return replace(schedule, note="", own_note=None, tenant_since=floor_ms(now))


def pause(
    schedule: Schedule, *, now: datetime, write_id: str, note: str | None, by: str = ""
) -> Schedule:
    """Stop creating occurrences; withdraw those that did not start.

    ``note``: why it is paused; ``None`` leaves its own note. ``by``: see `Schedule`.
    """
    return replace(
        _with_pause_note(_reopened(schedule, now, write_id), note),
        paused_at=now,
        paused_by=by,
        paused_from=None,
        resumed_at=None,
        next_at=_next_visit(schedule, now, is_live=False),
    )


def resume(schedule: Schedule, *, now: datetime, write_id: str, note: str | None) -> Schedule:
    """Resume. Times within the pause are missed, and the misfire policy decides about them.

    The note of the pause ends with it. ``note`` becomes the schedule's own; ``None``: that stays.
    """
    return replace(
        schedule,
        sequence=schedule.sequence + 1,
        revision=schedule.revision + 1,
        write_id=write_id,
        updated_at=now,
        paused_at=None,
        paused_by="",
        paused_from=schedule.paused_at,
        resumed_at=now,
        next_at=now,
        note=_own_note(schedule) if note is None else note,
        own_note=None,
    )


def delete(
    schedule: Schedule,
    *,
    now: datetime,
    write_id: str,
    undecided: tuple[JournalEntry, ...] = (),
) -> Schedule:
    """Stop creating occurrences; keep the deleted schedule on record for a while.

    ``undecided``: the entries of nominal times up to ``now`` that it left undecided.
    """
    return replace(
        _reopened(schedule, now, write_id),
        deleted_at=now,
        keep_until=now + DELETED_KEPT,
        next_at=None,
        backfills=(),
        journal=in_order((*until(schedule.journal, now), *undecided)),
    )


def recompute(schedule: Schedule, *, now: datetime, zone_data: str, write_id: str) -> Schedule:
    """Decide the nominal times after ``now`` again: a calendar or the zone data changed."""
    if not schedule.is_live:
        return replace(
            schedule, sequence=schedule.sequence + 1, write_id=write_id, zone_data=zone_data
        )
    return replace(_reopened(schedule, now, write_id), zone_data=zone_data, next_at=now)


def annotate(
    schedule: Schedule,
    *,
    now: datetime,
    write_id: str,
    note: str | None = None,
    pause_note: str | None = None,
    paused_by: str | None = None,
) -> Schedule:
    """Change what has no effect on nominal times; ``None`` stands for what stays as it is.

    ``note``: the schedule's own, ``pause_note``: why it is paused.
    """
    return replace(
        _with_own_note(_with_pause_note(schedule, pause_note), note),
        sequence=schedule.sequence + 1,
        write_id=write_id,
        updated_at=now,
        paused_by=schedule.paused_by if paused_by is None else paused_by,
    )


def with_put_note(schedule: Schedule, note: str | None, *, paused: bool | None) -> Schedule:
    """Return the schedule with the note that a put has beside ``paused``; ``None``: it has none.

    A put that pauses a schedule states the note of the pause, and so does one that states again
    that it is paused, while such a note stands. Every other put states the schedule's own note. A
    note that is shown already changes neither: a caller may send back what it read.
    """
    if note is not None and note != schedule.note:
        is_of_pause = bool(paused) and (schedule.is_live or schedule.own_note is not None)
        with_note = _with_pause_note if is_of_pause else _with_own_note
        schedule = with_note(schedule, note)
    was_paused = schedule.paused_at is not None
    stays_paused = was_paused if paused is None else paused
    return schedule if stays_paused else _without_pause_note(schedule)


def _own_note(schedule: Schedule) -> str:
    """Return the schedule's own note, not that of its pause."""
    return schedule.note if schedule.own_note is None else schedule.own_note


def _with_pause_note(schedule: Schedule, note: str | None) -> Schedule:
    """Return the schedule with the note of a pause, which keeps its own for the resume."""
    if note is None:
        return schedule
    return replace(schedule, note=note, own_note=_own_note(schedule))


def _with_own_note(schedule: Schedule, note: str | None) -> Schedule:
    """Return the schedule with another note of its own; that of a pause stands on."""
    if note is None:
        return schedule
    if schedule.own_note is None:
        return replace(schedule, note=note)
    return replace(schedule, own_note=note)


def _without_pause_note(schedule: Schedule) -> Schedule:
    return replace(schedule, note=_own_note(schedule), own_note=None)


def record(schedule: Schedule, entry: JournalEntry, *, write_id: str) -> Schedule:
    """Note a job that was made by hand, in its place among the others."""
    return replace(
        schedule,
        sequence=schedule.sequence + 1,
        write_id=write_id,
        journal=in_order((*schedule.journal, entry)),
    )


def put_back(
    schedule: Schedule, nominal_times: Sequence[datetime], *, definition: str, write_id: str
) -> Schedule | None:
    """Note jobs again that began just as a change took them from the journal.

    ``definition``: by which they were made. ``None``: there is nothing to note. What the schedule
    has still to decide it will note itself: it finds the job then.
    """
    known = job_times(schedule.journal)
    is_over = schedule.deleted_at is not None
    begun = [t for t in nominal_times if t not in known and (is_over or t <= schedule.cursor)]
    if not begun:
        return None
    others = [e for e in schedule.journal if e.salt or e.count > 1 or e.first not in begun]
    newest = max(begun)
    return replace(
        schedule,
        sequence=schedule.sequence + 1,
        write_id=write_id,
        made=schedule.made + (len(begun) if schedule.definition == definition else 0),
        last_fire=max(schedule.last_fire or newest, newest),
        last_made=max(schedule.last_made or newest, newest),
        journal=in_order((*others, *(JournalEntry(first=t, last=t) for t in begun))),
    )


def add_backfill(schedule: Schedule, backfill_id: str, *, now: datetime, write_id: str) -> Schedule:
    """Let the visits work off a backfill, from now on."""
    return replace(
        schedule,
        sequence=schedule.sequence + 1,
        write_id=write_id,
        updated_at=now,
        backfills=(*schedule.backfills, backfill_id),
        backfills_started=schedule.backfills_started + 1,
        next_at=now,
    )


def until(journal: tuple[JournalEntry, ...], now: datetime) -> tuple[JournalEntry, ...]:
    """Return the entries of nominal times up to ``now``, and of what was made by hand."""
    return tuple(entry for entry in journal if entry.last <= now or entry.salt)


def withdrawn(before: Schedule, after: Schedule) -> list[datetime]:
    """Return the nominal times from which a change took the job that ``before`` had made."""
    kept = {entry.first for entry in after.journal if entry.reason is None}
    return [
        entry.first
        for entry in before.journal
        if entry.reason is None
        and not entry.salt
        and entry.first >= after.effective_from
        and entry.first not in kept
    ]


def newest_until(schedule: Schedule, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return the newest nominal times at most at ``now``: that has a job, and that was decided.

    What was decided ahead of its time does not count.
    """
    own = [entry for entry in until(schedule.journal, now) if not entry.salt]
    made = [entry.first for entry in own if entry.reason is None]
    fires = [entry.last for entry in own if entry.reason is not SkipReason.EXCLUDED]
    return _at_most(schedule.last_made, now, made), _at_most(schedule.last_fire, now, fires)


def _next_visit(schedule: Schedule, now: datetime, *, is_live: bool) -> datetime | None:
    """Return when a changed schedule wants to be visited: backfills go on though it is paused."""
    return now if is_live or schedule.backfills else None


def _reopened(schedule: Schedule, now: datetime, write_id: str) -> Schedule:
    """Return the schedule under another revision, as if nothing after ``now`` were decided."""
    kept = until(schedule.journal, now)
    cut = len(job_times(schedule.journal)) - len(job_times(kept))
    last_made, last_fire = newest_until(schedule, now)
    return replace(
        schedule,
        sequence=schedule.sequence + 1,
        revision=schedule.revision + 1,
        write_id=write_id,
        updated_at=now,
        effective_from=_effective_from(schedule, now),
        cursor=min(schedule.cursor, now),
        made=max(0, schedule.made - cut),
        last_made=last_made,
        last_fire=last_fire,
        journal=kept,
    )


def _effective_from(schedule: Schedule, now: datetime) -> datetime:
    """Return from when on jobs of the revisions before are not the schedule's own any more.

    What the present one did not decide it did not adopt either. While it was paused or deleted it
    decided nothing, so what it withdrew stays withdrawn.
    """
    decided = min(schedule.cursor, floor_ms(now)) + _TICK
    return decided if schedule.is_live else min(decided, schedule.effective_from)


def _at_most(newest: datetime | None, now: datetime, kept: list[datetime]) -> datetime | None:
    """Return ``newest``, or what stays of its kind if it lies after ``now``."""
    if newest is None or newest <= now:
        return newest
    return kept[-1] if kept else None
