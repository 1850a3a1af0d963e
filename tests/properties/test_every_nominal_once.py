"""Whatever happens to a schedule, each of its nominal times is accounted for exactly once.

A simulated table takes what visits and changes write, page by page and job by job. Visits come
when they come, die between any two of their writes, and two may be under way at one time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from hourhand.domain.groups.admission import Verdict, judge_occurrence
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.schedules import occurrences
from hourhand.domain.schedules.changes import (
    create,
    definition_name,
    gives_up,
    pause,
    recompute,
    record,
    replace_definition,
    resume,
    withdrawn,
)
from hourhand.domain.schedules.journal import split_journal
from hourhand.domain.schedules.nominal_times import DatedRule, last_nominal, not_before_start
from hourhand.domain.schedules.occurrences import Decision, decide
from hourhand.domain.schedules.recurrence import ExcludedExpression, ExcludedTimes, Fire
from hourhand.domain.schedules.rule import LATEST, Work
from hourhand.domain.schedules.schedule import (
    JournalEntry,
    Misfire,
    MisfirePolicy,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.services.schedules.occurrence_jobs import is_standing
from tests.examples import examples
from tests.unit.domain.schedule_samples import NOON, make_definition, recurrence_of
from tests.unit.services.schedule_views import whole_record
from tests.world.factories import make_job

LOOK_AHEAD = timedelta(seconds=300)

SOON = timedelta(minutes=20)
"""After a visit died another one comes, before its jobs are more than 100 nominal times old."""

MAX_VISITS = 3_000

RULES = [
    ("* * * * *",),
    ("*/7 * * * *",),
    ("0,30 * * * * *",),
    ("0 * * * *", "17,41 * * * *"),
    ("rate(90 seconds)",),
    ("rate(11 minutes)", "*/10 * * * *"),
    ("0 13 * * *",),
]
EXCLUSIONS = [
    ExcludedExpression("*/10 * * * *"),
    ExcludedTimes(NOON + timedelta(minutes=20), NOON + timedelta(minutes=50)),
    ExcludedTimes(NOON + timedelta(hours=3), NOON + timedelta(hours=300)),
]

definitions = st.builds(
    lambda rule, exclude, policy, window, most, hours, overlap, start: make_definition(
        *rule,
        anchor=NOON,
        exclude=tuple(exclude),
        misfire=Misfire(policy=policy, window_seconds=window),
        max_occurrences=most,
        end_at=None if hours is None else NOON + timedelta(hours=hours),
        start_at=None if start is None else NOON + timedelta(minutes=start),
        overlap=overlap,
        jitter_seconds=20,
    ),
    st.sampled_from(RULES),
    st.lists(st.sampled_from(EXCLUSIONS), max_size=2, unique=True),
    st.sampled_from(MisfirePolicy),
    st.sampled_from([0, 90, 1_800, 86_400]),
    st.sampled_from([None, None, 1, 7, 40]),
    st.sampled_from([None, None, 1, 5]),
    st.sampled_from(OverlapPolicy),
    st.sampled_from([None, None, 12]),
)


@dataclass
class Table:
    """What is stored, and by which rule each instant was to be decided."""

    definition: ScheduleDefinition
    schedule: Schedule
    now: datetime = NOON
    pages: dict[datetime, tuple[JournalEntry, ...]] = field(default_factory=dict)
    jobs: dict[datetime, Job] = field(default_factory=dict)
    writes: int = 0
    definitions: dict[str, ScheduleDefinition] = field(default_factory=dict)

    # --- a visit, and its parts ---

    def decide(self, room: int) -> Decision:
        """Decide as a visit does, with a look at the jobs that are there."""
        rest = self.spill()

        def once(made_before: frozenset[datetime]) -> Decision:
            return decide(
                rest,
                self.rules(),
                now=self.now,
                horizon=self.now + LOOK_AHEAD,
                room=room,
                made_before=made_before,
            )

        decision = once(frozenset())
        there = frozenset(at for at in decision.possible if self._has_standing_job(at))
        return once(there) if there else decision

    def rules(self) -> list[DatedRule]:
        """Return the rules since the cursor, as `CompiledRules.since_cursor` does."""
        former = [(self.definitions[each.definition], each.until) for each in self.schedule.former]
        return [
            DatedRule(definition, recurrence_of(definition), until)
            for definition, until in (*former, (self.definition, LATEST))
            if until > self.schedule.cursor
        ]

    def _has_standing_job(self, nominal: datetime) -> bool:
        return nominal in self.jobs and is_standing(self.jobs[nominal], self.schedule)

    def make(self, decision: Decision) -> None:
        """Put the jobs, or adopt those that are there and did not start."""
        for order in decision.orders:
            assert order.revision == self.schedule.revision
            there = self.jobs.get(order.nominal)
            if there is None or there.token == 0:
                self.jobs[order.nominal] = make_job(
                    occurrence=order.nominal, schedule_revision=order.revision
                )

    def work(self) -> None:
        """Let workers claim what is due, as far as the schedule still wants it."""
        for nominal, job in self.jobs.items():
            is_due = nominal <= self.now and job.status is JobStatus.PENDING
            verdict = judge_occurrence(job, self.schedule) if is_due else Verdict.WAIT
            if verdict is Verdict.RUN:
                self.jobs[nominal] = replace(job, status=JobStatus.SUCCEEDED, token=1)
            elif verdict is not Verdict.WAIT:
                self._cancel(nominal, verdict)

    def withdraw(self, before: Schedule) -> None:
        """Cancel what a change took back."""
        for nominal in withdrawn(before, self.schedule):
            if self.jobs[nominal].token == 0:
                self._cancel(nominal, SkipReason.PAUSED)

    def _cancel(self, nominal: datetime, reason: SkipReason) -> None:
        job, cancelled = self.jobs[nominal], JobStatus.CANCELLED
        event = HistoryEvent(
            kind=EventKind.CANCELLED, at=self.now, status=cancelled, actor="tick", reason=reason
        )
        self.jobs[nominal] = replace(job, status=cancelled, history=(*job.history, event))

    def spill(self) -> Schedule:
        """Write the page that is due; return the schedule without it, as `spill` does."""
        decided_at = self.schedule.cursor - LOOK_AHEAD - Timings().skew_refuses
        paged, kept = split_journal(self.schedule.journal, decided_at)
        if paged:
            standing = self.pages.get(paged[0].first)
            if standing is None or standing[-1].last <= paged[-1].last:
                self.pages[paged[0].first] = paged
        return replace(self.schedule, journal=kept)

    def store(self, after: Schedule) -> None:
        """Write the schedule."""
        self.writes += 1
        self.schedule = replace(after, sequence=self.writes, write_id=f"w{self.writes}")

    # --- what is on record ---

    def entries(self) -> list[JournalEntry]:
        """Return every entry, as a history tells of it."""
        newest_first = [self.pages[first] for first in sorted(self.pages, reverse=True)]
        return whole_record(self.schedule, newest_first)


class _Run:
    """Draws what happens, and checks the record after each step."""

    def __init__(self, data: st.DataObject) -> None:
        definition = data.draw(definitions, label="definition")
        schedule = create(
            "s", definition, now=NOON, zone_data="z", write_id="w0", paused=False, note=""
        )
        self.data = data
        self.table = Table(definition, schedule)
        self.since = schedule.cursor
        self.died_at: datetime | None = None
        self.cuts: list[tuple[datetime, datetime, ScheduleDefinition]] = []

    def step(self) -> None:
        table = self.table
        seconds = st.one_of(st.sampled_from([0, 20, 60, 60, 60, 400]), st.integers(0, 40_000))
        passes = timedelta(seconds=self.data.draw(seconds, label="seconds pass"))
        if self.died_at is not None and table.now + passes > self.died_at + SOON:
            self._catch_up()
        table.now += passes
        table.work()
        kind = self.data.draw(
            st.sampled_from(["visit"] * 6 + ["die", "pause", "replace", "recompute"]),
            label="what",
        )
        getattr(self, "_" + kind.replace(" ", "_"))()
        self._trigger_maybe()
        table.work()

    def _catch_up(self) -> None:
        """Visit until all is decided: what died longer ago is looked for no more."""
        if self.table.schedule.paused_at is not None:
            self._pause()
        for _ in range(MAX_VISITS):
            decision = self.table.decide(50)
            self.table.make(decision)
            self.table.store(decision.schedule)
            if decision.schedule.next_at != self.table.now:
                break
        self.died_at = None

    def _visit(self) -> None:
        table = self.table
        decision = table.decide(self.data.draw(st.sampled_from([0, 3, 50]), label="room"))
        table.make(decision)
        made = {entry.first for entry in table.schedule.journal if entry.reason is None}
        after = decision.schedule
        journalled = [e.first for e in after.journal if e.reason is None and not e.salt]
        fresh = [nominal for nominal in journalled if nominal not in made]
        assert fresh == [order.nominal for order in decision.orders]
        table.store(after)

    def _die(self) -> None:
        self.died_at = self.died_at or self.table.now
        decision = self.table.decide(50)
        self.table.make(decision)

    def _pause(self) -> None:
        table = self.table
        if table.schedule.paused_at is None:
            before = table.schedule
            table.store(pause(before, now=table.now, write_id="x", note=""))
            if self.data.draw(st.booleans(), label="withdraws"):
                table.withdraw(before)
        else:
            event("resumed")
            table.store(resume(table.schedule, now=table.now, write_id="x", note=""))

    def _recompute(self) -> None:
        table = self.table
        table.store(recompute(table.schedule, now=table.now, zone_data="z", write_id="x"))

    def _replace(self) -> None:
        table, before = self.table, self.table.definition
        after = self.data.draw(definitions, label="replacement")
        is_counted = before.max_occurrences is not None or after.max_occurrences is not None
        if is_counted or gives_up(table.schedule, before):
            # Which times the count of which definition ends is told apart by other tests.
            self._catch_up()
        if table.schedule.cursor < table.now:
            event("edited with times undecided")
        self.cuts.append((self.since, table.now, before))
        changed = replace_definition(
            table.spill(), after, now=table.now, zone_data="z", write_id="x", before=before
        )
        self.since = table.now
        table.definitions[definition_name(before)] = before
        table.definition = after
        table.store(changed)

    def _trigger_maybe(self) -> None:
        if self.data.draw(st.booleans(), label="trigger"):
            at = self.table.now + timedelta(milliseconds=1)
            entry = JournalEntry(first=at, last=at, salt="trigger")
            self.table.store(record(self.table.spill(), entry, write_id="x"))

    # --- what must be true ---

    def check(self) -> None:
        table = self.table
        entries = table.entries()
        firsts = [entry.first for entry in entries]
        assert firsts == sorted(firsts)
        own = [entry for entry in entries if not entry.salt]
        jobs = [entry.first for entry in own if entry.reason is None]
        assert len(set(jobs)) == len(jobs), "a nominal time has two jobs on record"
        assert set(jobs) <= set(table.jobs), "a job on record was never made"
        fires: list[Fire] = []
        for since, until, definition in [
            *self.cuts,
            (self.since, table.schedule.cursor, table.definition),
        ]:
            fires += self._fires(own, since, until, definition)
        for entry in own:
            told, fires = fires[: entry.count], fires[entry.count :]
            self._check_entry(entry, told)
        assert not fires, "a nominal time is missing"

    def _fires(
        self,
        own: list[JournalEntry],
        since: datetime,
        until: datetime,
        definition: ScheduleDefinition,
    ) -> list[Fire]:
        """Return what one rule asks for in its time.

        After the last one of so many it asks for nothing; what is told of then is checked too.
        """
        end = min(until, self.table.schedule.cursor, last_nominal(definition))
        rule = recurrence_of(definition)
        fires = list(rule.fires(not_before_start(definition, since), end))
        most = definition.max_occurrences
        if most is None:
            return fires
        part = [entry for entry in own if since < entry.first <= until]
        made = [entry for entry in part if entry.reason is None]
        assert len(made) <= most, "too many were made"
        return [fire for fire in fires if len(made) < most or fire.at <= part[-1].last]

    def _in_rules_since(self, at: datetime) -> list[Fire | None]:
        """Return a time as each rule since then has it; ``None``: it has not."""
        since = [definition for _, until, definition in self.cuts if until >= at]
        rules = [DatedRule(each, recurrence_of(each)) for each in (*since, self.table.definition)]
        tick = timedelta(milliseconds=1)
        return [next(rule.fires(at - tick, at, Work(100)), None) for rule in rules]

    def _check_entry(self, entry: JournalEntry, told: list[Fire]) -> None:
        """Compare one entry with the nominal times that it must tell of."""
        assert len(told) == entry.count
        assert (told[0].at, told[-1].at) == (entry.first, entry.last)
        if entry.reason is None:
            assert entry.count == 1
            assert not told[0].is_excluded
            return
        for fire in told:
            later = self._in_rules_since(fire.at)
            if entry.reason is SkipReason.EXCLUDED:
                assert any(same is not None and same.is_excluded for same in later)
            else:
                assert not fire.is_excluded
            assert entry.reason is not SkipReason.REPLACED or None in later
        jobs = [self.table.jobs[fire.at] for fire in told if fire.at in self.table.jobs]
        assert not [job for job in jobs if job.token > 0], "a job ran and is told of as skipped"


@given(st.data())
@examples(60, few=10)
def test_each_nominal_time_is_accounted_for_exactly_once(data: st.DataObject) -> None:
    run = _Run(data)
    for _ in range(data.draw(st.integers(1, 14), label="steps")):
        run.step()
        run.check()


@given(st.data())
@examples(30, few=10)
def test_it_is_so_within_narrow_bounds_of_a_visit_too(data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(occurrences, "MAX_JOBS_A_VISIT", 4)
        patch.setattr(occurrences, "MAX_WORK", 60)
        run = _Run(data)
        for _ in range(data.draw(st.integers(1, 20), label="steps")):
            run.step()
            run.check()
