"""The client whose methods are awaited. `hourhand.client._client` is its twin."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from hourhand.client._authorisation import Token
from hourhand.client._awaiting import (
    Awaiting,
    AwaitingConnection,
    awaiting,
    iterating_async,
    submitting_async,
)
from hourhand.client._endpoint import Auth
from hourhand.client._making import WholeClient, make
from hourhand.client._operations import (
    _audit,
    _bulk,
    _calendars,
    _dead_letters,
    _graphs,
    _job_logs,
    _jobs,
    _limits,
    _many,
    _quotas,
    _runs,
    _schedules,
    _system,
)
from hourhand.client._signatures import raising_at_caller
from hourhand.ports.clock import Clock


class AsyncSchedules(Awaiting):
    """Schedules: ``client.schedules``."""

    put = awaiting(_schedules.put)
    get = awaiting(_schedules.get)
    list = iterating_async(_schedules.list_schedules)
    delete = awaiting(_schedules.delete)
    pause = awaiting(_schedules.pause)
    resume = awaiting(_schedules.resume)
    trigger = awaiting(_schedules.trigger)
    backfill = awaiting(_schedules.backfill)
    backfills = iterating_async(_schedules.backfills)
    pause_backfill = awaiting(_schedules.pause_backfill)
    resume_backfill = awaiting(_schedules.resume_backfill)
    cancel_backfill = awaiting(_schedules.cancel_backfill)
    occurrences = iterating_async(_schedules.occurrences)
    upcoming = awaiting(_schedules.upcoming)
    preview = awaiting(_schedules.preview)
    grid = awaiting(_schedules.grid)


class AsyncCalendars(Awaiting):
    """Calendars, which schedules share: ``client.calendars``."""

    put = awaiting(_calendars.put)
    get = awaiting(_calendars.get)
    list = iterating_async(_calendars.list_calendars)
    delete = awaiting(_calendars.delete)


class AsyncLimits(Awaiting):
    """Limits of how many jobs run at a time: ``client.limits``."""

    put = awaiting(_limits.put)
    get = awaiting(_limits.get)
    list = iterating_async(_limits.list_limits)
    delete = awaiting(_limits.delete)
    free = awaiting(_limits.free)
    retime = awaiting(_limits.retime)


class AsyncRuns(Awaiting):
    """Durable runs: ``client.runs``."""

    steps = iterating_async(_runs.steps)
    signal = awaiting(_runs.signal)
    journal = awaiting(_runs.journal)
    redrive = awaiting(_runs.redrive)
    plan_redrive = awaiting(_runs.plan_redrive)


class AsyncGraphs(Awaiting):
    """Graphs of jobs: ``client.graphs``."""

    submit = awaiting(_graphs.submit_graph)
    get = awaiting(_graphs.get_graph)
    rerun = awaiting(_graphs.rerun_graph)


class AsyncBatches(Awaiting):
    """Batches of jobs with callbacks: ``client.batches``."""

    submit = awaiting(_graphs.submit_batch)
    get = awaiting(_graphs.get_batch)
    add = awaiting(_graphs.add_to_batch)
    close = awaiting(_graphs.close_batch)


class AsyncCallbacks(Awaiting):
    """Callbacks of durable runs, by their tokens: ``client.callbacks``."""

    succeed = awaiting(_runs.succeed)
    fail = awaiting(_runs.fail)
    heartbeat = awaiting(_runs.heartbeat)


class AsyncClient(WholeClient[AwaitingConnection]):
    """Submits and operates jobs over the HTTP API, in one event loop.

    ``endpoint``: where the API is, else ``HOURHAND_ENDPOINT``, else http://127.0.0.1:8787.
    ``auth``: ``none``, ``iam`` or ``jwt``; else what fits: ``jwt`` where there is a ``token`` (a
    JWT, or what returns one; ``HOURHAND_TOKEN``), ``none`` on loopback, and else requests are
    signed with the caller's own credentials of AWS, of ``profile``, for ``region``.
    ``timeout_seconds``: how long one try may take; ``max_attempts``: how many there are, the first
    included. ``transport`` and ``clock`` are for tests. Raises `NotConfigured`. Close it at the
    end, or use it in ``async with``.
    """

    @raising_at_caller
    def __init__(  # noqa: PLR0913 - each is named by the caller
        self,
        endpoint: str | None = None,
        *,
        token: Token | None = None,
        region: str | None = None,
        profile: str | None = None,
        auth: Auth | None = None,
        timeout_seconds: float = 30.0,
        max_attempts: int = 5,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Find the endpoint and the credentials; send no request yet."""
        made = make(
            endpoint,
            has_transport=transport is not None,
            token=token,
            region=region,
            profile=profile,
            auth=auth,
            timeout_seconds=timeout_seconds,
            max_attempts=max_attempts,
            clock=clock,
        )
        used = made.stand_in.async_transport if made.stand_in is not None else transport
        super().__init__(made.session, AwaitingConnection(made, used))
        self.schedules = AsyncSchedules(self._session, self._connection)
        self.calendars = AsyncCalendars(self._session, self._connection)
        self.limits = AsyncLimits(self._session, self._connection)
        self.runs = AsyncRuns(self._session, self._connection)
        self.callbacks = AsyncCallbacks(self._session, self._connection)
        self.graphs = AsyncGraphs(self._session, self._connection)
        self.batches = AsyncBatches(self._session, self._connection)

    submit = awaiting(_jobs.submit)
    submit_many = awaiting(_many.submit_many)
    submit_each = submitting_async(_many.submit_each)
    get = awaiting(_jobs.get)
    wait = awaiting(_jobs.wait)
    list = iterating_async(_jobs.list_jobs)
    events = awaiting(_jobs.events)
    children = iterating_async(_graphs.children)
    logs = iterating_async(_job_logs.logs)
    dead_letter_groups = awaiting(_dead_letters.dead_letter_groups)
    cancel = awaiting(_jobs.cancel)
    redrive = awaiting(_jobs.redrive)
    discard = awaiting(_jobs.discard)
    run_now = awaiting(_jobs.run_now)
    reschedule = awaiting(_jobs.reschedule)
    cancel_many = awaiting(_bulk.cancel_many)
    redrive_many = awaiting(_bulk.redrive_many)
    discard_many = awaiting(_bulk.discard_many)
    audit = iterating_async(_audit.audit)
    stats = awaiting(_system.stats)
    resweep = awaiting(_system.resweep)
    resweep_progress = awaiting(_system.resweep_progress)
    handlers = awaiting(_system.handlers)
    handler = awaiting(_system.handler)
    pause_handler = awaiting(_system.pause_handler)
    resume_handler = awaiting(_system.resume_handler)
    health = awaiting(_system.health)
    quotas = awaiting(_quotas.list_quotas)
    put_quota = awaiting(_quotas.put)
    delete_quota = awaiting(_quotas.delete)

    async def aclose(self) -> None:
        """Close the connections; the client cannot be used any more."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()
