"""The exceptions of the client, with the fields of the API's problems."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from hourhand.answers.batches import FieldProblem
    from hourhand.answers.jobs import Job
    from hourhand.client._submissions import Submission

P = ParamSpec("P")
T = TypeVar("T")

DEBUG_VARIABLE = "HOURHAND_DEBUG"
"""If it is set, the traceback of an error has the client's own frames."""


class ClientError(Exception):
    """A request failed, or its answer was lost and it may have been done.

    ``status``: the HTTP status, ``None`` where there was no answer. ``code`` is a
    stable name for programs, such as ``not_found``; ``title``, ``detail`` and ``errors`` are for
    people. ``is_temporary``: the same request may succeed later. ``may_have_happened``: an answer
    was lost, so the API may have done what it was asked. ``retry_after_seconds``: how long the API
    asks to wait. ``stored``: whether a job of a batch that the API could not finish is stored
    (``None``: not known). ``submission``: what was to be submitted, with the id or key that makes
    it safe to submit again.
    """

    default_code = "error"

    def __init__(
        self,
        detail: str,
        *,
        status: int | None = None,
        code: str | None = None,
        title: str = "",
        errors: Sequence[FieldProblem] = (),
        is_temporary: bool = False,
        may_have_happened: bool = False,
        retry_after_seconds: float | None = None,
    ) -> None:
        """Take a sentence for people, and the rest by name."""
        self.status = status
        self.code = code or self.default_code
        self.title = title or _first_line(type(self))
        self.detail = detail
        self.errors = tuple(errors)
        self.is_temporary = is_temporary
        self.may_have_happened = may_have_happened
        self.retry_after_seconds = retry_after_seconds
        self.stored: bool | None = None
        self.submission: Submission | None = None
        super().__init__(detail)

    def __str__(self) -> str:
        """Return the detail, and each wrong field that it does not name already."""
        fields = [str(error) for error in self.errors if error.message not in self.detail]
        sentences = (one if one.endswith((".", "?")) else f"{one}." for one in fields)
        return " ".join([self.detail, *sentences])


class NotConfigured(ClientError):
    """The client is not configured correctly: endpoint, token, credentials or region."""

    default_code = "not_configured"


class Invalid(ClientError):
    """The API refused the input; ``errors`` names each wrong field."""

    default_code = "invalid"


class Unauthorised(ClientError):
    """The caller is not authenticated, or not allowed to do this."""

    default_code = "unauthorised"


class NotFound(ClientError):
    """The job, schedule, calendar or route does not exist."""

    default_code = "not_found"


class Conflict(ClientError):
    """The state does not allow this, or a key or id was already used with another body."""

    default_code = "conflict"


class TooLarge(ClientError):
    """The input is larger than the API accepts."""

    default_code = "too_large"


class Throttled(ClientError):
    """The API received too many requests; retry later."""

    default_code = "throttled"


class ServerFailed(ClientError):
    """The API, or something before it, failed."""

    default_code = "server_failed"


class UnexpectedAnswer(ServerFailed):
    """The answer is not one of Hourhand's API."""

    default_code = "unexpected_answer"


class Unreachable(ClientError):
    """There was no answer: no connection, a time-out, or a connection that broke."""

    default_code = "unreachable"


class NotSent(ClientError):
    """The job was not submitted, because the submission was stopped before it."""

    default_code = "not_sent"


class WaitTimedOut(ClientError):
    """The job did not end within the time limit; ``job`` is the job as last read."""

    default_code = "wait_timed_out"

    def __init__(self, detail: str, job: Job) -> None:
        """Take a sentence and the job."""
        super().__init__(detail)
        self.job = job


def raising_at_caller(method: Callable[P, T]) -> Callable[P, T]:
    """Let the traceback of an error end at the line that called ``method``.

    The frames below it, and the errors that led to this one, are the client's own: the sentence
    of the error has what a caller can use.
    """

    @functools.wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(*args, **kwargs)
        except ClientError as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            raise error.with_traceback(None) from None

    return call


def raising_at_awaiter(
    method: Callable[P, Coroutine[Any, Any, T]],
) -> Callable[P, Coroutine[Any, Any, T]]:
    """Do the same for a method that is awaited."""

    @functools.wraps(method)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await method(*args, **kwargs)
        except ClientError as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            raise error.with_traceback(None) from None

    return call


def _first_line(kind: type[ClientError]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")


for _each in list(globals().values()):
    if isinstance(_each, type) and issubclass(_each, ClientError):
        # A traceback names the module from which users import them.
        _each.__module__ = "hourhand.client"
