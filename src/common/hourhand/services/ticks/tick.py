"""The tick: elect, audit the clock, sweep, advance the watermark, visit schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.actions import SweepContext
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import ShardMap, bucket_of, bucket_start
from hourhand.domain.ticks.clock_skew import SkewVerdict
from hourhand.domain.ticks.leases import LEADER, shard_lease_name
from hourhand.domain.ticks.resweep import take_up
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.unmarked_dispatch import SentWindow, economy_at, window_of
from hourhand.domain.ticks.watermark import (
    Place,
    SweepPlan,
    Watermark,
    advance,
    first_watermark,
    plan_sweep,
    watermark_lag,
)
from hourhand.domain.times import rfc3339
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore, Lease, LeaseHeld, TickRecord
from hourhand.ports.job_store import IndexPage, JobStore
from hourhand.ports.queues import Queues
from hourhand.ports.sweep_invoker import SweepInvoker
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.recovery import RecoveryService
from hourhand.services.optional import ask_optionally
from hourhand.services.schedules.due_schedules import ScheduleSweep, VisitCounts
from hourhand.services.ticks.clock_audit import ClockAudit, SkewReport
from hourhand.services.ticks.dispatch import Dispatcher
from hourhand.services.ticks.leadership import Leadership
from hourhand.services.ticks.sweep import Sweep, SweepCounts
from hourhand.services.version_skew import log_newer

MAX_INVOCATIONS = 16
"""Further invocations that one tick starts; they share its shards out among themselves."""

TICK_RESERVE_SECONDS = 8
"""What must be left of the function's time to finish a page, write the watermark and end."""

SCHEDULES_SHARE = 0.2
"""What part of a tick's time its sweep leaves to the visits: a backlog must not stop schedules."""

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


@dataclass(slots=True)
class _Stint:
    """A lease under which a sweep goes on while it lasts and time is left.

    ``kept_seconds`` of that time are kept for what comes after the sweep.
    """

    leadership: Leadership
    lease: Lease
    remaining_seconds: Callable[[], float]
    kept_seconds: float = 0.0
    is_lost: bool = False

    def keep_for_visits(self) -> None:
        """Let the sweep that follows leave its part of the time to the schedules."""
        left = self.remaining_seconds() - TICK_RESERVE_SECONDS
        self.kept_seconds = max(0.0, left * SCHEDULES_SHARE)

    def may_go_on(self) -> bool:
        """Renew the lease if need be; say whether to read another page."""
        needed = TICK_RESERVE_SECONDS + self.kept_seconds
        if self.is_lost or self.remaining_seconds() < needed:
            return False
        kept = self.leadership.keep(self.lease)
        if kept is None:
            self.is_lost = True
            return False
        self.lease = kept
        return True


@dataclass(slots=True)
class _Sharing:
    """Which shards further invocations sweep, once there is more than this one should do.

    ``entries`` says how many that is; 0: never.
    """

    most_shards: int
    entries: int
    given_away: frozenset[int] = frozenset()
    has_asked: bool = False

    def is_needed(self, entries: int) -> bool:
        """Whether to ask for help, which happens once a tick."""
        if self.has_asked or self.most_shards == 1 or not 0 < self.entries <= entries:
            return False
        self.has_asked = True
        return True

    def all_but(self, shard: int) -> list[int]:
        """Return every shard but the one that the leader goes on with."""
        return [other for other in range(self.most_shards) if other != shard]


