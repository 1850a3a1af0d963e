"""``send_welcome.submit(payload, delay=60)``: the methods by which a handler's jobs are submitted.

A client of the HTTP API, a layer above, submits. A process that never submits must not import it.
So it is looked up at the first submission, unless a client was set before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib import import_module
from typing import (
    Any,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    cast,
    overload,
)

from hourhand.domain.jobs.job import OnLostChoice, PriorityChoice
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique
from hourhand.handlers._context import JobContext

Payload_contra = TypeVar("Payload_contra", contravariant=True)
Context_contra = TypeVar("Context_contra", bound=JobContext, contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")

_CLIENT = "hourhand.client"


class NodePolicies(TypedDict, total=False):
    """The policies of a job, also of one in a graph; ``None`` means: not given.

    ``retry`` is a `hourhand.Retry` or a mapping of some of its fields. ``limits`` names shared
    limits, such as ``{"name": "stripe"}``, in place of the handler's.
    """

    priority: PriorityChoice | None
    timeout_seconds: int | None
    retention_seconds: int | None
    on_lost: OnLostChoice | None
    retry: RetryPolicy | Mapping[str, Any] | None
    limits: Sequence[Mapping[str, str]] | None
    concurrency_key: str | None
    tags: Mapping[str, str] | None


class DueOptions(TypedDict, total=False):
    """When a job runs: ``run_at`` is an aware datetime, ``delay`` is seconds or a timedelta."""

    run_at: datetime | None
    delay: float | timedelta | None


class SubmitOptions(DueOptions, NodePolicies, total=False):
    """The options of a submission beside handler and payload; ``None`` means: not given.

    ``expires_at`` is an aware datetime. Help lists the options in this order, due times first.
    """

    idempotency_key: str | None
    unique: Unique | Mapping[str, Any] | None
    debounce: Debounce | Mapping[str, Any] | None
    id: str | None
    expires_at: datetime | None
    tenant: str | None


class SubmittedJob(Protocol):
    """The job that was submitted; `hourhand.client.Job` has all its fields."""

    @property
    def id(self) -> str:
        """The job's id."""

    @property
    def handler(self) -> str:
        """The name of its handler."""

    @property
    def status(self) -> str:
        """Its state when it was submitted."""

    @property
    def run_at(self) -> datetime:
        """When it is due to run."""


class Submitter(Protocol):
    """Submits jobs; `hourhand.Client` is one."""

    def submit(
        self, handler: str, payload: Any = None, /, **options: Unpack[SubmitOptions]
    ) -> SubmittedJob:
        """Submit a job and return it."""


class AsyncSubmitter(Protocol):
    """Submits jobs from an event loop; `hourhand.AsyncClient` is one."""

    async def submit(
        self, handler: str, payload: Any = None, /, **options: Unpack[SubmitOptions]
    ) -> SubmittedJob:
        """Submit a job and return it."""


class Submits(Protocol[Payload_contra]):
    """What ``@job`` adds to a handler of a payload."""

    __name__: str
    __qualname__: str

    def submit(
        self,
        payload: Payload_contra | Mapping[str, Any],
        /,
        **options: Unpack[SubmitOptions],
    ) -> SubmittedJob:
        """Submit a job of this handler."""

    async def submit_async(
        self,
        payload: Payload_contra | Mapping[str, Any],
        /,
        **options: Unpack[SubmitOptions],
    ) -> SubmittedJob:
        """Submit a job of this handler, from an event loop."""


class PlainSubmits(Protocol):
    """What ``@job`` adds to a handler without a payload."""

    __name__: str
    __qualname__: str

    def submit(self, **options: Unpack[SubmitOptions]) -> SubmittedJob:
        """Submit a job of this handler."""

    async def submit_async(self, **options: Unpack[SubmitOptions]) -> SubmittedJob:
        """Submit a job of this handler, from an event loop."""


class HandlerFunction(Submits[Payload_contra], Protocol[Context_contra, Payload_contra, Result_co]):
    """A handler of a payload, as ``@job`` leaves it: the function itself, and two attributes."""

    def __call__(self, ctx: Context_contra, payload: Payload_contra) -> Result_co:
        """Run the handler here and now, as any function."""


