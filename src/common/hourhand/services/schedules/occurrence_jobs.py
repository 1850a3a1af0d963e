"""Creates the jobs of a schedule's nominal times: each exactly once, however often it is called.

The id of a job follows from its schedule and nominal time, so that a second call finds
it there. What is there under an older revision, and did not start, is adopted: it gets the content
of the revision that makes it now.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.groups.admission import BACKFILL_MARK
from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import Content, EventKind, Job, JobStatus
from hourhand.domain.jobs.policies import POLICY_FIELDS, Policies
from hourhand.domain.jobs.transitions import adopt, change, redrive
from hourhand.domain.limits.job_limits import keys_to_store, limits_of_handler
from hourhand.domain.schedules.occurrences import OccurrenceOrder
from hourhand.domain.schedules.schedule import (
    INCLUDED_AGAIN,
    MISFIRE_GRACE,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.times import floor_ms
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerDirectory, HandlerInfo
from hourhand.ports.job_store import Applied, JobStore, WriteResult
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.due import DueJobs
from hourhand.services.jobs.new_job import DerivedIds, key_fields, pending_job
from hourhand.services.jobs.payload_store import PayloadStore, payload_kept_until
from hourhand.services.jobs.quota_gate import QuotaGate
from hourhand.services.optional import log_newer

MAX_ADOPTIONS = 5
"""How often a job may change under our eyes while it is adopted; then it is left to the claim."""

KEPT = "its schedule changed, not its time"
"""The reason, in a job's history, of an adoption that left its generation and message."""

_MOVING = (
    *("handler", "run_at", "priority", "queue", "timeout_seconds", "tenant"),
    *("overlap", "limit_keys"),
)
"""What a job's message tells, or its place in a queue: of these a change opens a generation."""

WITHDRAWN = frozenset({SkipReason.PAUSED, SkipReason.REPLACED, SkipReason.DELETED})
"""Reasons for which a schedule cancelled a job that it may want again."""


