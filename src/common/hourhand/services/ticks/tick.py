"""The tick: elect, audit the clock, sweep, advance the watermark, visit schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.actions import SweepContext
from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.pauses import PUT_OFF_BY, HandlerPauses
from hourhand.domain.ticks.buckets import ShardMap, bucket_of
from hourhand.domain.ticks.clock_skew import SkewVerdict
from hourhand.domain.ticks.leases import LEADER, shard_lease_name
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import economy_at, window_of
from hourhand.domain.ticks.watermark import (
    Place,
    SweepPlan,
    Watermark,
    first_watermark,
    plan_sweep,
    watermark_lag,
)
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore, Lease, LeaseHeld, LimitsSeen, TickRecord
from hourhand.ports.job_store import IndexPage, JobStore
from hourhand.ports.queues import Queues
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.jobs.parking import Parking
from hourhand.services.jobs.pauses import EndedPauses
from hourhand.services.jobs.quota_gate import QuotaGate
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.limits.queue_rechecks import Rechecks
from hourhand.services.optional import ask_optionally, log_newer
from hourhand.services.schedules.due_schedules import ScheduleSweep, VisitCounts
from hourhand.services.ticks.changed_limits import ChangedLimits
from hourhand.services.ticks.clock_audit import ClockAudit, ClockSet, SkewReport
from hourhand.services.ticks.dispatch import Dispatcher
from hourhand.services.ticks.leadership import Leadership, Stint
from hourhand.services.ticks.shards import FanOut, Sharing
from hourhand.services.ticks.sweep import Sweep, SweepCounts
from hourhand.services.ticks.watermark import WatermarkKeeper

MAX_DEAD_COUNTED = 1000
"""Beyond this the exact number of unresolved jobs is of no use, and counting costs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TickReport:
    """What one invocation of the scheduler did. ``standby``: nothing, as configured."""

    led: bool
    epoch: int
    holder: str
    entries: int = 0
    dispatched: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    failures: int = 0
    completed: bool = False
    handed_over: int = 0
    schedules_visited: int = 0
    verdict: SkewVerdict = SkewVerdict.FINE
    standby: bool = False


