"""Every service, wired from settings and adapters when it is first asked for."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, TypeVar

from hourhand.domain.jobs.job import TICK, Job
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.times import rfc3339
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from hourhand.settings import DispatchMode, LeaderMode, Settings
from hourhand.wiring.adapters import PORTS, Adapters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from hourhand.domain.groups.overlap import Overlap
    from hourhand.domain.jobs.waiting import Reserved, TakenStart
    from hourhand.domain.limits.declarations import Limit
    from hourhand.ports.durable_run import ReversedRun
    from hourhand.ports.handler_directory import HandlerDirectory
    from hourhand.services.callers import Callers
    from hourhand.services.durable.callbacks import CallbackService
    from hourhand.services.durable.child_ends import ChildEnds
    from hourhand.services.durable.children import Children
    from hourhand.services.durable.compensation import Compensations
    from hourhand.services.durable.completions import Completer
    from hourhand.services.durable.members import MemberChecks
    from hourhand.services.durable.redrives import RunRedrives
    from hourhand.services.durable.runs import DurableRuns
    from hourhand.services.durable.signals import SignalService
    from hourhand.services.durable.values import RunPorts
    from hourhand.services.durable.views import RunViews
    from hourhand.services.jobs.drafts import Drafts
    from hourhand.services.jobs.due import DueJobs
    from hourhand.services.jobs.execution import Candidate, Deferred, StartRule
    from hourhand.services.jobs.known_pauses import KnownPauses
    from hourhand.services.jobs.new_job import DerivedIds, PayloadCheck
    from hourhand.services.jobs.operations import OperationsService
    from hourhand.services.jobs.parking import Parking
    from hourhand.services.jobs.payload_store import PayloadStore
    from hourhand.services.jobs.quota_gate import QuotaGate
    from hourhand.services.jobs.recovery import RecoveryService
    from hourhand.services.jobs.unique_jobs import UniqueRecords
    from hourhand.services.jobs.waiter_records import WaiterRecords
    from hourhand.services.limits.deadlocks import Deadlocks
    from hourhand.services.limits.handler_starts import HandlerStarts
    from hourhand.services.limits.job_limits import JobLimits
    from hourhand.services.limits.known_overrides import KnownOverrides
    from hourhand.services.limits.rate_limiters import RateLimiters
    from hourhand.services.limits.rates_rule import RateWaits
    from hourhand.services.limits.rechecks import Rechecks
    from hourhand.services.limits.slot_release import SlotRelease
    from hourhand.services.limits.slot_tables import Slots, SlotTables
    from hourhand.services.limits.slot_waits import SlotWaits
    from hourhand.services.limits.wait_queues import WaitQueues
    from hourhand.services.schedules.backfill_work import BackfillWork
    from hourhand.services.schedules.compiled_rules import CompiledRules
    from hourhand.services.schedules.declarations import DeclaredSchedules
    from hourhand.services.schedules.due_schedules import ScheduleSweep
    from hourhand.services.schedules.failure_pauses import FailurePauses
    from hourhand.services.schedules.history import ScheduleHistory
    from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs
    from hourhand.services.schedules.operations import ScheduleService
    from hourhand.services.schedules.views import ScheduleViews
    from hourhand.services.schedules.visit import Materialiser
    from hourhand.services.schedules.withdrawal import Withdrawal
    from hourhand.services.ticks.tick import SchedulingService


T = TypeVar("T")


class RuleOfLimits:
    """A rule of limits of a ``kind``, which is imported once a job that has one is to start.

    The overlap of a schedule's jobs is a `Concurrency`.
    """

    def __init__(
        self, handlers: HandlerDirectory, kind: type[Limit], make: Callable[[], StartRule]
    ) -> None:
        """``make`` returns the rule itself."""
        self._handlers, self._kind, self._make = handlers, kind, make
        self._rule: StartRule | None = None

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge a job that has such a limit. May raise `Unavailable`."""
        handler = self._handlers.find(candidate.message.handler)
        declared = handler.limits if handler is not None else ()
        has_one = any(isinstance(one, self._kind) for one in declared)
        if not (has_one or candidate.message.has_limits or self._is_of_group(candidate)):
            return None
        if self._rule is None:
            self._rule = self._make()
        return self._rule.admit(candidate)

    def _is_of_group(self, candidate: Candidate) -> bool:
        """Whether this is the rule of slots, and the job needs one of its group."""
        if self._kind is not Concurrency or not candidate.message.needs_admission:
            return False
        job = candidate.job()
        return job is not None and job.overlap is not None