@dataclass(frozen=True, slots=True)
class OccurrenceJobs:
    """Puts, adopts and sends jobs for schedules."""

    jobs: JobStore
    contents: PayloadStore
    due: DueJobs
    handlers: HandlerDirectory
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    ids: DerivedIds
    quotas: QuotaGate

    def make(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        orders: Sequence[OccurrenceOrder],
        *,
        now: datetime,
        actor: str,
    ) -> list[Job]:
        """Make the jobs of ``orders`` and send those that are due soon; return them, in order.

        Raises `Unavailable` where the table does not answer: what was made stays, and is found
        again when the same orders are made once more. ``now``: when they were decided.
        """
        made = self.put(schedule, definition, orders, now=now, actor=actor)
        self.send(made, actor)
        return [job for job, _ in made]

    def may_be_missed(self, orders: Sequence[OccurrenceOrder]) -> bool:
        """Whether another visit may by now have recorded one of these times as missed.

        A visit reads the schedule once more right before it creates their jobs. One that stalls
        after that read for longer than a put may take creates a job that its claim refuses.
        """
        slack = self.timings.clock_margin + self.timings.stall_bound
        latest = self.clock.now() + slack - MISFIRE_GRACE
        return any(order.nominal <= latest for order in orders)

    def put(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        orders: Sequence[OccurrenceOrder],
        *,
        now: datetime,
        actor: str,
        announced: Container[datetime] = frozenset(),
    ) -> list[tuple[Job, bool]]:
        """Make the jobs of ``orders``; return each with whether it is to be sent. Raises as `make`.

        If a quota refuses some, it makes and sends the others, and raises `QuotaExceeded`.

        They say that they are sent, so the caller must call `send` next. If it dies in between,
        the next call that puts them sends them. ``announced``: the nominal times whose jobs were
        sent for certain when an older revision made them.
        """
        if not orders:
            return []
        handler = self._handler(schedule.id, definition.handler)
        policies = definition.resolved(handler.policies)
        fields = key_fields(definition.tenant, definition.tags, definition.payload_text)
        keys = keys_to_store(limits_of_handler(handler.name, handler.limits), fields)
        ids = [self.ids.of_occurrence(schedule.key, one.nominal, one.salt) for one in orders]
        refused = self.quotas.refusals_of_new(
            dict.fromkeys(ids, definition.tenant), actor, self.jobs
        )
        made = [
            self._make(schedule, definition, policies, keys, order, now, actor)
            for order, job_id in zip(orders, ids, strict=True)
            if job_id not in refused
        ]
        # One that kept its generation has its message.
        made = [(j, sent and not (_is_kept(j) and j.occurrence in announced)) for j, sent in made]
        for refusal in refused.values():
            self.send(made, actor)
            raise refusal
        return made

    def send(self, made: Sequence[tuple[Job, bool]], actor: str) -> None:
        """Send the messages of those that are due soon, of several schedules at once."""
        self.due.announce([job for job, is_to_be_sent in made if is_to_be_sent], actor)

    def find_made(
        self, schedule: Schedule, nominal_times: Sequence[datetime]
    ) -> frozenset[datetime]:
        """Return those of ``nominal_times`` that have a job which nothing withdrew.

        A visit that died made them. One of a newer version is taken to stand. Raises
        `Unavailable`.
        """
        by_id = {self.ids.of_occurrence(schedule.key, at): at for at in nominal_times}
        if not by_id:
            return frozenset()
        found = self.jobs.get_many(list(by_id))
        standing = (job.id for job in found.values() if is_standing(job, schedule))
        return frozenset(by_id[job_id] for job_id in (*standing, *found.newer))

    def _handler(self, schedule_id: str, name: str) -> HandlerInfo:
        handler = self.handlers.find(name)
        if handler is None:
            self.telemetry.count("handlers_unknown")
            self.telemetry.warning(
                "A schedule's handler is not deployed. Its jobs wait for the handler, and then "
                "fail. Deploy the handler, or change, pause or delete the schedule.",
                schedule_id=schedule_id,
                handler=name,
            )
            return HandlerInfo(name=name)
        return handler

    def _make(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        policies: Policies,
        limit_keys: bytes | None,
        order: OccurrenceOrder,
        now: datetime,
        actor: str,
    ) -> tuple[Job, bool]:
        """Return the job, and whether its message is to be sent: it is new, or may lack one."""
        # A tick decides all at one time; this job may be created much later.
        now = max(now, self.clock.now())
        job_id = self.ids.of_occurrence(schedule.key, order.nominal, order.salt)
        kept_until = payload_kept_until(order.run_at, policies, self.timings)
        payload = self.contents.keep_payload(job_id, definition.payload_text, kept_until)
        made = self._job(schedule, definition, policies, order, payload, now, actor)
        wanted = replace(made, limit_keys=limit_keys)
        try:
            result = self.due.put(wanted, actor, announces=False)
        except WrittenByNewer as newer:
            # It is there, and sent by a newer version: the schedule must not wait for that.
            log_newer(self.telemetry, newer)
            return wanted, False
        if isinstance(result, Applied):
            self.telemetry.count("occurrences_made")
            return result.job, True
        if result.current is None:
            # It was deleted by TTL as we looked: it had ended long ago.
            return wanted, False
        return self._adopt(result.current, wanted, actor)

    def _job(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        policies: Policies,
        order: OccurrenceOrder,
        payload: Content,
        now: datetime,
        actor: str,
    ) -> Job:
        job_id = self.ids.of_occurrence(schedule.key, order.nominal, order.salt)
        run_at = floor_ms(order.run_at)
        seconds = definition.expires_after_seconds
        may_be_late = seconds is not None and not actor.startswith(BACKFILL_MARK)
        return pending_job(
            job_id,
            definition.handler,
            policies,
            payload,
            payload_kept_until(run_at, policies, self.timings),
            run_at=run_at,
            now=now,
            actor=actor,
            reason=order.reason,
            expires_at=order.nominal + timedelta(seconds=seconds or 0) if may_be_late else None,
            tenant=definition.tenant,
            tags=definition.tags,
            schedule_id=schedule.id,
            schedule_revision=order.revision,
            schedule_incarnation=schedule.incarnation,
            occurrence=order.nominal,
            previous_occurrence=order.previous,
            interval_start=order.interval_start,
            overlap=order.overlap,
            pauses_schedule=definition.pause_on_failure,
            trace_id=trace_id_for(job_id),
        )

    def _adopt(self, current: Job, wanted: Job, actor: str) -> tuple[Job, bool]:
        """Bring a job of an older revision up to date, unless it began or is not the schedule's."""
        sets = _content_of(wanted)
        for _ in range(MAX_ADOPTIONS):
            if not is_adoptable(current, wanted):
                return current, may_lack_message(current)
            lacks_message = may_lack_message(current)
            if current.status.is_waiting and _keeps_its_message(current, wanted):
                result = self._keep(current, sets, actor)
            elif current.status is JobStatus.CANCELLED:
                build = partial(redrive, sets=sets, reason=INCLUDED_AGAIN)
                result = self.due.move(current, wanted.run_at, build, actor, announces=False)
            else:
                build = partial(change, sets=sets, reason="its schedule changed")
                result = self.due.move(current, wanted.run_at, build, actor, announces=False)
            if isinstance(result, Applied):
                self.telemetry.count("occurrences_adopted")
                return result.job, lacks_message or not _is_kept(result.job)
            if result.current is None:
                return wanted, False
            current = result.current
        return current, False

    def _keep(self, job: Job, sets: Mapping[str, Any], actor: str) -> WriteResult:
        """Bring a job up to date that keeps its generation, and so its message."""
        rest = {name: value for name, value in sets.items() if name not in _MOVING}
        now = self.clock.now()
        return self.due.make(
            job, lambda current: adopt(current, now=now, actor=actor, sets=rest, reason=KEPT)
        )