@dataclass(frozen=True, slots=True)
class SchedulingService:
    """The scheduler. Any number of them may act at once: it costs duplicates, no more.

    ``is_standby``: it leaves ticks and shards to the schedulers of another deployment.
    ``skips_marks``: economy mode (`hourhand.domain.ticks.unmarked_dispatch`). ``counts_dead``:
    whether a tick counts the DEAD jobs, which only a metric shows.
    """

    jobs: JobStore
    control: ControlStore
    queues: Queues
    fan_out: FanOut
    leadership: Leadership
    watermark: WatermarkKeeper
    clock_audit: ClockAudit
    dispatcher: Dispatcher
    recovery: RecoveryService
    parking: Parking
    rechecks: Rechecks
    pauses: KnownPauses
    ended_pauses: EndedPauses
    quotas: QuotaGate
    changed_limits: ChangedLimits
    schedule_sweep: ScheduleSweep
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    is_standby: bool = False
    skips_marks: bool = False
    counts_dead: bool = True

    def tick(self, invocation_id: str, remaining_seconds: Callable[[], float]) -> TickReport:
        """Lead one tick, or end if another scheduler leads.

        Raises `Unavailable` where the control table does not answer: the lease is given up, and
        the next tick reads the same buckets. So it does with a shard that cannot be read. Where
        a newer version keeps the control records, that one leads.
        """

        def lead(audit: SkewReport) -> TickReport:
            return self._lead_if_free(invocation_id, remaining_seconds, audit)

        return self._act(invocation_id, lead)

    def _lead_if_free(
        self, invocation_id: str, remaining_seconds: Callable[[], float], audit: SkewReport
    ) -> TickReport:
        lease = self.leadership.acquire(LEADER, invocation_id)
        if isinstance(lease, LeaseHeld):
            return TickReport(led=False, epoch=lease.epoch, holder=lease.holder)
        stint = Stint(self.leadership, lease, remaining_seconds)
        try:
            return self._lead(stint, audit)
        finally:
            if not stint.is_lost:
                self.leadership.release(stint.lease)

    def sweep_shards(
        self,
        shards: Sequence[int],
        epoch: int,
        tick_at: datetime,
        invocation_id: str,
        remaining_seconds: Callable[[], float],
    ) -> TickReport:
        """Sweep shards that a leader handed over, each under a lease of its own.

        The watermark is the leader's alone. A leader that is gone by now does no harm: what is
        decided here is decided by conditional writes.
        """

        def sweep(audit: SkewReport) -> TickReport:
            now = self.clock_audit.time_after(audit)
            return self._sweep_free(shards, epoch, tick_at, now, invocation_id, remaining_seconds)

        return self._act(invocation_id, sweep)

    def _act(self, invocation_id: str, act: Callable[[SkewReport], TickReport]) -> TickReport:
        """Act, unless another scheduler is to: on standby, or where the clock is wrong.

        Where a newer version keeps a record that is needed, that version acts.
        """
        idle = TickReport(led=False, epoch=0, holder=invocation_id)
        if self.is_standby:
            self.telemetry.info("This scheduler is on standby: it neither leads nor helps.")
            return replace(idle, standby=True)
        audit = self.clock_audit.run()
        if audit.verdict is SkewVerdict.REFUSE:
            return replace(idle, verdict=audit.verdict)
        try:
            return act(audit)
        except WrittenByNewer as newer:
            log_newer(self.telemetry, newer)
            return idle
        except ClockSet as step:
            self.telemetry.warning(
                "The local clock was set during a tick. The next tick does the work.",
                went_on_by=str(step),
            )
            return replace(idle, verdict=SkewVerdict.REFUSE)

    def _sweep_free(
        self,
        shards: Sequence[int],
        epoch: int,
        tick_at: datetime,
        now: datetime,
        invocation_id: str,
        remaining_seconds: Callable[[], float],
    ) -> TickReport:
        counts = SweepCounts()
        completed = True
        state = self.control.read_watermark() or first_watermark(tick_at, 1, self.timings)
        horizon = now + self.timings.look_ahead
        shard_map = self.control.read_shard_map()
        pauses = self.pauses.fresh()
        limits = self.changed_limits.look(self.control.read_tick(), now)
        for shard in shards:
            lease = self.leadership.acquire(shard_lease_name(shard), invocation_id)
            if isinstance(lease, LeaseHeld):
                completed = False
                continue
            stint = Stint(self.leadership, lease, remaining_seconds)
            judgement = SweepContext(now, horizon, self.timings, pauses=pauses)
            sweep = self._sweep(stint, judgement, counts)
            plan = self._plan(state, judgement, limits)
            counts_of = {bucket: shard_map.count_for_readers(bucket) for bucket in plan.buckets}
            filed = {bucket: [shard] * (shard < count) for bucket, count in counts_of.items()}
            try:
                for places in plan.turns(filed):
                    pages = sweep.first_pages(places) if len(places) > 1 else {}
                    for place in places:
                        show = sweep.read_shard(*place, pages.get(place))
                        completed = show is not None and completed
            finally:
                sweep.settle()
                if not stint.is_lost:
                    self.leadership.release(stint.lease)
            self._keep_live(judgement, counts)
        return _report(epoch, invocation_id, counts, completed=completed)

    def _keep_live(self, judgement: SweepContext, counts: SweepCounts) -> None:
        if judgement.pauses.counts_live:
            ask_optionally(
                self.telemetry,
                "The live jobs of quotas could not be kept. The next tick counts again.",
                lambda: self.quotas.keep_live(counts.live, counts.shards, judgement.now),
            )

    def _lead(self, stint: Stint, audit: SkewReport) -> TickReport:
        # One "now" for every decision of the tick, taken before the first read.
        now = self.clock_audit.time_after(audit)
        shard_map = self.control.read_shard_map()
        # Before anything is done: of a record that a newer version wrote, this one keeps off.
        before = self.control.read_tick()
        judgement = self._judgement(now, audit, before)
        state = self.watermark.current(now, shard_map.version)
        stint.keep_for_visits()
        limits = self.changed_limits.look(before, now)
        plan = self._plan(state, judgement, limits)
        counts = SweepCounts()
        sweep = self._sweep(stint, judgement, counts)
        try:
            seen, handed_over = self._read(sweep, plan, shard_map, stint)
        finally:
            sweep.settle()
        read_all = len(seen) == len(plan.buckets)
        completed = seen.keys() >= set(plan.buckets) - set(plan.put_off)
        # A clock of which nothing is known, as one that is off, closes no bucket.
        if audit.is_sure:
            state = self.watermark.advance(state, plan, seen, now, shard_map.version)
        sent = before.sent if before is not None else None
        if self.skips_marks and audit.is_sure and completed and counts.sent_all:
            sent = window_of(now, judgement.horizon, self.timings)
        rechecked_all = read_all and counts.sent_all and sweep.rechecked_all
        limits = self.changed_limits.after_sweep(limits, now, rechecked_all=rechecked_all)
        record = TickRecord(
            at=now, holder=stint.lease.holder, epoch=stint.lease.epoch, sent=sent, limits=limits
        )
        self._record(record, stint.lease, counts, state, seen, audit, before)
        self._keep_live(judgement, counts)
        self._settle_pauses(judgement.pauses, stint, sent_all=read_all and counts.sent_all)
        # Last of all: no schedule, whatever it takes, keeps a job from being swept. Visits send
        # what they make themselves; what SQS refused of that, the next sweep sends.
        visits = self._visit_schedules(stint, judgement)
        return replace(
            _report(stint.lease.epoch, stint.lease.holder, counts, completed=completed),
            handed_over=handed_over,
            verdict=audit.verdict,
            schedules_visited=visits.visited,
        )

    def _judgement(
        self, now: datetime, audit: SkewReport, before: TickRecord | None
    ) -> SweepContext:
        widening = audit.size if audit.verdict is SkewVerdict.WIDEN else timedelta(0)
        economy = None
        if self.skips_marks and audit.is_sure and before is not None:
            economy = economy_at(now, before.sent, self.timings)
        horizon = now + self.timings.look_ahead + widening
        pauses = self.pauses.fresh()
        return SweepContext(now, horizon, self.timings, economy=economy, pauses=pauses)

    def _plan(self, state: Watermark, judgement: SweepContext, limits: LimitsSeen) -> SweepPlan:
        """Say what to read: all that parked jobs are in, after a pause or a change of limits."""
        now = judgement.now
        may_start = limits.changed_at is not None or bool(judgement.pauses.ended(now))
        until = now + PUT_OFF_BY + self.timings.tick if may_start else None
        if judgement.pauses.counts_live:
            # Live jobs are counted in all open buckets.
            until = until or now
        return plan_sweep(state, now, judgement.horizon, self.timings, put_off_until=until)

    def _settle_pauses(self, pauses: HandlerPauses, stint: Stint, *, sent_all: bool) -> None:
        if not pauses.pauses:
            return
        now = self.clock.now()
        held = sum(pause.holds(now) for pause in pauses.pauses.values())
        self.telemetry.gauge("handlers_paused", held, "Count")
        ask_optionally(
            self.telemetry,
            "The pauses that are over could not be settled. The next tick tries again.",
            lambda: self.ended_pauses.settle(pauses, sent_all=sent_all, may_go_on=stint.may_go_on),
        )

    def _visit_schedules(self, stint: Stint, judgement: SweepContext) -> VisitCounts:
        """Visit due schedules, in the time that the sweep left."""
        stint.kept_seconds = 0.0
        return self.schedule_sweep.run(
            now=judgement.now, horizon=judgement.horizon, may_go_on=stint.may_go_on
        )

    def _sweep(self, stint: Stint, judgement: SweepContext, counts: SweepCounts) -> Sweep:
        return Sweep(
            jobs=self.jobs,
            queues=self.queues,
            dispatcher=self.dispatcher,
            recovery=self.recovery,
            parking=self.parking,
            rechecks=self.rechecks,
            telemetry=self.telemetry,
            judgement=judgement,
            may_go_on=stint.may_go_on,
            counts=counts,
        )

    def _read(
        self, sweep: Sweep, plan: SweepPlan, shard_map: ShardMap, stint: Stint
    ) -> tuple[dict[int, bool], int]:
        """Sweep the plan; say what each bucket showed that was read to its very end.

        When it is more than one invocation should do, the other shards go to further ones.
        """
        counts = {bucket: shard_map.count_for_readers(bucket) for bucket in plan.buckets}
        sharing = self.fan_out.sharing(max(counts.values(), default=1))
        # Only what such buckets show decides about the watermark.
        over = bucket_of(sweep.judgement.now - self.timings.trail)
        shows: dict[int, list[bool | None]] = {bucket: [] for bucket in plan.buckets}
        for places in plan.turns({bucket: range(count) for bucket, count in counts.items()}):
            pages = _first_pages(sweep, places, sharing, over)
            for bucket, shard in places:
                if sharing.is_needed(sweep.counts.entries):
                    sharing.hand_over_all_but(shard, stint)
                page = pages.get((bucket, shard))
                show: bool | None = None
                if shard not in sharing.given_away:
                    show = sweep.read_shard(bucket, shard, page)
                elif bucket < over:
                    show = sweep.peek(bucket, shard, page)
                shows[bucket].append(show)
                if show is None and not stint.may_go_on():
                    return _seen(shows, counts), len(sharing.given_away)
        return _seen(shows, counts), len(sharing.given_away)

    def _record(
        self,
        record: TickRecord,
        lease: Lease,
        counts: SweepCounts,
        state: Watermark,
        seen: Mapping[int, bool],
        audit: SkewReport,
        before: TickRecord | None,
    ) -> None:
        """Complete ``record`` by what the sweep found, and store it."""
        now = record.at
        found = {p: counts.oldest_due.get(p, timedelta(0)).total_seconds() for p in Priority}
        oldest = carry_forward(found, before, state, seen, now) if before else found
        if before is not None and lease.taken_from is not None:
            # From the last tick that ended: how long no scheduler swept.
            self.telemetry.observe("hand_off_ms", (now - before.at) / timedelta(milliseconds=1))
        self.control.write_tick(
            replace(
                record,
                oldest_due_seconds=oldest,
                open_buckets=len(state.open),
                skew_ms=audit.size // timedelta(milliseconds=1),
            )
        )
        self.telemetry.gauge("oldest_due_age_s", max(oldest.values()), "Seconds")
        lag = watermark_lag(state, now).total_seconds()
        self.telemetry.gauge("watermark_lag_s", lag, "Seconds")
        if self.counts_dead:
            self._observe_dead()
        self.telemetry.count("ticks")

    def _observe_dead(self) -> None:
        """Write the number of unresolved DEAD jobs, on which the alarm is."""
        # The work of the tick is done; the next one counts again.
        dead = ask_optionally(
            self.telemetry,
            "The dead jobs could not be counted. The next tick counts again.",
            lambda: self.jobs.count_dead(MAX_DEAD_COUNTED),
        )
        if dead is not None:
            self.telemetry.gauge("dead_jobs", dead, "Count")


