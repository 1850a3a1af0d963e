"""Signals for runs, as callers send them."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.errors import NotDurable, NotFound, RunEnded
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.run_times import DEFAULT_RUN, journal_end, signals_end
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.records import VALUE_BYTES
from hourhand.domain.runs.signals import Signal, put_signal
from hourhand.domain.runs.writes import Scope
from hourhand.domain.times import to_ms
from hourhand.ports.handler_directory import BUILT_IN_HANDLERS, HandlerDirectory
from hourhand.ports.job_store import JobStore
from hourhand.services.runs.completions import Completer
from hourhand.services.runs.journals import scope_of
from hourhand.services.runs.results import RunPorts, require_size


@dataclass(frozen=True, slots=True)
class SignalService:
    """Takes signals for runs.

    A call is acknowledged once the signal is recorded and the run is woken. So a call that failed
    can be repeated under the same signal id.
    """

    ports: RunPorts
    completer: Completer
    handlers: HandlerDirectory

    def send(self, job_id: str, name: str, signal_id: str | None, payload_text: str) -> None:
        """Record a signal, unless its id is known, and wake the run.

        Its number is one more than the run has counted. The call is acknowledged only after the run
        has counted it, so a signal that is sent after that has a higher number. Raises
        `NotFound`, `NotDurable`, `RunEnded`, `TooLarge` and `Unavailable`.
        """
        require_size("payload", payload_text)
        job = self._require_run(job_id)
        # Not by the deadline of the run: it may be claimed, or restart, before a wait reads this.
        keep_until = signals_end(self.ports.clock.now(), job)
        scope = scope_of(job, keep_until)
        text, place = self._kept(scope, payload_text)
        number = job.signals + 1
        signal = Signal(
            number=number,
            at_ms=to_ms(self.ports.clock.now()),
            id=signal_id or self.ports.randomness.nonce(),
            name=name,
            text=text,
            place=place,
            created_ms=scope.created_ms,
        )
        self.ports.side_items.write_item(put_signal(job_id, signal, scope.keep_until))
        # Also for an id that is known: the call that recorded it may have died before this.
        self.completer.complete(job_id, WaitKind.SIGNAL, name, number)

    def _require_run(self, job_id: str) -> Job:
        job = require_run(self.ports.jobs, self.handlers, job_id)
        if job.status.is_final:
            raise RunEnded(f"The run {job_id} is {job.status}; it takes no signals any more.")
        return job

    def _kept(self, scope: Scope, text: str) -> tuple[str | None, str | None]:
        """Return the text of a payload for its record, or the key of its object."""
        if len(text.encode()) <= VALUE_BYTES:
            return text, None
        key = f"journal/{scope.run_id}/{content_hash('signal', text)}"
        self.ports.objects.put(key, text)
        self.ports.objects.mark_finished(key, scope.keep_until)
        return None, key


def require_run(jobs: JobStore, handlers: HandlerDirectory, job_id: str) -> Job:
    """Return a durable run. Raises `NotFound`, and `NotDurable` for any other job.

    A run that was claimed before says so itself: a deployment may have removed its handler since.
    """
    job = jobs.get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    info = BUILT_IN_HANDLERS.get(job.handler) or handlers.find(job.handler)
    if not job.is_durable_run and (info is None or not info.is_durable):
        raise NotDurable(f"The handler {job.handler} of job {job.id} is not durable.")
    return job


def scope_at(job: Job, ports: RunPorts) -> Scope:
    """Return whose records a caller writes beside a run, and until when they are kept.

    A run that was not claimed yet has no deadline.
    """
    deadline = job.run_deadline or max(ports.clock.now(), job.run_at) + DEFAULT_RUN
    return scope_of(job, journal_end(deadline, job))