def is_standing(job: Job, schedule: Schedule) -> bool:
    """Whether a job that is there is no leftover of a revision that ``schedule`` replaced."""
    if job.schedule_revision in {None, schedule.revision} or not _is_open(job):
        return True
    return job.occurrence is not None and job.occurrence < schedule.effective_from


def may_lack_message(job: Job) -> bool:
    """Whether nothing happened to a waiting job since its put: its maker may have died then.

    Refiling by a maker that stalled is part of the put. A second message costs a refused
    claim; none at all would make the job a minute late.
    """
    return job.status.is_waiting and all(e.kind is EventKind.REFILED for e in job.history[1:])


def is_adoptable(current: Job, wanted: Job) -> bool:
    """Whether a job that is there is the schedule's own of an older revision, and did not start."""
    if wanted.schedule_revision is None or current.schedule_revision is None:
        return False
    return current.schedule_revision < wanted.schedule_revision and _is_open(current)


def _is_open(job: Job) -> bool:
    """Whether a job did not start, and waits or was withdrawn by its schedule."""
    reason = job.history[-1].reason if job.history else ""
    is_withdrawn = job.status is JobStatus.CANCELLED and reason in WITHDRAWN
    return job.token == 0 and (job.status.is_waiting or is_withdrawn)


def _keeps_its_message(current: Job, wanted: Job) -> bool:
    """Whether what its schedule changed of a waiting job leaves its message as it is."""
    # Its queue may have been raised as it aged.
    names = [name for name in _MOVING if name != "queue"]
    return all(getattr(current, name) == getattr(wanted, name) for name in names)


def _is_kept(job: Job) -> bool:
    return job.history[-1].reason == KEPT


def _content_of(wanted: Job) -> dict[str, Any]:
    names = (
        "handler",
        "run_at",
        "payload",
        "payload_kept_until",
        *POLICY_FIELDS,
        "queue",
        "expires_at",
        "tenant",
        "tags",
        "schedule_revision",
        "previous_occurrence",
        "interval_start",
        "overlap",
        "limit_keys",
        "pauses_schedule",
    )
    return {name: getattr(wanted, name) for name in names}
