"""Deciding a schedule's nominal times: which become jobs, which are skipped, and why.

Pure: a visit calls `decide`, makes the jobs that it orders, and then stores the schedule that it
returns. Every visit that decides from the same schedule at the same time orders the same jobs.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.groups.overlap import NO_LIMIT, Overlap, OverlapPolicy
from hourhand.domain.schedules.changes import resume
from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK, jitter_at, late_until
from hourhand.domain.schedules.journal import Runs, merge_runs
from hourhand.domain.schedules.nominal_times import (
    MAX_WORK_A_VIEW,
    DatedRule,
    PossibleOccurrences,
    fires_of,
    is_used_up,
    last_nominal,
    next_visit_of,
    not_before_start,
)
from hourhand.domain.schedules.rule import MAX_WORK, Fire, Found, GivenUp, Work
from hourhand.domain.schedules.schedule import (
    MISFIRE_GRACE,
    MisfirePolicy,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

MAX_JOBS_A_VISIT = 500
"""More than a look-ahead of one every second; the rest is made by the next visit."""

MAX_CATCH_UP = 50
"""Missed nominal times under the policy ``all`` that the first visit of a tick makes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OccurrenceOrder:
    """A job to be made for a nominal time.

    ``revision`` is absent where nothing that the schedule does later may withdraw the job.
    ``reason``: what the history of the job says of why it was made.
    """

    nominal: datetime
    run_at: datetime
    previous: datetime | None = None
    interval_start: datetime | None = None
    overlap: Overlap | None = None
    revision: int | None = None
    salt: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """The jobs to be made first, and the schedule to be stored then.

    ``possible``: nominal times that were missed or excluded. A visit that died when they were not
    so yet, or when others were the latest, may have made their jobs. ``seen``: how many nominal
    times were looked at. ``must_search_on``: the next one is further off than a visit looks.
    """

    orders: tuple[OccurrenceOrder, ...]
    schedule: Schedule
    possible: tuple[datetime, ...] = ()
    seen: int = 0
    must_search_on: bool = False


def decide(
    schedule: Schedule,
    rules: Sequence[DatedRule],
    *,
    now: datetime,
    horizon: datetime,
    room: int = MAX_CATCH_UP,
    made_before: Set[datetime] = frozenset(),
    work: Work | None = None,
) -> Decision:
    """Decide every nominal time after the cursor up to ``horizon``, within the bounds of a visit.

    ``rules``: those in force since the cursor; the last one is the present one. ``room``: how many
    missed ones may be made under the policy ``all``. ``made_before``: those that have jobs already,
    made by a visit that died; they are never skipped. ``work``: what it may cost, by default
    `MAX_WORK`; the next visit goes on where it was over.
    """
    if not schedule.is_live:
        return Decision((), replace(schedule, next_at=None))
    work = Work(MAX_WORK) if work is None else work
    definition, recurrence = rules[-1].definition, rules[-1].recurrence
    late = late_until(schedule, definition, recurrence, now - MISFIRE_GRACE, work)
    missed_until = late.until
    if schedule.resumed_at is not None:
        missed_until = max(missed_until, schedule.resumed_at)
    visit = _Visit(
        schedule,
        definition,
        recurrence,
        now,
        room,
        made_before,
        missed_until,
        late.looked_until,
        work,
        Runs(now),
        Runs(now),
        rules,
        last_fire=schedule.last_fire,
        last_made=schedule.last_made,
        served_until=schedule.served_until,
    )
    return visit.decide(horizon)


@dataclass(frozen=True, slots=True)
class Resumption:
    """What a resume would do about the missed times: how many run, from when to when.

    ``is_least``: there are more than were looked at.
    """

    runs: int
    first: datetime | None
    last: datetime | None
    skipped: int
    is_least: bool