class RuleOfParents:
    """The rule of children, which is imported once a child is to start."""

    def __init__(self, make: Callable[[], StartRule]) -> None:
        """``make`` returns the rule itself."""
        self._make = make
        self._rule: StartRule | None = None

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Judge a child. May raise `Unavailable`."""
        if candidate.message.parent is None:
            return None
        if self._rule is None:
            self._rule = self._make()
        return self._rule.admit(candidate)


def read_child(spec: Mapping[str, Any]) -> NewJob:
    """Read what a child states. Imports what reads requests: 0.2 s, once a run has children."""
    from hourhand.api.requests.jobs import JobSubmission

    return JobSubmission.parse(spec)


class Wiring:
    """The services of one function. Each is made, and its module imported, at its first use."""

    def __init__(
        self,
        settings: Settings,
        adapters: Adapters,
        *,
        pauses_schedules: bool = True,
        check_payload: PayloadCheck | None = None,
        cancelled_together: int = 1_000,
    ) -> None:
        """``pauses_schedules`` is false in a worker, which may not write schedules.

        ``check_payload`` judges what callers send, so only the API has one. ``cancelled_together``:
        see `hourhand.services.durable.children.Children`.
        """
        self.settings = settings
        self.adapters = adapters
        self.timings = settings.timings
        self._pauses_schedules = pauses_schedules
        self._check_payload = check_payload
        self.cancelled_together = cancelled_together

    def build(self, make: type[T], **given: object) -> T:
        """Create a service. A parameter that is not given takes the port or the part of its name.

        A test compares the types of all parameters with those of the ports and parts.
        """
        for name in signature(make).parameters:
            if name in given:
                continue
            if name in PORTS:
                given[name] = getattr(self.adapters, name)
            elif name in vars(self) or hasattr(Wiring, name):
                given[name] = getattr(self, name)
        return make(**given)

    # --- jobs -----------------------------------------------------------------------------------

    @cached_property
    def ids(self) -> DerivedIds:
        from hourhand.services.jobs.new_job import DerivedIds

        return self.adapters.ids or DerivedIds(self.adapters.control, self.adapters.randomness)

    @property
    def check_payload(self) -> PayloadCheck:
        from hourhand.services.jobs.new_job import accept_any

        return self._check_payload or accept_any

    @cached_property
    def contents(self) -> PayloadStore:
        from hourhand.services.jobs.payload_store import PayloadStore

        return self.build(PayloadStore)

    @cached_property
    def pauses(self) -> KnownPauses:
        from hourhand.services.jobs.known_pauses import KnownPauses

        return self.build(KnownPauses)

    @cached_property
    def callers(self) -> Callers:
        from hourhand.services.callers import Callers

        return self.build(Callers)

    @cached_property
    def quotas(self) -> QuotaGate:
        from hourhand.services.jobs.quota_gate import QuotaGate

        return self.build(QuotaGate)

    @cached_property
    def waiters(self) -> WaiterRecords:
        from hourhand.services.jobs.waiter_records import WaiterRecords

        return self.build(WaiterRecords)

    @cached_property
    def parking(self) -> Parking:
        from hourhand.services.jobs.parking import Parking

        return self.build(Parking)

    @cached_property
    def due(self) -> DueJobs:
        from hourhand.services.jobs.due import DueJobs

        return self.build(DueJobs)

    @cached_property
    def recovery(self) -> RecoveryService:
        from hourhand.services.jobs.recovery import RecoveryService

        return self.build(
            RecoveryService,
            pause_schedule=self._pause_schedule_of if self._pauses_schedules else None,
        )

    def cancel_children(self, run: Job) -> bool:
        """What cancels children is imported once a durable run ended without success."""
        return self.children.cancel_all(run)

    def notify_parent(self, child: Job, result_text: str | None) -> None:
        """What notifies runs is imported once a child ended."""
        self.child_ends.report(child, result_text)

    @cached_property
    def child_ends(self) -> ChildEnds:
        from hourhand.services.durable.child_ends import ChildEnds

        return self.build(ChildEnds)

    @cached_property
    def children(self) -> Children:
        from hourhand.services.durable.children import Children

        return self.build(
            Children,
            parse=read_child,
            refusal=lambda run, child: self.deadlocks().refusal(run, child),
        )

    @cached_property
    def members(self) -> MemberChecks:
        from hourhand.api.requests.graphs import parse_member
        from hourhand.services.durable.members import MemberChecks

        return self.build(MemberChecks, parse=parse_member)

    def read_results(self, job: Job, payload_text: str) -> str:
        """Replace what stands for results. What does so is imported once a job needs it."""
        from hourhand.services.durable.stored_results import StoredResults

        return StoredResults(self.children).resolve(job, payload_text)

    @cached_property
    def drafts(self) -> Drafts:
        from hourhand.services.jobs.drafts import Drafts

        return self.build(Drafts)

    def start_compensation(self, job: Job) -> bool:
        """What starts compensations is imported once a durable run ended without success."""
        return self.compensations.start(job)

    @cached_property
    def compensations(self) -> Compensations:
        from hourhand.services.durable.compensation import Compensations

        return self.build(Compensations)

    def after_move(self, before: Job, after: Job) -> None:
        """What releases slots is imported once a job with limits has moved."""
        if self._has_limits(before):
            self.slot_release.after_move(before, after)

    def release_slots(self, ended: Job, after: Job) -> None:
        """Release the slots of a generation of a job that ended. Raises `Unavailable`."""
        if self._has_limits(ended):
            self.slot_release.release(ended, after)

    def release_other_slot(self, job: Job, granted: int) -> None:
        """Release a second slot that a running job was granted. Raises `Unavailable`."""
        if job.slot_shards is not None:
            self.slot_release.release_other(job, granted)

    def _has_limits(self, job: Job) -> bool:
        handler = self.adapters.handlers.find(job.handler)
        if job.overlap is not None or job.limits is not None:
            return True
        return handler is not None and bool(handler.limits)

    def limits_rule(self, worker: str) -> StartRule:
        """Return the rule of concurrency limits of a worker."""
        from hourhand.services.limits.full_limits import FullLimits
        from hourhand.services.limits.limits_rule import LimitsRule

        return self.build(
            LimitsRule,
            queues=self.wait_queues,
            full=self.build(FullLimits, worker=worker),
            worker=worker,
        )

    def holders_in_group(self, overlap: Overlap) -> Sequence[str]:
        """Return the ids of the jobs that hold the slots of a group, or held them last."""
        slots = self._slots_of_group(overlap)
        return [
            job_id for shard in slots.shards for job_id in self.tables.view(shard, 0).record.holders
        ]

    def count_waiting(self, overlap: Overlap, most: int) -> int:
        """Count the jobs of a group that wait for a slot, up to ``most``."""
        return self.tables.count_waiting(self._slots_of_group(overlap), most)

    def _slots_of_group(self, overlap: Overlap) -> Slots:
        from hourhand.domain.limits.job_limits import overlap_limit

        slots = self.tables.slots_of(overlap_limit(overlap))
        assert slots is not None
        return slots

    @cached_property
    def limiters(self) -> RateLimiters:
        from hourhand.services.limits.rate_limiters import RateLimiters

        return self.build(RateLimiters)

    def rate_waits(self, worker: str) -> RateWaits:
        """Return what lets the jobs of a worker wait for their rates."""
        from hourhand.services.limits.rates_rule import RateWaits

        return self.build(RateWaits, worker=worker)

    def take_job_start(
        self,
        job: Job,
        name: str,
        cost: float,
        longest: timedelta,
        reserved: Reserved,
    ) -> TakenStart:
        """Take a start for a handler. What does so is imported once a handler takes one."""
        return self.handler_starts.take(job, name, cost, longest, reserved)

    @cached_property
    def handler_starts(self) -> HandlerStarts:
        from hourhand.services.limits.handler_starts import HandlerStarts

        return self.build(HandlerStarts)

    def has_rate(self, job: Job) -> bool:
        """Whether a rate limit counts each start of ``job``. Reads nothing."""
        return self._has_limits(job) and self.limits.has_rate(job)

    def may_block_others(self, job: Job) -> bool:
        """Whether other handlers may share slots that a job has. Reads nothing."""
        return self._has_limits(job) and self.limits.may_block_others(job)

    def hold_rates(self, job: Job, until: datetime) -> None:
        """Let no job start that has the rate limits of ``job``."""
        if self._has_limits(job):
            self.rate_waits("").hold(job, until)

    def parent_rule(self, worker: str) -> StartRule:
        """Return the rule of children of a worker."""
        from hourhand.services.durable.parent_rule import ParentRule

        margin = self.timings.clock_margin
        return self.build(ParentRule, worker=worker, clock_margin=margin)

    def line_rule(self, worker: str) -> StartRule:
        """Return the rule that lets jobs reserve start times."""
        from hourhand.services.limits.rates_rule import LineRule

        return self.build(LineRule, waits=self.rate_waits(worker))

    def gate_rule(self, worker: str) -> StartRule:
        """Return the rule that lets jobs pass the gates of their rates."""
        from hourhand.services.limits.rates_rule import GateRule

        return self.build(GateRule, waits=self.rate_waits(worker))

    @cached_property
    def limits(self) -> JobLimits:
        from hourhand.services.limits.job_limits import JobLimits

        return self.build(JobLimits)

    @cached_property
    def tables(self) -> SlotTables:
        from hourhand.services.limits.slot_tables import SlotTables

        return self.build(SlotTables)

    @cached_property
    def overrides(self) -> KnownOverrides:
        from hourhand.services.limits.known_overrides import KnownOverrides

        return self.build(KnownOverrides)

    @cached_property
    def wait_queues(self) -> WaitQueues:
        from hourhand.services.limits.wait_queues import WaitQueues

        return self.build(WaitQueues)

    @cached_property
    def slot_waits(self) -> SlotWaits:
        from hourhand.services.limits.slot_waits import SlotWaits

        return self.build(SlotWaits)

    def rechecks(self) -> Rechecks:
        """Return what rechecks the wait queues of one sweep."""
        from hourhand.services.limits.rechecks import Rechecks

        turn = rfc3339(self.adapters.clock.now())
        return self.build(Rechecks, queues=self.wait_queues, deadlocks=self.deadlocks(), turn=turn)

    def deadlocks(self) -> Deadlocks:
        """Return what finds deadlocks, from jobs and slots that it reads first."""
        from hourhand.services.limits.deadlocks import Deadlocks

        return self.build(Deadlocks)

    @cached_property
    def slot_release(self) -> SlotRelease:
        from hourhand.services.limits.slot_release import SlotRelease

        return self.build(SlotRelease, queues=self.wait_queues)

    def durable_runs(self) -> DurableRuns:
        """Return what opens the journals of runs: imported once there is a durable run."""
        return self.runs

    @cached_property
    def ports(self) -> RunPorts:
        from hourhand.services.durable.values import RunPorts

        return self.build(RunPorts, children=lambda: self.children, api_url=self.settings.api_url)

    def open_reversed(self, payload_text: str) -> ReversedRun | None:
        return self.compensations.open(payload_text)

    @cached_property
    def runs(self) -> DurableRuns:
        from hourhand.services.durable.runs import DurableRuns

        return self.build(DurableRuns)

    @cached_property
    def completer(self) -> Completer:
        from hourhand.services.durable.completions import Completer

        return self.build(Completer)

    @cached_property
    def signals(self) -> SignalService:
        from hourhand.services.durable.signals import SignalService

        return self.build(SignalService)

    @cached_property
    def callbacks(self) -> CallbackService:
        from hourhand.services.durable.callbacks import CallbackService

        return self.build(CallbackService)

    @cached_property
    def run_views(self) -> RunViews:
        from hourhand.services.durable.views import RunViews

        return self.build(RunViews)

    @cached_property
    def run_redrives(self) -> RunRedrives:
        from hourhand.services.durable.redrives import RunRedrives

        return self.build(RunRedrives)

    def run_timeout(self, handler: str) -> timedelta | None:
        """Return how long a run of a handler may take; ``None`` if it is not durable."""
        info = BUILT_IN_HANDLERS.get(handler) or self.adapters.handlers.find(handler)
        if info is None or info.run_timeout_seconds is None:
            return None
        return timedelta(seconds=info.run_timeout_seconds)

    def _pause_schedule_of(self, job: Job) -> None:
        self.failure_pauses.pause_schedule_of(job)

    @cached_property
    def operations(self) -> OperationsService:
        from hourhand.services.jobs.operations import OperationsService

        return self.build(OperationsService)

    @cached_property
    def unique(self) -> UniqueRecords:
        from hourhand.services.jobs.unique_jobs import UniqueRecords

        return self.build(UniqueRecords)

    # --- schedules ------------------------------------------------------------------------------

    @cached_property
    def recurrences(self) -> CompiledRules:
        from hourhand.services.schedules.compiled_rules import CompiledRules

        return self.build(CompiledRules)

    @cached_property
    def recording(self) -> ScheduleHistory:
        from hourhand.services.schedules.history import ScheduleHistory

        return self.build(ScheduleHistory)

    @cached_property
    def withdrawal(self) -> Withdrawal:
        from hourhand.services.schedules.withdrawal import Withdrawal

        return self.build(Withdrawal)

    @cached_property
    def failure_pauses(self) -> FailurePauses:
        from hourhand.services.schedules.failure_pauses import FailurePauses

        return self.build(FailurePauses)

    @cached_property
    def occurrence_jobs(self) -> OccurrenceJobs:
        from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

        return self.build(OccurrenceJobs)

    @cached_property
    def work(self) -> BackfillWork:
        from hourhand.services.schedules.backfill_work import BackfillWork

        return self.build(BackfillWork)

    @cached_property
    def materialiser(self) -> Materialiser:
        from hourhand.services.schedules.visit import Materialiser

        return self.build(Materialiser, backfills=self.work)

    @cached_property
    def schedule_views(self) -> ScheduleViews:
        from hourhand.services.schedules.views import ScheduleViews

        return self.build(ScheduleViews)

    @cached_property
    def schedules(self) -> ScheduleService:
        from hourhand.services.schedules.effects import ChangeEffects
        from hourhand.services.schedules.history import UndecidedTimes
        from hourhand.services.schedules.new_schedule import ScheduleCheck
        from hourhand.services.schedules.operations import ScheduleService
        from hourhand.services.schedules.triggers import Triggers

        return self.build(
            ScheduleService,
            check=self.build(ScheduleCheck),
            views=self.schedule_views,
            effects=self.build(ChangeEffects),
            undecided=self.build(UndecidedTimes),
            triggers=self.build(Triggers),
        )

    @cached_property
    def declared_schedules(self) -> DeclaredSchedules:
        from hourhand.services.schedules.declarations import DeclaredSchedules
        from hourhand.services.schedules.recompute import write_walk

        adapters = self.adapters
        return self.build(
            DeclaredSchedules,
            service=lambda: self.schedules,
            write=lambda walk: write_walk(adapters.schedules, adapters.randomness, walk),
        )

    @cached_property
    def schedule_sweep(self) -> ScheduleSweep:
        """What visits schedules is imported once one is due, or has to be recomputed."""
        from hourhand.services.schedules.due_schedules import ScheduleSweep
        from hourhand.services.schedules.recompute import ScheduleWalk

        return self.build(
            ScheduleSweep,
            materialiser=lambda: self.materialiser,
            walk=self.build(
                ScheduleWalk,
                recompute=lambda schedule_id: self.schedules.recompute(schedule_id, actor=TICK),
                declare=self.declared_schedules.step,
            ),
        )

    # --- ticks ----------------------------------------------------------------------------------

    @cached_property
    def scheduling(self) -> SchedulingService:
        from hourhand.services.ticks.changed_limits import ChangedLimits
        from hourhand.services.ticks.clock_audit import ClockAudit
        from hourhand.services.ticks.dispatch import Dispatcher, InTurn
        from hourhand.services.ticks.ended_pauses import EndedPauses
        from hourhand.services.ticks.leadership import Leadership
        from hourhand.services.ticks.shards import FanOut
        from hourhand.services.ticks.tick import SchedulingService
        from hourhand.services.ticks.watermark import WatermarkKeeper

        settings, adapters = self.settings, self.adapters
        return self.build(
            SchedulingService,
            fan_out=self.build(FanOut, entries=settings.fan_out_entries),
            leadership=self.build(Leadership),
            watermark=self.build(WatermarkKeeper),
            clock_audit=self.build(ClockAudit),
            dispatcher=self.build(
                Dispatcher,
                pipeline=adapters.pipeline or InTurn(adapters.jobs, adapters.queues),
                rounding=self.timings.delay_rounding,
            ),
            new_rechecks=self.rechecks,
            ended_pauses=self.build(EndedPauses),
            changed_limits=self.build(ChangedLimits),
            is_standby=settings.leader is LeaderMode.STANDBY,
            skips_marks=settings.dispatch is DispatchMode.ECONOMY,
            counts_dead=settings.writes_metrics,
        )
