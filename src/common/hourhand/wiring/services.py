"""Every service, wired from settings and adapters when it is first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from hourhand.domain.jobs.job import TICK, Job
from hourhand.settings import DispatchMode, LeaderMode, Settings
from hourhand.wiring.adapters import Adapters

if TYPE_CHECKING:
    from hourhand.domain.groups.overlap import Overlap
    from hourhand.services.groups.waiters import Waiters
    from hourhand.services.jobs.due import DueJobs
    from hourhand.services.jobs.new_job import DerivedIds, PayloadCheck
    from hourhand.services.jobs.operations import OperationsService
    from hourhand.services.jobs.payload_store import PayloadStore
    from hourhand.services.jobs.recovery import RecoveryService
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


class Wiring:
    """The services of one function. Each is made, and its module imported, at its first use."""

    def __init__(
        self,
        settings: Settings,
        adapters: Adapters,
        *,
        pauses_schedules: bool = True,
        check_payload: PayloadCheck | None = None,
    ) -> None:
        """``pauses_schedules`` is false in a worker, which may not write schedules.

        ``check_payload`` judges what callers send, so only the API has one.
        """
        self.settings = settings
        self.adapters = adapters
        self.timings = settings.timings
        self._pauses_schedules = pauses_schedules
        self._check_payload = check_payload

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
    def due(self) -> DueJobs:
        from hourhand.services.jobs.due import DueJobs

        return DueJobs(
            jobs=self.adapters.jobs,
            control=self.adapters.control,
            queues=self.adapters.queues,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
        )

    @cached_property
    def waiters(self) -> Waiters:
        from hourhand.services.groups.waiters import Waiters

        return Waiters(
            jobs=self.adapters.jobs,
            slots=self.adapters.slots,
            due=self.due,
            clock=self.adapters.clock,
            timings=self.timings,
            telemetry=self.adapters.telemetry,
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
            wake_next=self._wake_next,
            pause_schedule=self._pause_schedule_of if self._pauses_schedules else None,
        )

    def _wake_next(self, overlap: Overlap, actor: str) -> None:
        """What wakes waiting jobs is imported once a job of a group has ended."""
        self.waiters.wake_next(overlap, actor)

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
            check_payload=self.check_payload,
        )

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
            slots=self.adapters.slots,
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
        from hourhand.services.ticks.clock_audit import ClockAudit
        from hourhand.services.ticks.dispatch import Dispatcher, InTurn
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
            ),
            recovery=self.recovery,
            schedule_sweep=self.schedule_sweep,
            clock=adapters.clock,
            timings=timings,
            telemetry=telemetry,
            is_standby=settings.leader is LeaderMode.STANDBY,
            skips_marks=settings.dispatch is DispatchMode.ECONOMY,
            counts_dead=settings.writes_metrics,
        )