def after_resume(
    schedule: Schedule, rules: Sequence[DatedRule], now: datetime
) -> Resumption | None:
    """Return what a resume at ``now`` would do; ``None`` for a schedule that is not paused."""
    if schedule.paused_at is None:
        return None
    resumed = replace(resume(schedule, now=now, write_id="", note=None), journal=())
    work, room = Work(MAX_WORK_A_VIEW), MAX_JOBS_A_VISIT
    decision = decide(resumed, rules, now=now, horizon=now, room=room, work=work)
    times = [order.nominal for order in decision.orders]
    return Resumption(
        runs=len(times),
        first=times[0] if times else None,
        last=times[-1] if times else None,
        skipped=sum(entry.count for entry in decision.schedule.journal if entry.reason),
        is_least=decision.schedule.next_at == now,
    )


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The latest missed nominal time so far, and the one before it."""

    nominal: datetime
    interval_start: datetime | None


@dataclass(slots=True)
class _Visit:
    """One pass over the nominal times that are to be decided now.

    ``missed_until``: what is decided at or before was missed, by an outage or by a pause.
    ``looked_until``: where given, what comes later is not known to be missed or not. ``seen``
    counts the nominal times looked at.
    """

    schedule: Schedule
    definition: ScheduleDefinition
    recurrence: Recurrence
    now: datetime
    room: int
    made_before: Set[datetime]
    missed_until: datetime
    looked_until: datetime | None
    work: Work
    runs: Runs
    after_candidate: Runs
    rules: Sequence[DatedRule]
    orders: list[OccurrenceOrder] = field(default_factory=list)
    old_doubts: PossibleOccurrences = field(default_factory=PossibleOccurrences)
    possible: PossibleOccurrences = field(default_factory=PossibleOccurrences)
    candidate: _Candidate | None = None
    last_fire: datetime | None = None
    last_made: datetime | None = None
    served_until: datetime | None = None
    caught_up: int = 0
    seen: int = 0

    def decide(self, horizon: datetime) -> Decision:
        cursor, end = self.schedule.cursor, last_nominal(self.definition)
        until = min(horizon, self.looked_until or horizon)
        is_cut = until < min(horizon, end)
        for fire in fires_of(self.rules, cursor, until, self.work):
            if self._is_used_up():
                break
            if self._must_stop(fire.at):
                is_cut, until = True, cursor
                break
            self._judge(fire)
            cursor = fire.at
            self.seen += 1
        cursor = max(self.schedule.cursor, until)
        is_more_missed = is_cut and self._is_fire_in(cursor, min(self.missed_until, end))
        self._settle_candidate(is_superseded=is_more_missed)
        self.runs.close()
        if is_cut and self.served_until is not None:
            self.served_until = self.now
        next_at, must_search_on = self._next_visit(cursor, end, is_cut=is_cut)
        possible = (*self.old_doubts.times, *self.possible.times)
        decided = self._decided(cursor, next_at)
        return Decision(tuple(self.orders), decided, possible, self.seen, must_search_on)

    def _is_fire_in(self, after: datetime, until: datetime) -> bool:
        work = Work(MAX_WORK_A_LOOK)
        edited_at = max((rule.until for rule in self.rules[:-1]), default=after)
        for fire in fires_of(self.rules, after, min(until, edited_at), work):
            if fire.is_wanted or work.is_over:
                return fire.is_wanted
        return isinstance(self.recurrence.search(max(after, edited_at), until, work), Found)

    def _decided(self, cursor: datetime, next_at: datetime | None) -> Schedule:
        return replace(
            self.schedule,
            cursor=cursor,
            next_at=next_at,
            broken="",
            made=self.schedule.made + len(self.orders),
            last_fire=self.last_fire,
            last_made=self.last_made,
            served_until=self.served_until,
            journal=merge_runs((*self.schedule.journal, *self.runs.entries), self.now),
            former=tuple(rule for rule in self.schedule.former if rule.until > cursor),
        )

    def _next_visit(
        self, cursor: datetime, end: datetime, *, is_cut: bool
    ) -> tuple[datetime | None, bool]:
        """Return the next fire, or how far a short search for it came, and whether to search on."""
        if self._is_used_up():
            return None, False
        if is_cut:
            return self.now, False
        after = not_before_start(self.definition, cursor)
        found = self.recurrence.search(after, end, Work(MAX_WORK_A_LOOK))
        return next_visit_of(found), isinstance(found, GivenUp) and not found.is_for_good

    def _is_used_up(self) -> bool:
        return is_used_up(self.schedule, self.definition, len(self.orders))

    def _must_stop(self, nominal: datetime) -> bool:
        if len(self.orders) >= MAX_JOBS_A_VISIT or self.seen == self.work.most_times:
            return True
        if self.seen and self.work.is_over:
            return True
        catches_up = self.definition.misfire.policy is MisfirePolicy.ALL
        return catches_up and nominal <= self.missed_until and self.caught_up >= self.room

    def _judge(self, fire: Fire) -> None:
        nominal, is_missed = fire.at, fire.at <= self.missed_until
        if is_missed if fire.is_wanted else self._may_be_excluded_since(nominal):
            (self.old_doubts if self._is_too_old(nominal) else self.possible).add(nominal)
        if nominal in self.made_before:
            self._note_made(nominal, is_missed=is_missed)
        elif not fire.is_wanted:
            runs = self.runs if self.candidate is None else self.after_candidate
            is_replaced = fire.is_replaced and not fire.is_excluded
            replaced = self._reason_missed(nominal, SkipReason.REPLACED)
            runs.skip(nominal, replaced if is_replaced else SkipReason.EXCLUDED)
            return
        elif is_missed:
            self._judge_missed(nominal)
        else:
            self._settle_candidate(is_superseded=False)
            if not self._is_used_up():
                self._make(nominal, self.last_fire, is_missed=False)
        self.last_fire = nominal

    def _may_be_excluded_since(self, nominal: datetime) -> bool:
        """Whether a past excluded time may not have been so when a visit that died made its job."""
        next_at = self.schedule.next_at
        if next_at is not None and next_at > self.schedule.updated_at and nominal < next_at:
            # The last visit looked as far as this, and nothing changed since.
            return False
        return nominal <= self.now

    def _note_made(self, nominal: datetime, *, is_missed: bool) -> None:
        """Account for a job that is there already, as the visit would have that made it."""
        self._settle_candidate(is_superseded=is_missed)
        if not self._is_used_up():
            if is_missed:
                self.served_until = self.missed_until
            self._make(nominal, self.last_fire, is_missed=is_missed)

    def _judge_missed(self, nominal: datetime) -> None:
        misfire = self.definition.misfire
        if self._is_too_old(nominal):
            self.runs.skip(nominal, self._reason_missed(nominal, SkipReason.WINDOW))
        elif misfire.policy is MisfirePolicy.LATEST:
            self._settle_candidate(is_superseded=True)
            self.candidate = _Candidate(nominal, self.last_fire)
        elif misfire.policy is MisfirePolicy.ALL:
            self.caught_up += 1
            self._make(nominal, self.last_fire, is_missed=True)
        elif misfire.policy is MisfirePolicy.EARLIEST and not self._is_served(nominal):
            self.served_until = self.missed_until
            self._make(nominal, self.last_fire, is_missed=True)
        else:
            self.runs.skip(nominal, self._reason_missed(nominal))

    def _reason_missed(
        self, nominal: datetime, otherwise: SkipReason = SkipReason.MISFIRE
    ) -> SkipReason:
        """Return why no job is made for a missed time: a pause is no failure of the scheduler."""
        return SkipReason.PAUSED if self._was_paused_at(nominal) else otherwise

    def _was_paused_at(self, nominal: datetime) -> bool:
        began, ended = self.schedule.paused_from, self.schedule.resumed_at
        return began is not None and ended is not None and began < nominal <= ended

    def _is_too_old(self, nominal: datetime) -> bool:
        return nominal < self.now - timedelta(seconds=self.definition.misfire.window_seconds)

    def _is_served(self, nominal: datetime) -> bool:
        return self.served_until is not None and nominal <= self.served_until

    def _settle_candidate(self, *, is_superseded: bool) -> None:
        """Make the latest missed nominal time, or skip it for one that is later."""
        candidate, self.candidate = self.candidate, None
        if candidate is None:
            return
        if is_superseded:
            self.runs.skip(candidate.nominal, self._reason_missed(candidate.nominal))
        else:
            self._make(candidate.nominal, candidate.interval_start, is_missed=True)
        self.runs.take(self.after_candidate)
        self.after_candidate = Runs(self.now)

    def _make(self, nominal: datetime, interval_start: datetime | None, *, is_missed: bool) -> None:
        schedule = self.schedule
        jitter = jitter_at(schedule, self.definition, self.recurrence, nominal, self.work)
        run_at = nominal + jitter
        if schedule.resumed_at is not None and nominal <= schedule.resumed_at:
            # It was not late while its schedule was paused.
            run_at = max(run_at, schedule.resumed_at)
        self.orders.append(
            OccurrenceOrder(
                nominal=nominal,
                run_at=run_at,
                previous=self.last_made,
                interval_start=interval_start,
                overlap=overlap_of(schedule.key, self.definition, is_catching_up=is_missed),
                revision=schedule.revision,
            )
        )
        self.runs.make(nominal)
        self.last_made = nominal


def overlap_of(
    key: str, definition: ScheduleDefinition, *, is_catching_up: bool = False
) -> Overlap | None:
    """Return how a schedule's job is judged against the others; ``None``: not at all.

    Missed times that are caught up in order wait for their turn instead of being skipped.
    """
    policy, most = definition.overlap, definition.max_running
    if policy is OverlapPolicy.ALLOW:
        if most is None:
            return None
        policy = OverlapPolicy.SKIP
    limit = definition.buffer_limit
    if is_catching_up and definition.misfire.policy is MisfirePolicy.ALL:
        # None of those is refused: no more are made while as many wait as may.
        policy, limit = OverlapPolicy.BUFFER_ALL, NO_LIMIT
    return Overlap(group=key, policy=policy, max_running=most or 1, buffer_limit=limit)
