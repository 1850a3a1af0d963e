"""What callers give and get: the exceptions, JSON of any value, and submissions."""

from __future__ import annotations

import dataclasses
import json
import math
import reprlib
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from typing import Any, Literal, TypeGuard, TypeVar
from uuid import UUID

from hourhand.answers.answered import Answered
from hourhand.answers.batches import FieldProblem
from hourhand.answers.jobs import Job
from hourhand.domain.errors import unknown_field
from hourhand.domain.jobs.job import OnLostChoice, PriorityChoice
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique
from hourhand.domain.times import rfc3339
from hourhand.json_dataclasses import Misfit, from_json

A = TypeVar("A", bound=Answered)


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


def _first_line(kind: type[ClientError]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0].rstrip(".")


for _each in list(globals().values()):
    if isinstance(_each, type) and issubclass(_each, ClientError):
        # A traceback names the module from which users import them.
        _each.__module__ = "hourhand.client"


def encoded(value: Any, field: str) -> bytes:
    """Return ``value`` as JSON in UTF-8; ``field`` is what an error names.

    Beside what JSON holds, it may consist of pydantic models (by their aliases, as a handler
    reads them), dataclasses, enums, dates, times and UUIDs. Raises `Invalid` for anything else,
    such as NaN, sets and cycles.
    """
    try:
        try:
            return _compact.encode(value).encode()
        except UnicodeEncodeError:
            # Half a surrogate pair is legal in JSON as an escape, and cannot be encoded otherwise.
            return _escaped.encode(value).encode()
    except RecursionError:
        raise invalid(field, "must not be nested this deeply, or contain itself") from None
    except (TypeError, ValueError) as error:
        raise invalid(field, f"must be JSON: {error}") from error