def _first_pages(
    sweep: Sweep, places: Sequence[Place], sharing: Sharing, over: int
) -> dict[Place, IndexPage]:
    """Read the first pages of what is read in one turn; of what is given away one entry will do."""
    if len(places) == 1:
        return {}
    own = [place for place in places if place[1] not in sharing.given_away]
    others = [place for place in places if place[1] in sharing.given_away and place[0] < over]
    return {**sweep.first_pages(own), **sweep.first_pages(others, to_peek=True)}


def _seen(shows: Mapping[int, Sequence[bool | None]], counts: Mapping[int, int]) -> dict[int, bool]:
    """Say of each bucket that was read to its very end in every shard whether it showed any."""
    return {
        bucket: True in shown
        for bucket, shown in shows.items()
        if len(shown) == counts[bucket] and None not in shown
    }


def carry_forward(
    found: Mapping[Priority, float],
    before: TickRecord,
    state: Watermark,
    seen: Mapping[int, bool],
    now: datetime,
) -> dict[Priority, float]:
    """Return the oldest due age of each priority, in seconds.

    An open bucket that was not read this time still holds what it held: its oldest job of the
    tick ``before`` has only grown older.
    """
    ages = dict(found)
    for priority, seconds in before.oldest_due_seconds.items():
        due_at = before.at - timedelta(seconds=seconds)
        bucket = bucket_of(due_at)
        if seconds > 0 and bucket in state.open and bucket not in seen:
            ages[priority] = max(ages[priority], (now - due_at).total_seconds())
    return ages


def _report(epoch: int, holder: str, counts: SweepCounts, *, completed: bool) -> TickReport:
    return TickReport(
        led=True,
        epoch=epoch,
        holder=holder,
        entries=counts.entries,
        dispatched=counts.dispatched,
        actions=counts.actions,
        failures=counts.failures,
        completed=completed,
    )
