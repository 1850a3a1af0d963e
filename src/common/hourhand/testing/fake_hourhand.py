"""A stand-in for a whole installation, for the tests of code that submits jobs and of handlers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any, Self

from hourhand.aws.clock import SystemClock
from hourhand.client import AsyncClient, Client, Job, stand_in, use
from hourhand.handlers import JobContext, Registry, SubmittedJob, default_registry
from hourhand.memory.clock import MemoryClock
from hourhand.memory.randomness import MemoryRandomness
from hourhand.testing.events import ENDPOINT
from hourhand.testing.in_process import InProcessTransport
from hourhand.testing.inline_runner import Run
from hourhand.testing.live_handlers import LiveHandlers, StepFault
from hourhand.testing.passing_time import PassingTime
from hourhand.testing.submissions import Expectation, SubmissionLog, list_submissions

SHOWN = 5
"""The jobs that a message names; it counts the others."""


class FakeHourhand:
    """An installation in memory. Jobs run in the test's thread, when the test lets time pass.

    Everything else is as deployed: the same code validates, stores, schedules and retries jobs. As
    a context manager it takes the place of the default client, so that ``handler.submit(...)`` and
    a plain ``Client()`` come here; ``client`` and ``async_client`` may be handed to the code under
    test as well.

    ``start`` is an aware datetime; without it the clock starts now. ``handlers``
    is the registry of handlers; by default that of ``@job``. An error of a handler is kept with its
    job and logged; with ``raise_errors`` it is also raised where the test lets time pass.
    """

    def __init__(
        self,
        *,
        start: datetime | None = None,
        handlers: Registry | None = None,
        raise_errors: bool = False,
    ) -> None:
        """Start with no jobs. Raises `ValueError` for a naive ``start``."""
        self.clock = MemoryClock(start or SystemClock().now())
        self._handlers = LiveHandlers(default_registry if handlers is None else handlers)
        self._time = PassingTime(self.clock, self._handlers, raise_errors=raise_errors)
        self._submissions = SubmissionLog()
        self._stack = ExitStack()
        self._transport = InProcessTransport(self._answer)
        self.client = Client(ENDPOINT, auth="none", transport=self._transport, clock=self._time)
        self.async_client = AsyncClient(
            ENDPOINT, auth="none", transport=self._transport, clock=self._time
        )

    def __enter__(self) -> Self:
        self._stack.enter_context(use(self.client))
        self._stack.enter_context(use(self.async_client))
        self._stack.enter_context(
            stand_in(
                transport=self._transport,
                async_transport=self._transport,
                clock=self._time,
            )
        )
        return self

    def __exit__(self, *_: object) -> None:
        # The clients stay open, since a test may look afterwards; they hold nothing.
        self._stack.close()

    @property
    def raise_errors(self) -> bool:
        """Whether handlers' errors are raised where the test lets time pass; may be set."""
        return self._time.raise_errors

    @raise_errors.setter
    def raise_errors(self, value: bool) -> None:
        self._time.raise_errors = value

    @property
    def randomness(self) -> MemoryRandomness:
        """The source of random numbers: it always returns ``drawn``, which is 0 at first."""
        return self._time.installation.randomness

    # --- time ---

    @property
    def now(self) -> datetime:
        """The time of the fake clock, in UTC."""
        return self.clock.now()

    def advance(
        self,
        by: timedelta | float = 0.0,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        raise_errors: bool | None = None,
    ) -> list[Run]:
        """Let time pass, by a timedelta or seconds plus the named units, and run what becomes due.

        Jobs run in the order of their times, with retries and schedules. Returns the attempts that
        ran. Raises `ValueError` for a negative step, and `hourhand.testing.GoesRound` if jobs
        create jobs without end.
        """
        step = by if isinstance(by, timedelta) else timedelta(seconds=by)
        step += timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
        return self.advance_to(self.now + step, raise_errors=raise_errors)

    def advance_to(self, instant: datetime, *, raise_errors: bool | None = None) -> list[Run]:
        """Let time pass until ``instant``, an aware datetime, as `advance` does."""
        if instant.tzinfo is None:
            raise ValueError(f"the time must be an aware datetime, not {instant}")
        if instant < self.now:
            raise ValueError(f"time cannot go back: it is {self.now}, which is after {instant}")
        return self._time.pass_until(instant, raise_errors=raise_errors)

    def run_due(self, *, raise_errors: bool | None = None) -> list[Run]:
        """Run the jobs that are due now, and those that they make due now; no time passes."""
        return self.advance(raise_errors=raise_errors)

    def run(self, job: SubmittedJob | str, *, raise_errors: bool = True) -> Job:
        """Run one job now, whenever it is due: one attempt. Return the job after it.

        An error of the handler is raised, unless ``raise_errors`` is false. Raises
        `hourhand.client.Conflict` for a job that has ended, and `RuntimeError` for one that must
        not run now, such as an occurrence that its schedule lets wait.
        """
        job_id = _id_of(job)
        before = self.get(job_id)
        if before.due_at is None or before.due_at > self.now or before.is_final:
            self.client.run_now(job_id)
        if not self._time.run_job(job_id, raise_errors=raise_errors):
            raise RuntimeError(f"Job {job_id} could not run now: it is {self.get(job_id).status}.")
        return self.get(job_id)

    @property
    def runs(self) -> list[Run]:
        """Every attempt so far, in order."""
        return self._time.runs

    # --- jobs ---

    def get(
        self,
        job: SubmittedJob | str | None = None,
        *,
        key: str | None = None,
        tenant: str | None = None,
    ) -> Job:
        """Return a job as it stands, by its id or its idempotency ``key`` (of ``tenant``).

        Raises `hourhand.client.NotFound`.
        """
        return self.client.get(None if job is None else _id_of(job), key=key, tenant=tenant)

    def submitted(self, handler: str | Callable[..., Any] | None = None) -> list[Job]:
        """Return the jobs that were submitted, of one handler or of all, as they stand, in order.

        Jobs that schedules created are not among them: see ``client.list(schedule_id=...)``.
        """
        name = None if handler is None else self._handlers.name_of(handler)
        snapshots = self._submissions.all()
        return [self.get(one["id"]) for one in snapshots if name in {None, one["handler"]}]

    def assert_submitted(
        self, handler: str | Callable[..., Any], *, count: int | None = None, **fields: Any
    ) -> Job:
        """Fail unless a job like this was submitted (``count`` of them); return the first.

        ``fields`` are those of a submission, such as ``payload``, ``delay`` and ``priority``; other
        fields are not compared. A failure lists what was submitted instead.
        """
        __tracebackhide__ = True
        expectation = Expectation(self._handlers.name_of(handler), fields)
        alike = self._alike(expectation)
        if not alike:
            told = list_submissions(expectation, self._submissions.all())
            raise AssertionError(f"No job was submitted like {expectation}.\n{told}")
        if count is not None and len(alike) != count:
            raise AssertionError(
                f"{len(alike)} submitted like {expectation}, and {count} were expected."
            )
        return self.get(alike[0])

    def assert_not_submitted(
        self, handler: str | Callable[..., Any] | None = None, **fields: Any
    ) -> None:
        """Fail if a job like this was submitted; without a handler: if any was."""
        __tracebackhide__ = True
        if handler is None:
            found = self._submissions.all()
            if found:
                names = ", ".join(f"{one['handler']} (job {one['id']})" for one in found[:SHOWN])
                raise AssertionError(f"{len(found)} submitted, where none was expected: {names}.")
            return
        expectation = Expectation(self._handlers.name_of(handler), fields)
        if alike := self._alike(expectation):
            told = ", ".join(alike[:SHOWN])
            raise AssertionError(f"{len(alike)} submitted like {expectation}: job {told}.")

    def stub(self, name: str, function: Callable[..., Any] | None = None) -> None:
        """Let ``function(context, payload)``, or nothing, run instead of the handler ``name``.

        Also for a handler that is not registered here. If it is, its policies apply.
        """
        self._handlers.stub(name, function or _do_nothing)

    def fail_step(
        self,
        step: str,
        error: Exception,
        *,
        handler: str | Callable[..., Any] | None = None,
        times: int | None = 1,
    ) -> None:
        """Let a step of durable handlers raise ``error`` instead of calling its function.

        ``step`` is its path, such as ``charge``, ``charge.2`` or ``left/charge``. ``times``: in how
        many tries, ``None``: in all. ``handler``: of this one alone. The retries of the step apply.
        """
        if times is not None and times < 1:
            raise ValueError(f"times must be at least 1, not {times}")
        name = None if handler is None else self._handlers.name_of(handler)
        self._handlers.fail_step(name, StepFault(step, error, -1 if times is None else times))

    @property
    def dead_letters(self) -> list[Mapping[str, Any]]:
        """The messages of the dead-letter queue, in order."""
        return [json.loads(letter.body) for letter in self._time.installation.queues.dead_letters]

    # --- parts ---

    def _alike(self, expectation: Expectation) -> list[str]:
        return [one["id"] for one in self._submissions.all() if not expectation.differences(one)]

    def _answer(self, event: Mapping[str, Any], context: object) -> dict[str, Any]:
        """Be the API's function, noting what was submitted."""
        answer = self._time.installation.app(event, context)
        self._submissions.note(event, answer)
        return answer


def _id_of(job: SubmittedJob | str) -> str:
    return job if isinstance(job, str) else job.id


def _do_nothing(_context: JobContext, _payload: Any) -> None:
    return