def decoded(body: bytes) -> Any:
    """Return the value of a JSON body; raise `UnexpectedAnswer` where it is none."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise UnexpectedAnswer(
            "The answer is not JSON. Check that the endpoint is Hourhand's API."
        ) from error


def read(kind: type[A], value: Any, place: str = "answer") -> A:
    """Return JSON as a ``kind``; raise `UnexpectedAnswer` naming the field that does not fit."""
    try:
        return from_json(kind, value, place)
    except Misfit as misfit:
        raise UnexpectedAnswer(
            f"The answer of the API is not as expected: {misfit}. Is the endpoint that of "
            "Hourhand, and is this client as new?"
        ) from None


def instant_text(field: str, instant: object) -> str:
    """Return an aware datetime as the API takes it; raise `Invalid` for any other value."""
    if not isinstance(instant, datetime):
        raise invalid(field, f"must be an aware datetime, not {type(instant).__name__}")
    if instant.utcoffset() is None:
        raise invalid(field, "must be an aware datetime: give it a tzinfo, such as UTC")
    try:
        return rfc3339(instant.astimezone(UTC))
    except OverflowError:
        raise invalid(field, "must be a time that exists in UTC") from None


def time_text(field: str, instant: object) -> str:
    """Return a time as the API takes it: an aware datetime, or a text, which the API judges."""
    return instant if isinstance(instant, str) else instant_text(field, instant)


def seconds(field: str, duration: float | timedelta) -> float:
    """Return a number of seconds, or a timedelta, as a number; raise `Invalid` for another."""
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    if not _is_number(duration):
        kind = type(duration).__name__
        raise invalid(field, f"must be a number of seconds or a timedelta, not {kind}")
    return duration


def bare_seconds(field: str, duration: object, *, above: float = -math.inf) -> float:
    """Return a number of seconds; raise `Invalid` for all else, and for one not ``above``."""
    if _is_number(duration):
        try:
            number = float(duration)
        except OverflowError:
            number = math.nan
        if number > above:
            return number
    limit = "" if above == -math.inf else f" above {above:g}"
    raise invalid(field, f"must be a number of seconds{limit}, not {shortened(duration)}")


def shortened(value: object) -> str:
    """Return a wrong value as an error shows it, shortened."""
    return reprlib.repr(value)


def invalid(field: str, message: str) -> Invalid:
    """Return the error for one wrong argument."""
    return Invalid(f"{field} {message}.", errors=[FieldProblem(field=field, message=message)])


def _is_number(value: object) -> TypeGuard[float]:
    # A truth value is an int in Python, and a mistake here.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    """Return what JSON's own encoder knows for a value that it does not."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: getattr(value, one.name) for one in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    # A caller with a model has imported pydantic; no other caller needs the import.
    pydantic = sys.modules.get("pydantic")
    if pydantic is not None and isinstance(value, pydantic.BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError(f"it contains an object of type {type(value).__name__}")


_compact = json.JSONEncoder(
    separators=(",", ":"), allow_nan=False, ensure_ascii=False, default=_plain
)
_escaped = json.JSONEncoder(separators=(",", ":"), allow_nan=False, default=_plain)


Fate = Literal["submitted", "not submitted", "unknown"]
"""``unknown``: the last answer was lost. The same id or key makes it safe to submit again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A job to be submitted. ``None`` means: not given; the handler's policy or default holds.

    ``run_at`` and ``expires_at`` are aware datetimes; ``delay`` is a number of seconds or a
    timedelta. ``retry`` is a `hourhand.Retry`, or a mapping of some of its fields. ``limits``:
    shared limits by ``name``, each with a ``key`` if another is wanted, in place of the handler's.
    """

    handler: str
    payload: Any = None
    run_at: datetime | None = None
    delay: float | timedelta | None = None
    priority: PriorityChoice | None = None
    idempotency_key: str | None = None
    concurrency_key: str | None = None
    limits: Sequence[Mapping[str, str]] | None = None
    unique: Unique | Mapping[str, Any] | None = None
    debounce: Debounce | Mapping[str, Any] | None = None
    id: str | None = None
    timeout_seconds: int | None = None
    expires_at: datetime | None = None
    retention_seconds: int | None = None
    on_lost: OnLostChoice | None = None
    tenant: str | None = None
    tags: Mapping[str, str] | None = None
    retry: RetryPolicy | Mapping[str, Any] | None = None

    @property
    def has_name(self) -> bool:
        """Whether it can be sent again without being submitted twice."""
        return self.id is not None or self.idempotency_key is not None

    def named(self, new_id: Callable[[], str]) -> Submission:
        """Return it with a new id, unless it has a name already."""
        return self if self.has_name else replace(self, id=new_id())

    def body(self) -> bytes:
        """Return it as JSON; raise `Invalid` naming a field that cannot be sent."""
        return encoded_fields({one: getattr(self, one) for one in _FIELDS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Submitted:
    """The result of the submission at place ``index`` (the first is 0) of many.

    Either ``job`` or ``error`` is there. ``submission`` has the id that it was sent with; it is
    ``None`` where what was given could not be read as one.
    """

    index: int
    submission: Submission | None
    job: Job | None = None
    error: ClientError | None = None

    @property
    def fate(self) -> Fate:
        """Whether it is submitted, is not, or that is unknown."""
        if self.error is None:
            return "submitted"
        return "unknown" if self.error.may_have_happened else "not submitted"


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitProgress:
    """The progress of `submit_many`; ``total`` is ``None`` if the iterable has no length."""

    done: int
    failed: int
    total: int | None


_FIELDS = tuple(one.name for one in fields(Submission))


def submission_of(given: object) -> Submission:
    """Return what was given, a `Submission` or a mapping of the API's fields.

    In a mapping, ``delay_seconds`` may stand for ``delay``, and times may be texts as the API
    takes them. Raises `Invalid` for a field that is not known, and where no handler is named.
    """
    if isinstance(given, Submission):
        return given
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise invalid("submission", f"must be a Submission or a mapping of its fields, not {kind}")
    named = dict(given)
    if "delay_seconds" in named:
        if "delay" in named:
            raise invalid("delay", "must not be given together with delay_seconds")
        named["delay"] = named.pop("delay_seconds")
    unknown = [str(name) for name in named if name not in _FIELDS]
    if unknown:
        raise invalid(unknown[0], unknown_field(unknown[0], _FIELDS))
    if "handler" not in named:
        raise invalid("handler", "is required")
    return Submission(**named)


def encoded_fields(given: Mapping[str, Any], *, nulls: Collection[str] = ()) -> bytes:
    """Return fields of a job as a JSON object; ``nulls`` names those that are sent as null.

    Others that are ``None`` are left out. Raises `Invalid` naming a field that cannot be sent.
    """
    members = [
        f'"{_name(name)}":'.encode() + _encoded_field(name, value)
        for name, value in given.items()
        if value is not None or name in nulls
    ]
    return b"{" + b",".join(members) + b"}"


def _name(field: str) -> str:
    return "delay_seconds" if field == "delay" else field


def _encoded_field(name: str, value: Any) -> bytes:
    if name in _TIMES and value is not None:
        value = time_text(name, value)
    elif name == "delay":
        value = seconds(name, value)
    elif isinstance(value, Debounce):
        waits = {"wait_seconds": value.wait, "max_wait_seconds": value.max_wait}
        value = {"key": value.key, "mode": value.mode, **waits}
    elif isinstance(value, Unique):
        value = {one.name: getattr(value, one.name) for one in fields(Unique)}
    elif isinstance(value, RetryPolicy):
        value = {one.name: getattr(value, one.name) for one in fields(RetryPolicy)}
    return encoded(value, name)


_TIMES = frozenset({"run_at", "expires_at"})
