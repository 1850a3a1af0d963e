"""Compensation: the registered reversals of a run's steps, run backwards as a job of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from hourhand.domain.durable.calls import RunEnds
from hourhand.domain.durable.names import step_key
from hourhand.domain.durable.records import Journal, Record, RecordKind, RecordOutcome
from hourhand.domain.durable.reversals import (
    COMPENSATION,
    NOT_REPLAYABLE,
    compensation_id,
)
from hourhand.domain.ids import canonical_json, trace_id_for
from hourhand.domain.jobs.job import Content, EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.jobs.transitions import mark_compensated
from hourhand.ports.durable_run import ReversedRun
from hourhand.ports.job_store import Applied
from hourhand.services.durable.invocation import Invocation
from hourhand.services.durable.runs import DurableRuns, scope_of
from hourhand.services.jobs.due import DueJobs, make_transition
from hourhand.services.jobs.payload_store import PayloadStore


@dataclass(frozen=True, slots=True)
class Compensations:
    """Starts the compensation of runs that ended, and opens those runs for it."""

    runs: DurableRuns
    due: DueJobs
    contents: PayloadStore

    def start(self, job: Job) -> bool:
        """Put the compensation of a run that ended, if one of its steps may have to be reversed.

        Returns whether one may. Safe to repeat: its id follows from the run, the segment and the
        round. Raises `Unavailable`.
        """
        failure = (job.last_failure or "").partition(":")[0]
        # Of a run that was cancelled or expired, the last failure is that of an earlier round.
        is_unfit = job.status is JobStatus.DEAD and failure in NOT_REPLAYABLE
        if is_unfit or not job.is_durable_run:
            return False
        try:
            records = self.runs.read(job)
        except RunEnds:
            return False
        if not any(map(may_need_reversal, records)):
            return False
        now = self.runs.ports.clock.now()
        job_id = compensation_id(job.id, job.segment, job.round)
        text = canonical_json({"run": job.id, "segment": job.segment, "round": job.round})
        self.due.put(
            Job(
                id=job_id,
                handler=COMPENSATION,
                status=JobStatus.PENDING,
                run_at=now,
                created_at=now,
                payload=Content(size_bytes=len(text), text=text),
                priority=job.priority,
                queue=job.priority,
                timeout_seconds=job.timeout_seconds,
                retention_seconds=job.retention_seconds,
                tenant=job.tenant,
                trace_id=job.trace_id or trace_id_for(job_id),
                history=(
                    HistoryEvent(
                        kind=EventKind.SUBMITTED,
                        at=now,
                        status=JobStatus.PENDING,
                        actor="compensation",
                        reason=job.id[:40],
                    ),
                ),
            ),
            "compensation",
        )
        return True

    def open(self, payload_text: str) -> ReversedRun | None:
        """Mark a run as compensated and open its journal; ``None``: it was redriven, or is gone.

        The mark comes first: of compensation and redrive exactly one happens. Raises
        `Unavailable`.
        """
        asked = json.loads(payload_text)
        job = self.runs.ports.jobs.get(asked["run"])
        if job is None or (job.round, job.segment) != (asked["round"], asked["segment"]):
            return None
        if job.compensated_round is None:
            keep_until = records_end(job)
            marked = make_transition(
                self.runs.ports.jobs,
                job,
                lambda current: mark_compensated(current, keep_until=keep_until),
            )
            if not isinstance(marked, Applied):
                current = marked.current
                if current is None or current.compensated_round != asked["round"]:
                    return None
            else:
                job = marked.job
        records = self.runs.read(job)
        # Without resets: a step that was reset, and did not run again, had its effect all the same.
        journal = Journal(records, round_=job.round, resets={})
        scope = scope_of(job, records_end(job) or self.runs.ports.clock.now())
        run = Invocation(self.runs.ports, job, journal, scope, replays_only=True)
        return ReversedRun(
            job=job,
            payload_text=self.contents.read(job.id, job.payload) or "null",
            run=run,
            outcomes=_outcomes(run, records),
        )


def may_need_reversal(record: Record) -> bool:
    """Whether a step with a compensation may have had its effect."""
    if record.kind is not RecordKind.STEP or not record.is_compensated:
        return False
    return record.is_unknown or record.outcome in {
        RecordOutcome.SUCCEEDED,
        RecordOutcome.STARTED,
    }


def _outcomes(run: Invocation, records: list[Record]) -> Mapping[str, tuple[str, str | None]]:
    """Return the key, and the result or ``None``, of each step that may have to be reversed."""
    return {
        record.path: (
            step_key(run.run_id, run.segment, record.path, record.reset_round),
            run.text_of(record) if record.outcome is RecordOutcome.SUCCEEDED else None,
        )
        for record in records
        if may_need_reversal(record)
    }
