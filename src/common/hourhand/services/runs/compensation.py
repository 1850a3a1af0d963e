"""Compensation: the registered reversals of a run's steps, run backwards as a job of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from hourhand.domain.ids import canonical_json, trace_id_for
from hourhand.domain.jobs.job import Content, EventKind, HistoryEvent, Job, JobStatus
from hourhand.domain.jobs.run_times import records_end
from hourhand.domain.jobs.transitions import mark_compensated
from hourhand.domain.runs.answers import RunEnds
from hourhand.domain.runs.effects import effects_of
from hourhand.domain.runs.names import step_key
from hourhand.domain.runs.records import Journal, Record, RecordKind, record_key, record_of
from hourhand.domain.runs.reversals import (
    COMPENSATION,
    NOT_REPLAYABLE,
    compensation_id,
    given_up_path,
)
from hourhand.domain.runs.writes import put_record
from hourhand.domain.times import to_ms
from hourhand.ports.durable_run import Effect, ReversedRun
from hourhand.ports.job_store import Applied, JobDetails
from hourhand.services.jobs.aspects import DONE, Settled
from hourhand.services.jobs.due import DueJobs, make_transition
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.journals import DurableRuns, scope_of
from hourhand.services.runs.records import RunRecords
from hourhand.services.runs.results import Values


@dataclass(frozen=True, slots=True)
class Compensations:
    """Starts the compensation of runs that ended, and opens those runs for it."""

    runs: DurableRuns
    due: DueJobs
    contents: PayloadStore

    def settle(self, ended: JobDetails) -> Settled:
        """Start the compensation of a run that ended, which is kept as long as its journal.

        Raises `Unavailable`.
        """
        return Settled(keep_until=records_end(ended.job)) if self.start(ended.job) else DONE

    def start(self, job: Job, *, is_given_up: bool = False) -> bool:
        """Put the compensation of a run that ended, if one of its steps may have to be reversed.

        Returns whether one may. Safe to repeat: its id follows from the run, the segment and the
        round. ``is_given_up``: no code that fits its journal will carry it on. Raises
        `Unavailable`.
        """
        failure = (job.last_failure or "").partition(":")[0]
        # Of a run that was cancelled or expired, the last failure is that of an earlier round.
        is_unfit = job.status is JobStatus.DEAD and failure in NOT_REPLAYABLE
        if (is_unfit and not is_given_up) or not job.is_durable_run:
            return False
        try:
            records = self.runs.read(job)
        except RunEnds:
            return False
        if not any(map(may_need_reversal, records)):
            return False
        now = self.runs.ports.clock.now()
        job_id = compensation_id(job, job.segment, job.round)
        place = {"segment": job.segment, "round": job.round}
        text = canonical_json({"run": job.id, "created_ms": to_ms(job.created_at), **place})
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

    def give_up(self, job: Job) -> None:
        """Let the compensation of a run that ended go on after a redrive from the top.

        Before that redrive, which gives the run another segment, and perhaps another payload: what
        a replay of this one needs is recorded, and the compensation put. Raises `Unavailable`.
        """
        if not self.start(job, is_given_up=True):
            return
        scope = scope_of(job, records_end(job) or self.runs.ports.clock.now())
        path, text = given_up_path(job.segment), self.contents.read(job.id, job.payload) or "null"
        kept = Values(self.runs.ports, scope).keep(path, text, "payload")
        allowed = scope.may_put(job.round + 1)
        # Those of all segments lie in the first one.
        update = put_record(
            replace(scope, segment=0), RecordKind.RESET, path, 0, kept, allowed=allowed
        )
        self.runs.ports.side_items.write_item(update)

    def open(self, payload_text: str) -> ReversedRun | None:
        """Mark a run as compensated and open its journal; ``None``: it was redriven.

        The mark comes first: of compensation and redrive exactly one happens. A segment that was
        given up needs none. Raises `Unavailable`, and `RunEnds` if the run is gone.
        """
        asked = json.loads(payload_text)
        place, ports = (asked["round"], asked["segment"]), self.runs.ports
        job = ports.jobs.get(asked["run"])
        if job and to_ms(job.created_at) != asked["created_ms"]:
            job = None
        if job and (job.round, job.segment) == place and job.compensated_round is None:
            keep_until = records_end(job)
            marked = make_transition(
                ports.jobs, job, lambda current: mark_compensated(current, keep_until=keep_until)
            )
            job = marked.job if isinstance(marked, Applied) else marked.current
        if job is None:
            raise RunEnds("JournalExpired", "The run is gone: its steps cannot be reversed.")
        if job.segment > asked["segment"]:
            given_up = self._given_up(job, asked["segment"])
            if given_up is None or given_up.round != asked["round"]:
                return None
            job = replace(job, round=asked["round"], segment=asked["segment"])
            scope = scope_of(job, ports.clock.now())
            text = Values(ports, scope).text_of(given_up)
        elif (job.round, job.segment, job.compensated_round) != (*place, asked["round"]):
            return None
        else:
            scope = scope_of(job, records_end(job) or ports.clock.now())
            text = self.contents.read(job.id, job.payload)
        records = self.runs.read(job)
        # Without resets: a step that was reset, and did not run again, had its effect all the same.
        journal = Journal(records, round_=job.round, resets={})
        run = Invocation(ports, job, journal, scope, replays_only=True)
        return ReversedRun(
            job=job,
            payload_text=text or "null",
            run=run,
            effects={one.path: _effects(run, one) for one in records if may_need_reversal(one)},
        )

    def _given_up(self, job: Job, segment: int) -> Record | None:
        key = record_key(job.id, 0, RecordKind.RESET, given_up_path(segment))
        item = self.runs.ports.side_items.read_item(key)
        record = None if item is None else record_of(item)
        return record if record and record.created_ms == to_ms(job.created_at) else None


def may_need_reversal(record: Record) -> bool:
    """Whether a step with a compensation may have had its effect."""
    return record.kind is RecordKind.STEP and bool(effects_of(record))


def _effects(run: RunRecords, record: Record) -> tuple[Effect, ...]:
    """Return the effects of a step that may have to be reversed, the newest first."""
    effects = effects_of(record)
    return tuple(
        (
            f"{record.path}:{key_round}" if place else record.path,
            step_key(run.run_id, run.segment, record.path, key_round),
            None if (result := effects[key_round]) is None else run.text_of(result),
        )
        for place, key_round in enumerate(sorted(effects, reverse=True))
    )
