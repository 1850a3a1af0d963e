"""The visit of a schedule: decide its nominal times, make their jobs, then store that it is so.

In this order, so that a crash in between costs nothing: the next visit decides the same, finds the
jobs there, and stores it. Any component may visit at any time; the loser of the race for the write
created no job that the winner did not create.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.journal import RING_ENTRIES, RING_ENTRIES_LEFT
from hourhand.domain.schedules.nominal_times import DatedRule, search_on
from hourhand.domain.schedules.occurrences import MAX_CATCH_UP, Decision, decide, overlap_of
from hourhand.domain.schedules.rule import BadExpression
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    MisfirePolicy,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.publisher import Event, EventName, Publisher
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.limits.slot_tables import SlotTables
from hourhand.services.optional import log_newer
from hourhand.services.schedules.compiled_rules import CompiledRules
from hourhand.services.schedules.history import spill
from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

if TYPE_CHECKING:
    from hourhand.services.schedules.backfills import BackfillWork

PAGE_ENTRIES_AT_LEAST = RING_ENTRIES - RING_ENTRIES_LEFT
"""What a page of the journal holds; it decides how many pages a history needs."""

PAGES_FORGOTTEN_AT_ONCE = 10
"""Pages beyond a history's limits that one visit deletes."""


MAX_REASON_CHARACTERS = 200
"""How much is kept of why a schedule is broken."""


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit under way: what was decided, and the jobs that were put for it.

    ``rest`` is the schedule without the journal entries that went to a page.
    """

    schedule: Schedule
    rest: Schedule
    definition: ScheduleDefinition
    decision: Decision
    made: tuple[tuple[Job, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Visited:
    """What a visit left: the schedule as it stands then, and the jobs that were put for it."""

    schedule: Schedule
    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class Materialiser:
    """Visits schedules."""

    schedules: ScheduleStore
    tables: SlotTables
    recurrences: CompiledRules
    occurrence_jobs: OccurrenceJobs
    backfills: BackfillWork
    publisher: Publisher
    randomness: Randomness
    timings: Timings
    telemetry: Telemetry

    def visit(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        *,
        now: datetime,
        horizon: datetime,
        actor: str,
        searches_on: bool = True,
        room: int = MAX_CATCH_UP,
        announced: Container[datetime] = frozenset(),
    ) -> Visited:
        """Make what ``schedule`` wants until ``horizon``, and ``room`` missed times.

        Raises `Unavailable` where a store does not answer: nothing is lost, and the schedule is
        still due for a visit. Without ``searches_on``, it is also due where the next nominal time
        takes long to find: a tick visits it, and looks for that last of all. ``announced``: as in
        `OccurrenceJobs.put`.
        """
        visit = self.begin(
            schedule,
            definition,
            now=now,
            horizon=horizon,
            actor=actor,
            room=room,
            announced=announced,
        )
        if visit.decision.must_search_on and not searches_on:
            due = replace(visit.decision.schedule, next_at=now)
            visit = replace(visit, decision=Decision(visit.decision.orders, due))
        self.send([visit], actor)
        after = self.search_on(visit, self.finish(visit, now=now, actor=actor))
        return Visited(after, tuple(job for job, _ in visit.made))

    def begin(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        *,
        now: datetime,
        horizon: datetime,
        actor: str,
        may_go_on: Callable[[], bool] = _always,
        room: int = MAX_CATCH_UP,
        announced: Container[datetime] = frozenset(),
    ) -> Visit:
        """Decide, and put the jobs. To be followed by `send` and `finish`; raises as `visit`.

        And by `search_on`, once all others were visited.
        """
        work = self.recurrences.work(may_go_on)
        try:
            recurrence = self.recurrences.of(definition)
        except BadExpression as error:
            return self._break(schedule, definition, error)
        room = self._room(schedule, definition, room)
        rest = spill(self.schedules, schedule, self.timings)
        present = DatedRule(definition, recurrence)
        rules = self.recurrences.since_cursor(self.schedules, rest, present)
        decide_now = partial(decide, rest, rules, now=now, horizon=horizon, room=room)
        decision = decide_now(work=work)
        made_before = self.occurrence_jobs.find_made(rest, decision.possible)
        if made_before:
            decision = decide_now(
                made_before=made_before,
                # Whether the times after those have jobs was not looked up.
                work=replace(self.recurrences.work(may_go_on), most_times=decision.seen),
            )
        if self.occurrence_jobs.may_be_missed(decision.orders):
            current = self.schedules.get(schedule.id)
            if current is None or current.sequence != schedule.sequence:
                # It stood still: what it decided another visit decided meanwhile.
                self.telemetry.count("schedule_visits_outdated")
                rest = current or schedule
                return Visit(rest, rest, definition, Decision((), rest))
        made = self.occurrence_jobs.put(
            schedule, definition, decision.orders, now=now, actor=actor, announced=announced
        )
        return Visit(schedule, rest, definition, decision, tuple(made))

    def send(self, visits: Sequence[Visit], actor: str) -> None:
        """Send the messages of several visits, ten to a request."""
        self.occurrence_jobs.send([made for visit in visits for made in visit.made], actor)

    def finish(
        self,
        visit: Visit,
        *,
        now: datetime,
        actor: str,
        may_go_on: Callable[[], bool] = _always,
    ) -> Schedule:
        """Take a step of its backfills, and store what was decided; return the schedule as it is.

        Raises as `visit`.
        """
        after = self._work_off_backfills(visit, now, actor, may_go_on)
        if after.broken and after.broken != visit.schedule.broken:
            self.publisher.publish(Event(EventName.SCHEDULE_BROKEN, after.id, now))
        if after == visit.schedule:
            return after
        return self._store(visit, after)

    def search_on(
        self, visit: Visit, after: Schedule, may_go_on: Callable[[], bool] = _always
    ) -> Schedule:
        """Look further for the next nominal time where a visit ended before it found one.

        ``after`` is the schedule as the visit stored it: how far its search came is on record, so
        that a crash from here on leaves nothing to be done again. Raises as `visit`.
        """
        if not visit.decision.must_search_on or after.next_at != visit.decision.schedule.next_at:
            return after
        recurrence = self.recurrences.of(visit.definition)
        work = self.recurrences.work(may_go_on)
        next_at = search_on(after, visit.definition, recurrence, work)
        further = replace(
            after, next_at=next_at, sequence=after.sequence + 1, write_id=self.randomness.nonce()
        )
        answer = self.schedules.write(further, previous=after.sequence)
        return further if isinstance(answer, Written) else answer.current or after

    def _break(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        error: BadExpression,
    ) -> Visit:
        """Mark a schedule whose nominal times cannot be computed: it is not visited for them.

        What it depends on may change: then the walk over all schedules has it visited once more.
        """
        decided = replace(schedule, next_at=None)
        if schedule.is_live:
            decided = replace(decided, broken=error.detail[:MAX_REASON_CHARACTERS])
        if decided.broken != schedule.broken:
            self.telemetry.count("schedule_visits_failed")
            self.telemetry.warning(
                "A schedule is broken: it creates no jobs until the schedule, or one of its "
                "calendars, is changed.",
                schedule_id=schedule.id,
                reason=decided.broken,
            )
        return Visit(schedule, schedule, definition, Decision((), decided))

    def _room(self, schedule: Schedule, definition: ScheduleDefinition, room: int) -> int:
        """Return how many missed jobs may be made under the policy ``all``."""
        overlap, most = overlap_of(schedule.key, definition), definition.buffer_limit
        if definition.misfire.policy is not MisfirePolicy.ALL or overlap is None:
            return room
        # What waits already would only wait longer behind more.
        return room if self.tables.waiting_in_group(overlap, most) < most else 0

    def _work_off_backfills(
        self, visit: Visit, now: datetime, actor: str, may_go_on: Callable[[], bool]
    ) -> Schedule:
        schedule = visit.decision.schedule
        work = self.recurrences.work(may_go_on)
        active, due_again = [], visit.schedule.next_at
        for backfill_id in schedule.backfills:
            goes_on = True
            try:
                if work.look_at_time():
                    # Where there was no time, it stays due since then: before those that had some.
                    due_again = now
                    goes_on = self._work_off(schedule, backfill_id, now, actor)
            except WrittenByNewer as newer:
                # It stands still until it is known again; the schedule does not wait for it.
                log_newer(self.telemetry, newer)
            except BadExpression as error:
                self.telemetry.warning(
                    "A backfill is stopped until its scheduled times can be computed again.",
                    schedule_id=schedule.id,
                    backfill_id=backfill_id,
                    reason=error.detail,
                )
            if goes_on:
                active.append(backfill_id)
        if tuple(active) != schedule.backfills:
            schedule = replace(schedule, backfills=tuple(active))
        return replace(schedule, next_at=due_again or now) if active else schedule

    def _work_off(self, schedule: Schedule, backfill_id: str, now: datetime, actor: str) -> bool:
        """Make the next jobs of a backfill; whether there is more to come."""
        backfill = self.schedules.get_backfill(schedule.key, backfill_id)
        if backfill is None or backfill.is_done:
            return False
        definition = self.schedules.get_definition(schedule.id, backfill.definition)
        if definition is None:
            self.telemetry.warning(
                "A backfill ended early, because its definition is missing.",
                schedule_id=schedule.id,
                backfill_id=backfill_id,
            )
            return False
        stepped, _ = self.backfills.step(schedule, definition, backfill, now=now, actor=actor)
        return not stepped.is_done and stepped.cancelled_at is None

    def _store(self, visit: Visit, after: Schedule) -> Schedule:
        before = visit.schedule
        after = replace(after, sequence=before.sequence + 1, write_id=self.randomness.nonce())
        answer = self.schedules.write(after, previous=before.sequence)
        if not isinstance(answer, Written):
            # It was visited or changed meanwhile. The jobs created here stand; under
            # another revision it is adopted, or withdrawn at its claim.
            self.telemetry.count("schedule_visits_outdated")
            return answer.current or before
        self._count(visit.rest, visit.decision.schedule)
        if visit.rest is not before:
            self._forget_old_pages(before.key, visit.definition)
        return after

    def _count(self, before: Schedule, decided: Schedule) -> None:
        skipped = _skipped(decided.journal) - _skipped(before.journal)
        if skipped > 0:
            self.telemetry.count("occurrences_skipped", skipped)
        missed = _skipped(decided.journal, _MISSED) - _skipped(before.journal, _MISSED)
        if missed > 0:
            self.telemetry.count("occurrences_missed", missed)
            self.telemetry.warning(
                "A schedule missed scheduled times: by its misfire policy they have no jobs.",
                schedule_id=decided.id,
                missed=missed,
            )

    def _forget_old_pages(self, key: str, definition: ScheduleDefinition) -> None:
        keep = definition.keep
        pages = 2 + (keep.succeeded + keep.failed) // PAGE_ENTRIES_AT_LEAST
        kept = self.schedules.read_journal(key, before=None, limit=pages)
        if len(kept) < pages:
            return
        oldest = kept[-1].entries[0].first
        old = self.schedules.read_journal(key, before=oldest, limit=PAGES_FORGOTTEN_AT_ONCE)
        # Entries of backfills are of times long past; they are not the oldest.
        own = [page for page in old if not page.tag]
        if own:
            self.schedules.delete_journal_pages(key, own)


_MISSED = frozenset({SkipReason.WINDOW, SkipReason.MISFIRE})
"""Times that no tick came to in time, and that the misfire policy gave up."""


def _skipped(
    journal: Sequence[JournalEntry], reasons: Container[SkipReason] = frozenset(SkipReason)
) -> int:
    return sum(entry.count for entry in journal if entry.reason in reasons)
