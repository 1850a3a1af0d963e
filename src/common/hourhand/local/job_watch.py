"""What the local cloud sees of its jobs: the lines they log, and how the process of one ended."""

from __future__ import annotations

import contextlib
from datetime import timedelta

from hourhand.aws.layout.messages import read_message
from hourhand.domain.errors import HourhandError
from hourhand.domain.jobs.job import Attempt, ErrorInfo, JobMessage, Outcome
from hourhand.local.backend import Backend
from hourhand.local.child_process import exit_reason
from hourhand.local.events import BatchEnded, ChildDied, Logged, News
from hourhand.memory import MemoryJobLogs

KEPT_FOR = timedelta(days=30)
"""How long the note of a lost attempt is kept. The memory of a local cloud rarely lives as long."""


class JobWatch:
    """A listener of the local cloud. What it writes about a job decides nothing."""

    def __init__(self, backend: Backend, logs: MemoryJobLogs) -> None:
        """Have seen nothing yet."""
        self._backend = backend
        self._logs = logs
        self._deaths: dict[str, tuple[int, int]] = {}

    def __call__(self, news: News) -> None:
        """Keep what ``news`` tells of a job."""
        match news:
            case Logged(sentence=sentence, level=level, fields=fields) if "job_id" in fields:
                line = {**fields, "message": sentence, "level": level}
                self._logs.add(line, self._backend.clock.now())
            case ChildDied(name=name, pid=pid, exit_code=exit_code):
                self._deaths[name] = pid, exit_code
            case BatchEnded(worker=worker, pid=pid, bodies=bodies, crash=str()):
                died_pid, exit_code = self._deaths.get(worker, (None, 0))
                if died_pid == pid:
                    for body in bodies:
                        self._note_end(body, exit_reason(exit_code))

    def _note_end(self, body: str, reason: str) -> None:
        """Keep beside the job of a message how the process of its attempt ended.

        The attempt is lost once its lease has ended, and then says so.
        """
        with contextlib.suppress(HourhandError, ValueError):
            self._note_attempt(read_message(body), reason)

    def _note_attempt(self, message: JobMessage, reason: str) -> None:
        store = self._backend.job_store()
        job = store.get(message.job_id)
        if job is None or job.lease is None:
            return
        now = self._backend.clock.now()
        lost = Attempt(
            number=job.attempt,
            token=job.token,
            worker=job.lease.owner,
            started_at=job.started_at,
            finished_at=now,
            outcome=Outcome.LOST,
            error=ErrorInfo(type="Lost", message=reason),
        )
        store.put_failure(job.id, lost, now + KEPT_FOR)