@dataclass(frozen=True, slots=True)
class SchedulingService:
    """The scheduler. Any number of them may act at once: it costs duplicates, no more.

    ``fan_out_entries``: the index entries after which it shares its shards out; 0: never.
    ``is_standby``: it leaves ticks and shards to the schedulers of another deployment.
    ``skips_marks``: economy mode (`hourhand.domain.ticks.unmarked_dispatch`). ``counts_dead``:
    whether a tick counts the DEAD jobs, which only a metric shows.
    """

    jobs: JobStore
    control: ControlStore
    queues: Queues
    invoker: SweepInvoker
    leadership: Leadership
    clock_audit: ClockAudit
    dispatcher: Dispatcher
    recovery: RecoveryService
    schedule_sweep: ScheduleSweep
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    fan_out_entries: int
    is_standby: bool = False
    skips_marks: bool = False
    counts_dead: bool = True

    def tick(self, invocation_id: str, remaining_seconds: Callable[[], float]) -> TickReport:
        """Lead one tick, or end if another scheduler leads.

        Raises `Unavailable` where the control table does not answer: the lease is given up, and
        the next tick reads the same buckets. So it does with a shard that cannot be read. Where
        a newer version keeps the control records, that one leads.
        """
        if self.is_standby:
            return self._stand_by(invocation_id)
        audit = self.clock_audit.run()
        if audit.verdict is SkewVerdict.REFUSE:
            return _refusal(invocation_id)
        try:
            return self._lead_if_free(invocation_id, remaining_seconds, audit)
        except WrittenByNewer as newer:
            return self._step_back(invocation_id, newer)

    def _lead_if_free(
        self, invocation_id: str, remaining_seconds: Callable[[], float], audit: SkewReport
    ) -> TickReport:
        lease = self.leadership.acquire(LEADER, invocation_id)
        if isinstance(lease, LeaseHeld):
            return TickReport(led=False, epoch=lease.epoch, holder=lease.holder)
        stint = _Stint(self.leadership, lease, remaining_seconds)
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
        if self.is_standby:
            return self._stand_by(invocation_id)
        if self.clock_audit.run().verdict is SkewVerdict.REFUSE:
            return _refusal(invocation_id)
        try:
            return self._sweep_free(shards, epoch, tick_at, invocation_id, remaining_seconds)
        except WrittenByNewer as newer:
            return self._step_back(invocation_id, newer)

    def _sweep_free(
        self,
        shards: Sequence[int],
        epoch: int,
        tick_at: datetime,
        invocation_id: str,
        remaining_seconds: Callable[[], float],
    ) -> TickReport:
        counts = SweepCounts()
        completed = True
        now = self.clock.now()
        state = self.control.read_watermark() or first_watermark(tick_at, 1, self.timings)
        horizon = now + self.timings.look_ahead
        shard_map = self.control.read_shard_map()
        for shard in shards:
            lease = self.leadership.acquire(shard_lease_name(shard), invocation_id)
            if isinstance(lease, LeaseHeld):
                completed = False
                continue
            stint = _Stint(self.leadership, lease, remaining_seconds)
            sweep = self._sweep(stint, SweepContext(now, horizon, self.timings), counts)
            plan = plan_sweep(state, now, horizon, self.timings)
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
        return _report(epoch, invocation_id, counts, completed=completed)

    def _step_back(self, invocation_id: str, newer: WrittenByNewer) -> TickReport:
        log_newer(self.telemetry, newer)
        return TickReport(led=False, epoch=0, holder=invocation_id)

    def _stand_by(self, invocation_id: str) -> TickReport:
        self.telemetry.info("This scheduler is on standby: it neither leads nor helps.")
        return TickReport(led=False, epoch=0, holder=invocation_id, standby=True)

    def _lead(self, stint: _Stint, audit: SkewReport) -> TickReport:
        # One "now" for every decision of the tick, taken before the first read.
        now = self.clock.now()
        shard_map = self.control.read_shard_map()
        # Before anything is done: of a record that a newer version wrote, this one keeps off.
        before = self.control.read_tick()
        judgement = self._judgement(now, audit, before)
        state = self._watermark(now, shard_map.version)
        stint.keep_for_visits()
        plan = plan_sweep(state, now, judgement.horizon, self.timings)
        counts = SweepCounts()
        sweep = self._sweep(stint, judgement, counts)
        try:
            seen, handed_over = self._read(sweep, plan, shard_map, stint)
        finally:
            sweep.settle()
        completed = len(seen) == len(plan.buckets)
        # A clock of which nothing is known, as one that is off, closes no bucket.
        if audit.is_sure:
            state = self._advance(state, plan, seen, now, shard_map.version)
        sent = before.sent if before is not None else None
        if self.skips_marks and audit.is_sure and completed and counts.sent_all:
            sent = window_of(now, judgement.horizon, self.timings)
        self._record(stint.lease, now, counts, state, seen, audit, before, sent)
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
        return SweepContext(now, horizon, self.timings, economy=economy)

    def _visit_schedules(self, stint: _Stint, judgement: SweepContext) -> VisitCounts:
        """Visit due schedules, in the time that the sweep left."""
        stint.kept_seconds = 0.0
        return self.schedule_sweep.run(
            now=judgement.now, horizon=judgement.horizon, may_go_on=stint.may_go_on
        )

    def _watermark(self, now: datetime, shard_map_version: int) -> Watermark:
        """Return the state of the sweep; a new installation's is kept before its first sweep.

        Otherwise ticks that fail one after another would each start from their own time.
        """
        found = self.control.read_watermark()
        if found is None:
            first = first_watermark(now, shard_map_version, self.timings)
            self.control.write_watermark(first, previous=None)
            found = self.control.read_watermark() or first
        return self._take_up_resweep(found, shard_map_version)

    def _take_up_resweep(self, state: Watermark, shard_map_version: int) -> Watermark:
        """Lower the watermark if a resweep was requested since; it is stored before any read."""
        # A request that is not seen yet is seen by the next tick, at half the price of a read.
        if take_up(state, self.control.read_resweep(may_lag=True)) is state:
            return state
        # One that lags may show a request before the last one, which was taken up long ago.
        lowered = take_up(state, self.control.read_resweep())
        if lowered is state:
            return state
        lowered = replace(lowered, shard_map_version=shard_map_version)
        if not self.control.write_watermark(lowered, previous=state):
            # Another leader wrote it meanwhile; the next tick finds the request again.
            self.telemetry.count("watermark_refused")
            return state
        self.telemetry.info(
            "A resweep begins: the watermark was lowered, and older buckets are read again.",
            since=rfc3339(bucket_start(lowered.low)),
        )
        return lowered

    def _sweep(self, stint: _Stint, judgement: SweepContext, counts: SweepCounts) -> Sweep:
        return Sweep(
            jobs=self.jobs,
            queues=self.queues,
            dispatcher=self.dispatcher,
            recovery=self.recovery,
            telemetry=self.telemetry,
            judgement=judgement,
            may_go_on=stint.may_go_on,
            counts=counts,
        )

    def _read(
        self, sweep: Sweep, plan: SweepPlan, shard_map: ShardMap, stint: _Stint
    ) -> tuple[dict[int, bool], int]:
        """Sweep the plan; say what each bucket showed that was read to its very end.

        When it is more than one invocation should do, the other shards go to further ones.
        """
        counts = {bucket: shard_map.count_for_readers(bucket) for bucket in plan.buckets}
        sharing = _Sharing(max(counts.values(), default=1), self.fan_out_entries)
        # Only what such buckets show decides about the watermark.
        over = bucket_of(sweep.judgement.now - self.timings.trail)
        shows: dict[int, list[bool | None]] = {bucket: [] for bucket in plan.buckets}
        for places in plan.turns({bucket: range(count) for bucket, count in counts.items()}):
            pages = _first_pages(sweep, places, sharing, over)
            for bucket, shard in places:
                if sharing.is_needed(sweep.counts.entries):
                    sharing.given_away = self._hand_over(sharing.all_but(shard), stint)
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

    def _hand_over(self, shards: Sequence[int], stint: _Stint) -> frozenset[int]:
        """Share ``shards`` out among further invocations; return those that are taken care of."""
        tick_at = self.clock.now()
        taken: set[int] = set()
        for first in range(min(len(shards), MAX_INVOCATIONS)):
            share = shards[first::MAX_INVOCATIONS]
            if not stint.may_go_on():
                break
            if self.invoker.invoke(share, epoch=stint.lease.epoch, tick_at=tick_at):
                taken.update(share)
        if taken:
            self.telemetry.count("shards_handed_over", len(taken))
        else:
            self.telemetry.warning(
                "No shard could be handed over. This tick sweeps what it can by itself.",
                shards=len(shards),
            )
        return frozenset(taken)

    def _advance(
        self,
        state: Watermark,
        plan: SweepPlan,
        seen: dict[int, bool],
        now: datetime,
        shard_map_version: int,
    ) -> Watermark:
        moved = advance(
            state, plan, seen, now=now, read_until=self.clock.now(), timings=self.timings
        )
        moved = replace(moved, shard_map_version=shard_map_version)
        if self.control.write_watermark(moved, previous=state):
            return moved
        # Another leader wrote it, or the shard map grew: this sweep proves nothing any more.
        self.telemetry.count("watermark_refused")
        return state

    def _record(
        self,
        lease: Lease,
        now: datetime,
        counts: SweepCounts,
        state: Watermark,
        seen: Mapping[int, bool],
        audit: SkewReport,
        before: TickRecord | None,
        sent: SentWindow | None,
    ) -> None:
        found = {p: counts.oldest_due.get(p, timedelta(0)).total_seconds() for p in Priority}
        oldest = carry_forward(found, before, state, seen, now) if before else found
        if before is not None and lease.taken_from is not None:
            # From the last tick that ended: how long no scheduler swept.
            self.telemetry.observe("hand_off_ms", (now - before.at) / timedelta(milliseconds=1))
        self.control.write_tick(
            TickRecord(
                at=now,
                holder=lease.holder,
                epoch=lease.epoch,
                oldest_due_seconds=oldest,
                open_buckets=len(state.open),
                skew_ms=audit.size // timedelta(milliseconds=1),
                sent=sent,
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
    sweep: Sweep, places: Sequence[Place], sharing: _Sharing, over: int
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


def _refusal(invocation_id: str) -> TickReport:
    return TickReport(led=False, epoch=0, holder=invocation_id, verdict=SkewVerdict.REFUSE)


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
