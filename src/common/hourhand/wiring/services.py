"""Every service, wired from settings and adapters when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hourhand.domain.jobs.outbox import OutboxTask
from hourhand.domain.jobs.submission import NewJob
from hourhand.settings import DispatchMode, LeaderMode, Settings
from hourhand.wiring.adapters import PORTS, Adapters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from hourhand.services.callers import Callers
    from hourhand.services.jobs.aspects import EndTask, StartRule
    from hourhand.services.jobs.due import DueJobs
    from hourhand.services.jobs.known_pauses import KnownPauses
    from hourhand.services.jobs.new_job import DerivedIds, Drafts, PayloadCheck
    from hourhand.services.jobs.operations import OperationsService
    from hourhand.services.jobs.parking import Parking
    from hourhand.services.jobs.payload_store import PayloadStore
    from hourhand.services.jobs.quota_gate import QuotaGate
    from hourhand.services.jobs.recovery import RecoveryService
    from hourhand.services.jobs.unique_jobs import UniqueRecords
    from hourhand.services.jobs.waiter_records import WaiterRecords
    from hourhand.services.limits.aspect import LimitsAspect
    from hourhand.services.limits.deadlocks import Deadlocks
    from hourhand.services.limits.job_limits import JobLimits, KnownOverrides
    from hourhand.services.limits.queue_rechecks import Rechecks
    from hourhand.services.limits.rate_admission import RateWaits
    from hourhand.services.limits.rate_limiters import RateLimiters
    from hourhand.services.limits.slot_tables import SlotTables
    from hourhand.services.limits.slot_waits import SlotWaits
    from hourhand.services.limits.wait_queues import WaitQueues
    from hourhand.services.runs.callbacks import CallbackService
    from hourhand.services.runs.child_ends import ChildEnds
    from hourhand.services.runs.children import Children, StoredResults
    from hourhand.services.runs.compensation import Compensations
    from hourhand.services.runs.completions import Completer
    from hourhand.services.runs.journals import DurableRuns
    from hourhand.services.runs.members import MemberChecks
    from hourhand.services.runs.redrives import RunRedrives
    from hourhand.services.runs.results import RunPorts
    from hourhand.services.runs.signals import SignalService
    from hourhand.services.runs.views import RunViews
    from hourhand.services.schedules.backfills import BackfillWork
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


class Later:
    """Stands for a part until something asks it: only then it is made, and its module imported."""

    def __init__(self, make: Callable[[], object]) -> None:
        """``make`` returns the part, always the same."""
        self._make = make

    def __getattr__(self, name: str) -> Any:
        """Ask the part."""
        return getattr(self._make(), name)


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
        worker: str = "",
    ) -> None:
        """``pauses_schedules`` is false in a worker, which may not write schedules.

        ``check_payload`` judges what callers send, so only the API has one. ``cancelled_together``:
        see `hourhand.services.runs.children.Children`. ``worker`` names a worker in leases and
        histories.
        """
        self.settings = settings
        self.adapters = adapters
        self.timings = settings.timings
        self._pauses_schedules = pauses_schedules
        self._check_payload = check_payload
        self.cancelled_together = cancelled_together
        if worker:
            self.worker = worker

    def build(self, make: type[T], **given: object) -> T:
        """Create a service. A parameter that is not given takes the port or the part of its name.

        A test compares the types of all parameters with those of the ports and parts.
        """
        # Not `inspect.signature`: it takes longer than all else here, in every cold start.
        code = make.__init__.__code__
        for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
            if name in given:
                continue
            if name in PORTS:
                given[name] = getattr(self.adapters, name)
            elif name in vars(self) or hasattr(Wiring, name):
                given[name] = getattr(self, name)
        return make(**given)

    def later(self, name: str) -> Any:
        """Return what stands for a part until it is first asked."""
        return Later(lambda: getattr(self, name))

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

        return self.build(DueJobs, limits=self.limits_of_jobs)

    @cached_property
    def recovery(self) -> RecoveryService:
        from hourhand.services.jobs.recovery import RecoveryService

        return self.build(RecoveryService)

    @cached_property
    def end_tasks(self) -> Mapping[OutboxTask, EndTask]:
        """What settles each outbox task; one more follows the end of jobs by an entry here."""
        from hourhand.services.jobs.dead_letters import DeadLetters
        from hourhand.services.jobs.payload_store import ObjectEnds

        tasks: dict[OutboxTask, EndTask] = {
            OutboxTask.CANCEL_CHILDREN: self.later("children"),
            OutboxTask.SEND_DEAD_LETTER: self.build(DeadLetters),
            OutboxTask.RELEASE_SLOTS: self.limits_of_jobs,
            OutboxTask.NOTIFY_PARENT: self.later("child_ends"),
            OutboxTask.MARK_OBJECTS: self.build(ObjectEnds),
            OutboxTask.START_COMPENSATION: self.later("compensations"),
        }
        if self._pauses_schedules:
            tasks[OutboxTask.PAUSE_SCHEDULE] = self.later("failure_pauses")
        return tasks

    @cached_property
    def child_ends(self) -> ChildEnds:
        from hourhand.services.runs.child_ends import ChildEnds

        return self.build(ChildEnds)

    @cached_property
    def children(self) -> Children:
        from hourhand.services.runs.children import Children

        return self.build(Children, parse=read_child, deadlocks=self.later("deadlocks"))

    @cached_property
    def members(self) -> MemberChecks:
        from hourhand.api.requests.graphs import parse_member
        from hourhand.services.runs.members import MemberChecks

        return self.build(MemberChecks, parse=parse_member)

    @cached_property
    def drafts(self) -> Drafts:
        from hourhand.services.jobs.new_job import Drafts

        return self.build(Drafts)

    @cached_property
    def compensations(self) -> Compensations:
        from hourhand.services.runs.compensation import Compensations

        return self.build(Compensations)

    @cached_property
    def results(self) -> StoredResults:
        from hourhand.services.runs.children import StoredResults

        return self.build(StoredResults)

    @cached_property
    def limits_of_jobs(self) -> LimitsAspect:
        from hourhand.services.limits.aspect import LimitsAspect

        later = self.later
        return self.build(
            LimitsAspect,
            limits=later("limits"),
            queues=later("wait_queues"),
            rates=later("rate_waits"),
        )

    @cached_property
    def limits_rule(self) -> StartRule:
        """The rule of concurrency limits."""
        from hourhand.services.limits.slot_admission import LimitsRule

        return self.build(LimitsRule, queues=self.wait_queues)

    @cached_property
    def limiters(self) -> RateLimiters:
        from hourhand.services.limits.rate_limiters import RateLimiters

        return self.build(RateLimiters)

    @cached_property
    def rate_waits(self) -> RateWaits:
        from hourhand.services.limits.rate_admission import RateWaits

        return self.build(RateWaits, worker=getattr(self, "worker", ""))

    @cached_property
    def line_rule(self) -> StartRule:
        """The rule that lets jobs reserve start times."""
        from hourhand.services.limits.rate_admission import LineRule

        return self.build(LineRule, waits=self.rate_waits)

    @cached_property
    def gate_rule(self) -> StartRule:
        """The rule that lets jobs pass the gates of their rates."""
        from hourhand.services.limits.rate_admission import GateRule

        return self.build(GateRule, waits=self.rate_waits)

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
        from hourhand.services.limits.job_limits import KnownOverrides

        return self.build(KnownOverrides)

    @cached_property
    def wait_queues(self) -> WaitQueues:
        from hourhand.services.limits.wait_queues import WaitQueues

        return self.build(WaitQueues)

    @cached_property
    def slot_waits(self) -> SlotWaits:
        from hourhand.services.limits.slot_waits import SlotWaits

        return self.build(SlotWaits)

    @cached_property
    def rechecks(self) -> Rechecks:
        from hourhand.services.limits.queue_rechecks import Rechecks

        later = self.later("deadlocks")
        return self.build(Rechecks, queues=self.wait_queues, deadlocks=later)

    @cached_property
    def deadlocks(self) -> Deadlocks:
        from hourhand.services.limits.deadlocks import Deadlocks

        return self.build(Deadlocks)

    @cached_property
    def ports(self) -> RunPorts:
        from hourhand.services.runs.results import RunPorts

        return self.build(
            RunPorts,
            compensations=self.later("compensations"),
            children=self.later("children"),
            api_url=self.settings.api_url,
        )

    @cached_property
    def runs(self) -> DurableRuns:
        from hourhand.services.runs.journals import DurableRuns

        return self.build(DurableRuns)

    @cached_property
    def completer(self) -> Completer:
        from hourhand.services.runs.completions import Completer

        return self.build(Completer)

    @cached_property
    def signals(self) -> SignalService:
        from hourhand.services.runs.signals import SignalService

        return self.build(SignalService)

    @cached_property
    def callbacks(self) -> CallbackService:
        from hourhand.services.runs.callbacks import CallbackService

        return self.build(CallbackService)

    @cached_property
    def run_views(self) -> RunViews:
        from hourhand.services.runs.views import RunViews

        return self.build(RunViews)

    @cached_property
    def run_redrives(self) -> RunRedrives:
        from hourhand.services.runs.redrives import RunRedrives

        return self.build(RunRedrives)

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
        from hourhand.services.schedules.backfills import BackfillWork

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

        return self.build(DeclaredSchedules, service=self.later("schedules"))

    @cached_property
    def schedule_sweep(self) -> ScheduleSweep:
        """What visits schedules is imported once one is due, or has to be recomputed."""
        from hourhand.services.schedules.due_schedules import ScheduleSweep
        from hourhand.services.schedules.recompute import ScheduleWalk

        walk = self.build(
            ScheduleWalk, service=self.later("schedules"), declared=self.declared_schedules
        )
        return self.build(ScheduleSweep, materialiser=self.later("materialiser"), walk=walk)

    # --- ticks ----------------------------------------------------------------------------------

    @cached_property
    def scheduling(self) -> SchedulingService:
        from hourhand.services.jobs.pauses import EndedPauses
        from hourhand.services.ticks.changed_limits import ChangedLimits
        from hourhand.services.ticks.clock_audit import ClockAudit
        from hourhand.services.ticks.dispatch import Dispatcher, InTurn
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
            ended_pauses=self.build(EndedPauses),
            changed_limits=self.build(ChangedLimits),
            is_standby=settings.leader is LeaderMode.STANDBY,
            skips_marks=settings.dispatch is DispatchMode.ECONOMY,
            counts_dead=settings.writes_metrics,
        )
