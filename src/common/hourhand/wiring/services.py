"""Every service, wired from settings and adapters when it is first asked for."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from hourhand.domain.jobs.job import TICK, Job
from hourhand.domain.limits.declarations import Concurrency
from hourhand.domain.times import rfc3339
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS
from hourhand.settings import DispatchMode, LeaderMode, Settings
from hourhand.wiring.adapters import Adapters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from hourhand.api.requests import JobSubmission
    from hourhand.domain.groups.overlap import Overlap
    from hourhand.domain.jobs.waiting import ReservedStart
    from hourhand.domain.limits.declarations import Limit
    from hourhand.ports.durable_run import ReversedRun
    from hourhand.ports.handler_directory import HandlerDirectory
    from hourhand.ports.handler_runner import TakenStart
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
    from hourhand.services.jobs.recovery import RecoveryService
    from hourhand.services.jobs.unique_jobs import UniqueRecords
    from hourhand.services.jobs.waiter_records import WaiterRecords
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


def _parse_submission(spec: Mapping[str, Any]) -> JobSubmission:
    """Read what a child states. Imports what reads requests: 0.2 s, once a run has children."""
    from hourhand.api.requests import JobSubmission

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
        self._cancelled_together = cancelled_together

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

        return PayloadStore(self.adapters.jobs, self.adapters.objects)

    @cached_property
    def pauses(self) -> KnownPauses:
        from hourhand.services.jobs.known_pauses import KnownPauses

        return KnownPauses(self.adapters.control, self.adapters.clock, self.timings)

    @cached_property
    def waiter_records(self) -> WaiterRecords:
        from hourhand.services.jobs.waiter_records import WaiterRecords

        return WaiterRecords(self.adapters.side_items, self.adapters.telemetry)

    @cached_property
    def parking(self) -> Parking:
        from hourhand.services.jobs.parking import Parking

        return Parking(
            jobs=self.adapters.jobs,
            waiters=self.waiter_records,
            due=self.due,
            clock=self.adapters.clock,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def due(self) -> DueJobs:
        from hourhand.services.jobs.due import DueJobs

        return DueJobs(
            jobs=self.adapters.jobs,
            control=self.adapters.control,
            queues=self.adapters.queues,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
            pauses=self.pauses,
            waiters=self.waiter_records,
            after_move=self._after_move,
        )

    @cached_property
    def recovery(self) -> RecoveryService:
        from hourhand.services.jobs.recovery import RecoveryService

        return RecoveryService(
            jobs=self.adapters.jobs,
            contents=self.contents,
            due=self.due,
            queues=self.adapters.queues,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
            waiters=self.waiter_records,
            pause_schedule=self._pause_schedule_of if self._pauses_schedules else None,
            release_slots=self.release_slots,
            start_compensation=self._start_compensation,
            cancel_children=self._cancel_children,
            notify_parent=self._notify_parent,
        )

    def _cancel_children(self, run: Job) -> bool:
        """What cancels children is imported once a durable run ended without success."""
        return self.children.cancel_all(run)

    def _notify_parent(self, child: Job, result_text: str | None) -> None:
        """What notifies runs is imported once a child ended."""
        self.child_ends.report(child, result_text)

    @cached_property
    def child_ends(self) -> ChildEnds:
        from hourhand.services.durable.child_ends import ChildEnds

        return ChildEnds(self.adapters.side_items, self.completer)

    @cached_property
    def children(self) -> Children:
        from hourhand.services.durable.children import Children

        return Children(
            jobs=self.adapters.jobs,
            side_items=self.adapters.side_items,
            contents=self.contents,
            due=self.due,
            operations=self.operations,
            drafts=self.drafts,
            clock=self.adapters.clock,
            parse=_parse_submission,
            cancelled_together=self._cancelled_together,
        )

    @cached_property
    def member_checks(self) -> MemberChecks:
        from hourhand.api.requests import parse_member
        from hourhand.services.durable.members import MemberChecks

        return MemberChecks(self.drafts, self.adapters.clock, parse_member)

    def read_results(self, job: Job, payload_text: str) -> str:
        """Replace what stands for results. What does so is imported once a job needs it."""
        from hourhand.services.durable.stored_results import StoredResults

        return StoredResults(self.children).resolve(job, payload_text)

    @cached_property
    def drafts(self) -> Drafts:
        from hourhand.services.jobs.drafts import Drafts

        return Drafts(self.contents, self.adapters.handlers, self.timings, self.check_payload)

    def _start_compensation(self, job: Job) -> bool:
        """What starts compensations is imported once a durable run ended without success."""
        return self.compensations.start(job)

    @cached_property
    def compensations(self) -> Compensations:
        from hourhand.services.durable.compensation import Compensations

        return Compensations(self._durable_runs, self.due, self.contents)

    def _after_move(self, before: Job, after: Job) -> None:
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

        return LimitsRule(
            jobs=self.adapters.jobs,
            limits=self.job_limits,
            tables=self.slot_tables,
            queues=self.wait_queues,
            full=FullLimits(self.slot_tables, self.recovery, worker),
            telemetry=self.adapters.telemetry,
            worker=worker,
        )

    def holders_in_group(self, overlap: Overlap) -> Sequence[str]:
        """Return the ids of the jobs that hold the slots of a group, or held them last."""
        slots = self._slots_of_group(overlap)
        return [
            job_id
            for shard in slots.shards
            for job_id in self.slot_tables.view(shard, 0).record.holders
        ]

    def count_waiting(self, overlap: Overlap, most: int) -> int:
        """Count the jobs of a group that wait for a slot, up to ``most``."""
        return self.slot_tables.count_waiting(self._slots_of_group(overlap), most)

    def _slots_of_group(self, overlap: Overlap) -> Slots:
        from hourhand.domain.limits.job_limits import overlap_limit

        slots = self.slot_tables.slots_of(overlap_limit(overlap))
        assert slots is not None
        return slots

    @cached_property
    def rate_limiters(self) -> RateLimiters:
        from hourhand.services.limits.rate_limiters import RateLimiters

        adapters = self.adapters
        return RateLimiters(
            adapters.side_items,
            adapters.clock,
            adapters.randomness,
            self.overrides,
            adapters.telemetry,
        )

    def rate_waits(self, worker: str) -> RateWaits:
        """Return what lets the jobs of a worker wait for their rates."""
        from hourhand.services.limits.rates_rule import RateWaits

        telemetry = self.adapters.telemetry
        return RateWaits(self.job_limits, self.rate_limiters, self.due, telemetry, worker)

    def take_job_start(
        self,
        job: Job,
        name: str,
        cost: float,
        longest: timedelta,
        reserved: dict[str, ReservedStart],
    ) -> TakenStart:
        """Take a start for a handler. What does so is imported once a handler takes one."""
        return self.handler_starts.take(job, name, cost, longest, reserved)

    @cached_property
    def handler_starts(self) -> HandlerStarts:
        from hourhand.services.limits.handler_starts import HandlerStarts

        return HandlerStarts(self.job_limits, self.rate_limiters)

    def has_rate(self, job: Job) -> bool:
        """Whether a rate limit counts each start of ``job``. Reads nothing."""
        return self._has_limits(job) and self.job_limits.has_rate(job)

    def may_block_others(self, job: Job) -> bool:
        """Whether other handlers may share slots that a job has. Reads nothing."""
        return self._has_limits(job) and self.job_limits.may_block_others(job)

    def hold_rates(self, job: Job, until: datetime) -> None:
        """Let no job start that has the rate limits of ``job``."""
        if self._has_limits(job):
            self.rate_waits("").hold(job, until)

    def parent_rule(self, worker: str) -> StartRule:
        """Return the rule of children of a worker."""
        from hourhand.services.durable.parent_rule import ParentRule

        telemetry, margin = self.adapters.telemetry, self.timings.clock_margin
        return ParentRule(self.adapters.jobs, self.recovery, telemetry, worker, margin)

    def line_rule(self, worker: str) -> StartRule:
        """Return the rule that lets jobs reserve start times."""
        from hourhand.services.limits.rates_rule import LineRule

        return LineRule(self.rate_waits(worker))

    def gate_rule(self, worker: str) -> StartRule:
        """Return the rule that lets jobs pass the gates of their rates."""
        from hourhand.services.limits.rates_rule import GateRule

        return GateRule(self.rate_waits(worker))

    @cached_property
    def job_limits(self) -> JobLimits:
        from hourhand.services.limits.job_limits import JobLimits

        return JobLimits(self.adapters.handlers, self.contents)

    @cached_property
    def slot_tables(self) -> SlotTables:
        from hourhand.services.limits.slot_tables import SlotTables

        adapters = self.adapters
        return SlotTables(adapters.side_items, adapters.jobs, adapters.clock, self.overrides)

    @cached_property
    def overrides(self) -> KnownOverrides:
        from hourhand.services.limits.known_overrides import KnownOverrides

        return KnownOverrides(self.adapters.control, self.adapters.clock, self.timings)

    @cached_property
    def wait_queues(self) -> WaitQueues:
        from hourhand.services.limits.wait_queues import WaitQueues

        return WaitQueues(
            limits=self.job_limits,
            tables=self.slot_tables,
            due=self.due,
            queues=self.adapters.queues,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def slot_waits(self) -> SlotWaits:
        from hourhand.services.limits.slot_waits import SlotWaits

        return SlotWaits(self.job_limits, self.slot_tables)

    def rechecks(self) -> Rechecks:
        """Return what rechecks the wait queues of one sweep."""
        from hourhand.services.limits.rechecks import Rechecks

        adapters = self.adapters
        turn = rfc3339(adapters.clock.now())
        return Rechecks(self.job_limits, self.wait_queues, adapters.telemetry, turn)

    @cached_property
    def slot_release(self) -> SlotRelease:
        from hourhand.services.limits.slot_release import SlotRelease

        return SlotRelease(self.job_limits, self.wait_queues, self.adapters.telemetry)

    def durable_runs(self) -> DurableRuns:
        """Return what opens the journals of runs: imported once there is a durable run."""
        return self._durable_runs

    @cached_property
    def run_ports(self) -> RunPorts:
        from hourhand.services.durable.values import RunPorts

        adapters = self.adapters
        return RunPorts(
            jobs=adapters.jobs,
            side_items=adapters.side_items,
            objects=adapters.objects,
            clock=adapters.clock,
            randomness=adapters.randomness,
            telemetry=adapters.telemetry,
            open_reversed=self._open_reversed,
            children=lambda: self.children,
            api_url=self.settings.api_url,
        )

    def _open_reversed(self, payload_text: str) -> ReversedRun | None:
        return self.compensations.open(payload_text)

    @cached_property
    def _durable_runs(self) -> DurableRuns:
        from hourhand.services.durable.runs import DurableRuns

        return DurableRuns(self.run_ports)

    @cached_property
    def completer(self) -> Completer:
        from hourhand.services.durable.completions import Completer

        return Completer(self.adapters.jobs, self.due, self.adapters.telemetry)

    @cached_property
    def signals(self) -> SignalService:
        from hourhand.services.durable.signals import SignalService

        return SignalService(self.run_ports, self.completer, self.adapters.handlers)

    @cached_property
    def callbacks(self) -> CallbackService:
        from hourhand.services.durable.callbacks import CallbackService

        return CallbackService(self.run_ports, self.completer)

    @cached_property
    def run_views(self) -> RunViews:
        from hourhand.services.durable.views import RunViews

        return RunViews(self._durable_runs, self.adapters.handlers, self.contents)

    @cached_property
    def run_redrives(self) -> RunRedrives:
        from hourhand.services.durable.redrives import RunRedrives

        return RunRedrives(
            self._durable_runs, self.operations, self.adapters.handlers, self.contents
        )

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

        return OperationsService(
            jobs=self.adapters.jobs,
            contents=self.contents,
            due=self.due,
            recovery=self.recovery,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
            handlers=self.adapters.handlers,
            unique=self.unique_records,
            check_payload=self.check_payload,
        )

    @cached_property
    def unique_records(self) -> UniqueRecords:
        from hourhand.services.jobs.unique_jobs import UniqueRecords

        return UniqueRecords(self.adapters.side_items, self.adapters.jobs, self.ids)

    # --- schedules ------------------------------------------------------------------------------

    @cached_property
    def recurrences(self) -> CompiledRules:
        from hourhand.services.schedules.compiled_rules import CompiledRules

        adapters = self.adapters
        return CompiledRules(adapters.calendars, adapters.clock, self.timings, adapters.telemetry)

    @cached_property
    def recording(self) -> ScheduleHistory:
        from hourhand.services.schedules.history import ScheduleHistory

        return ScheduleHistory(self.adapters.schedules, self.timings, self.adapters.telemetry)

    @cached_property
    def withdrawal(self) -> Withdrawal:
        from hourhand.services.schedules.withdrawal import Withdrawal

        return Withdrawal(
            self.adapters.jobs,
            self.recording,
            self.adapters.clock,
            self.adapters.randomness,
            self.adapters.telemetry,
            self.ids,
        )

    @cached_property
    def failure_pauses(self) -> FailurePauses:
        from hourhand.services.schedules.failure_pauses import FailurePauses

        return FailurePauses(
            schedules=self.adapters.schedules,
            withdrawal=self.withdrawal,
            clock=self.adapters.clock,
            randomness=self.adapters.randomness,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def occurrence_jobs(self) -> OccurrenceJobs:
        from hourhand.services.schedules.occurrence_jobs import OccurrenceJobs

        return OccurrenceJobs(
            jobs=self.adapters.jobs,
            contents=self.contents,
            due=self.due,
            handlers=self.adapters.handlers,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
            ids=self.ids,
        )

    @cached_property
    def backfill_work(self) -> BackfillWork:
        from hourhand.services.schedules.backfill_work import BackfillWork

        return BackfillWork(
            schedules=self.adapters.schedules,
            jobs=self.adapters.jobs,
            recurrences=self.recurrences,
            occurrence_jobs=self.occurrence_jobs,
            operations=self.operations,
            randomness=self.adapters.randomness,
        )

    @cached_property
    def materialiser(self) -> Materialiser:
        from hourhand.services.schedules.visit import Materialiser

        return Materialiser(
            schedules=self.adapters.schedules,
            count_waiting=self.count_waiting,
            recurrences=self.recurrences,
            occurrence_jobs=self.occurrence_jobs,
            backfills=self.backfill_work,
            randomness=self.adapters.randomness,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def schedule_views(self) -> ScheduleViews:
        from hourhand.services.schedules.views import ScheduleViews

        return ScheduleViews(
            schedules=self.adapters.schedules,
            recurrences=self.recurrences,
            clock=self.adapters.clock,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def schedules(self) -> ScheduleService:
        from hourhand.services.schedules.effects import ChangeEffects
        from hourhand.services.schedules.history import UndecidedTimes
        from hourhand.services.schedules.new_schedule import ScheduleCheck
        from hourhand.services.schedules.operations import ScheduleService
        from hourhand.services.schedules.triggers import Triggers

        adapters = self.adapters
        return ScheduleService(
            schedules=adapters.schedules,
            check=ScheduleCheck(
                adapters.handlers, adapters.calendars, self.recurrences, self.check_payload
            ),
            views=self.schedule_views,
            effects=ChangeEffects(
                schedules=adapters.schedules,
                materialiser=self.materialiser,
                withdrawal=self.withdrawal,
                clock=adapters.clock,
                timings=self.timings,
                telemetry=adapters.telemetry,
            ),
            undecided=UndecidedTimes(self.recurrences, self.occurrence_jobs),
            triggers=Triggers(
                jobs=adapters.jobs,
                occurrence_jobs=self.occurrence_jobs,
                recording=self.recording,
                clock=adapters.clock,
                randomness=adapters.randomness,
                telemetry=adapters.telemetry,
            ),
            clock=adapters.clock,
            randomness=adapters.randomness,
            timings=self.timings,
            telemetry=adapters.telemetry,
        )

    @cached_property
    def declared_schedules(self) -> DeclaredSchedules:
        from hourhand.services.schedules.declarations import DeclaredSchedules
        from hourhand.services.schedules.recompute import write_walk

        adapters = self.adapters
        return DeclaredSchedules(
            handlers=adapters.handlers,
            deployment=adapters.deployment,
            service=lambda: self.schedules,
            write=lambda walk: write_walk(adapters.schedules, adapters.randomness, walk),
            randomness=adapters.randomness,
            timings=self.timings,
            telemetry=adapters.telemetry,
        )

    @cached_property
    def schedule_sweep(self) -> ScheduleSweep:
        """What visits schedules is imported once one is due, or has to be recomputed."""
        from hourhand.services.schedules.due_schedules import ScheduleSweep
        from hourhand.services.schedules.recompute import ScheduleWalk

        return ScheduleSweep(
            schedules=self.adapters.schedules,
            materialiser=lambda: self.materialiser,
            walk=ScheduleWalk(
                schedules=self.adapters.schedules,
                calendars=self.adapters.calendars,
                recurrences=self.recurrences,
                recompute=lambda schedule_id: self.schedules.recompute(schedule_id, actor=TICK),
                declare=self.declared_schedules.step,
                randomness=self.adapters.randomness,
                timings=self.timings,
                telemetry=self.adapters.telemetry,
            ),
            telemetry=self.adapters.telemetry,
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

        settings, adapters, timings = self.settings, self.adapters, self.timings
        telemetry = adapters.telemetry
        return SchedulingService(
            jobs=adapters.jobs,
            control=adapters.control,
            queues=adapters.queues,
            fan_out=FanOut(adapters.invoker, adapters.clock, telemetry, settings.fan_out_entries),
            leadership=Leadership(adapters.control, adapters.clock, timings, telemetry),
            watermark=WatermarkKeeper(adapters.control, adapters.clock, timings, telemetry),
            clock_audit=ClockAudit(adapters.queues, adapters.clock, timings, telemetry),
            dispatcher=Dispatcher(
                adapters.pipeline or InTurn(adapters.jobs, adapters.queues),
                adapters.clock,
                telemetry,
                timings.delay_rounding,
                self.pauses,
            ),
            recovery=self.recovery,
            parking=self.parking,
            new_rechecks=self.rechecks,
            pauses=self.pauses,
            ended_pauses=EndedPauses(
                adapters.control, self.waiter_records, adapters.clock, timings, telemetry
            ),
            changed_limits=ChangedLimits(adapters.handlers, self.overrides, timings),
            schedule_sweep=self.schedule_sweep,
            clock=adapters.clock,
            timings=timings,
            telemetry=telemetry,
            is_standby=settings.leader is LeaderMode.STANDBY,
            skips_marks=settings.dispatch is DispatchMode.ECONOMY,
            counts_dead=settings.writes_metrics,
        )