class PlainHandlerFunction(PlainSubmits, Protocol[Context_contra, Result_co]):
    """A handler without a payload, as ``@job`` leaves it."""

    def __call__(self, ctx: Context_contra) -> Result_co:
        """Run the handler here and now, as any function."""


JobFunction = HandlerFunction[JobContext, Payload_contra, Result_co]
"""A handler of a payload that is not durable, as ``@job`` leaves it."""

PlainJobFunction = PlainHandlerFunction[JobContext, Result_co]
"""A handler without a payload that is not durable, as ``@job`` leaves it."""


class Registration(Protocol):
    """What ``@job(...)`` is applied as."""

    @overload
    def __call__(
        self, function: Callable[[Context_contra, Payload_contra], Result_co], /
    ) -> HandlerFunction[Context_contra, Payload_contra, Result_co]: ...
    @overload
    def __call__(
        self, function: Callable[[Context_contra], Result_co], /
    ) -> PlainHandlerFunction[Context_contra, Result_co]: ...
    @overload
    def __call__(self, function: F, /) -> F: ...


@dataclass(frozen=True, slots=True)
class Submitters:
    """The clients that submit for handlers; ``None``: the default client."""

    blocking: Submitter | None = None
    awaiting: AsyncSubmitter | None = None


class _Current:
    """The clients that submit for handlers in this process, in every thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._submitters = Submitters()

    def replace(self, submitters: Submitters) -> Submitters:
        """Use these clients from now on; return the previous ones."""
        with self._lock:
            before, self._submitters = self._submitters, submitters
            return before

    def get(self) -> Submitters:
        """Return the present clients."""
        return self._submitters


current_submitters = _Current()


@dataclass(frozen=True, slots=True)
class HandlerSubmission:
    """Submits jobs of one handler."""

    handler: str

    def submit(self, payload: Any = None, /, **options: Unpack[SubmitOptions]) -> SubmittedJob:
        """Submit a job of this handler and return it; raises `hourhand.client.ClientError`.

        The client that submits is the one given to `hourhand.client.use`, else the default one,
        created at the first use for the API at ``HOURHAND_ENDPOINT``.
        """
        return blocking_submitter().submit(self.handler, payload, **options)

    async def submit_async(
        self, payload: Any = None, /, **options: Unpack[SubmitOptions]
    ) -> SubmittedJob:
        """Submit a job of this handler from an event loop, without blocking the loop.

        By the `AsyncClient` given to `hourhand.client.use`, else as `submit`, in a thread.
        """
        # Only a caller that awaits needs it, and such a caller has imported it.
        import asyncio  # noqa: PLC0415

        submitter = current_submitters.get().awaiting
        if submitter is not None:
            return await submitter.submit(self.handler, payload, **options)
        # A default client of an event loop would die with the loop; handlers have one each.
        return await asyncio.to_thread(self.submit, payload, **options)


def let_submit(handler: str, function: Callable[..., Any]) -> None:
    """Give ``function`` its ``submit`` and ``submit_async``, unless it has its own.

    What takes no attributes, such as a bound method, stays without.
    """
    submission = HandlerSubmission(handler)
    for name in ("submit", "submit_async"):
        existing = getattr(function, name, None)
        if existing is None or isinstance(getattr(existing, "__self__", None), HandlerSubmission):
            with suppress(AttributeError, TypeError):
                setattr(function, name, getattr(submission, name))


def handler_of_function(function: object) -> str | None:
    """Return the name under which ``@job`` registered a function; ``None`` if it did not."""
    submission = getattr(getattr(function, "submit", None), "__self__", None)
    return submission.handler if isinstance(submission, HandlerSubmission) else None


def blocking_submitter() -> Submitter:
    """Return the client given to `hourhand.client.use`, else the default client."""
    # By name and at first use: the client is a layer above, and a process that does not submit
    # must not load httpx.
    return current_submitters.get().blocking or cast(
        "Submitter", import_module(_CLIENT).default_client()
    )
