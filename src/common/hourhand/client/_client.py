"""The client that returns when it is done. `hourhand.client._async_client` is its twin."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from hourhand.client._authorisation import Token
from hourhand.client._blocking import (
    Blocking,
    BlockingConnection,
    blocking,
    iterating,
    submitting,
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


class Schedules(Blocking):
    """Schedules: ``client.schedules``."""

    put = blocking(_schedules.put)
    get = blocking(_schedules.get)
    list = iterating(_schedules.list_schedules)
    delete = blocking(_schedules.delete)
    pause = blocking(_schedules.pause)
    resume = blocking(_schedules.resume)
    trigger = blocking(_schedules.trigger)
    backfill = blocking(_schedules.backfill)
    backfills = iterating(_schedules.backfills)
    pause_backfill = blocking(_schedules.pause_backfill)
    resume_backfill = blocking(_schedules.resume_backfill)
    cancel_backfill = blocking(_schedules.cancel_backfill)
    occurrences = iterating(_schedules.occurrences)
    upcoming = blocking(_schedules.upcoming)
    preview = blocking(_schedules.preview)
    grid = blocking(_schedules.grid)


class Calendars(Blocking):
    """Calendars, which schedules share: ``client.calendars``."""

    put = blocking(_calendars.put)
    get = blocking(_calendars.get)
    list = iterating(_calendars.list_calendars)
    delete = blocking(_calendars.delete)


class Limits(Blocking):
    """Limits of how many jobs run at a time: ``client.limits``."""

    put = blocking(_limits.put)
    get = blocking(_limits.get)
    list = iterating(_limits.list_limits)
    delete = blocking(_limits.delete)
    free = blocking(_limits.free)
    retime = blocking(_limits.retime)


class Runs(Blocking):
    """Durable runs: ``client.runs``."""

    steps = iterating(_runs.steps)
    signal = blocking(_runs.signal)
    journal = blocking(_runs.journal)
    redrive = blocking(_runs.redrive)
    plan_redrive = blocking(_runs.plan_redrive)


class Graphs(Blocking):
    """Graphs of jobs: ``client.graphs``."""

    submit = blocking(_graphs.submit_graph)
    get = blocking(_graphs.get_graph)
    rerun = blocking(_graphs.rerun_graph)


class Batches(Blocking):
    """Batches of jobs with callbacks: ``client.batches``."""

    submit = blocking(_graphs.submit_batch)
    get = blocking(_graphs.get_batch)
    add = blocking(_graphs.add_to_batch)
    close = blocking(_graphs.close_batch)


class Callbacks(Blocking):
    """Callbacks of durable runs, by their tokens: ``client.callbacks``."""

    succeed = blocking(_runs.succeed)
    fail = blocking(_runs.fail)
    heartbeat = blocking(_runs.heartbeat)


class Client(WholeClient[BlockingConnection]):
    """Submits and operates jobs over the HTTP API; safe for threads.

    ``endpoint``: where the API is, else ``HOURHAND_ENDPOINT``, else http://127.0.0.1:8787.
    ``auth``: ``none``, ``iam`` or ``jwt``; else what fits: ``jwt`` where there is a ``token`` (a
    JWT, or what returns one; ``HOURHAND_TOKEN``), ``none`` on loopback, and else requests are
    signed with the caller's own credentials of AWS, of ``profile``, for ``region``.
    ``timeout_seconds``: how long one try may take; ``max_attempts``: how many there are, the first
    included. ``transport`` and ``clock`` are for tests. Raises `NotConfigured`. Close it at the
    end, or use it in ``with``.
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
        transport: httpx.BaseTransport | None = None,
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
        used = made.stand_in.transport if made.stand_in is not None else transport
        super().__init__(made.session, BlockingConnection(made, used))
        self.schedules = Schedules(self._session, self._connection)
        self.calendars = Calendars(self._session, self._connection)
        self.limits = Limits(self._session, self._connection)
        self.runs = Runs(self._session, self._connection)
        self.callbacks = Callbacks(self._session, self._connection)
        self.graphs = Graphs(self._session, self._connection)
        self.batches = Batches(self._session, self._connection)

    submit = blocking(_jobs.submit)
    submit_many = blocking(_many.submit_many)
    submit_each = submitting(_many.submit_each)
    get = blocking(_jobs.get)
    wait = blocking(_jobs.wait)
    list = iterating(_jobs.list_jobs)
    events = blocking(_jobs.events)
    children = iterating(_graphs.children)
    logs = iterating(_job_logs.logs)
    dead_letter_groups = blocking(_dead_letters.dead_letter_groups)
    cancel = blocking(_jobs.cancel)
    redrive = blocking(_jobs.redrive)
    discard = blocking(_jobs.discard)
    run_now = blocking(_jobs.run_now)
    reschedule = blocking(_jobs.reschedule)
    cancel_many = blocking(_bulk.cancel_many)
    redrive_many = blocking(_bulk.redrive_many)
    discard_many = blocking(_bulk.discard_many)
    audit = iterating(_audit.audit)
    stats = blocking(_system.stats)
    resweep = blocking(_system.resweep)
    resweep_progress = blocking(_system.resweep_progress)
    handlers = blocking(_system.handlers)
    handler = blocking(_system.handler)
    pause_handler = blocking(_system.pause_handler)
    resume_handler = blocking(_system.resume_handler)
    health = blocking(_system.health)
    quotas = blocking(_quotas.list_quotas)
    put_quota = blocking(_quotas.put)
    delete_quota = blocking(_quotas.delete)

    def close(self) -> None:
        """Close the connections; the client cannot be used any more."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
