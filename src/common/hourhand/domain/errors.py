"""The one family of errors that Hourhand raises; each has a stable ``code`` for callers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import ClassVar, TypeVar

R = TypeVar("R")


@dataclass(frozen=True)
class FieldError:
    """The error of one field of an input, which says what is allowed."""

    field: str
    message: str


class HourhandError(Exception):
    """Hourhand cannot do what was requested."""

    code: ClassVar[str] = "error"
    status: ClassVar[int] = 500

    def __init__(self, detail: str | None = None, *, errors: tuple[FieldError, ...] = ()) -> None:
        """Take a sentence for people (default: the first line of the class's docstring)."""
        doc = (type(self).__doc__ or "").strip().splitlines()
        self.detail = detail if detail is not None else doc[0]
        self.errors = errors
        super().__init__(self.detail)


class BadRequest(HourhandError):
    """The request is malformed."""

    code = "bad_request"
    status = 400


class Forbidden(HourhandError):
    """The caller may not do this."""

    code = "forbidden"
    status = 403


class NotFound(HourhandError):
    """The requested object does not exist."""

    code = "not_found"
    status = 404


class WrongState(HourhandError):
    """The job's state does not allow this."""

    code = "wrong_state"
    status = 409


class IdempotencyConflict(HourhandError):
    """The idempotency key or id was already used with another body."""

    code = "idempotency_conflict"
    status = 409


class CountChanged(HourhandError):
    """More jobs match than the caller expected. Nothing was changed."""

    code = "count_changed"
    status = 409


class TooLarge(HourhandError):
    """The input is too large."""

    code = "too_large"
    status = 413


class InvalidInput(HourhandError):
    """The input is invalid; each wrong field is named."""

    code = "invalid"
    status = 422


class NotSupportedYet(InvalidInput):
    """This field is not supported yet, so it is refused rather than ignored."""

    code = "not_supported_yet"


class Unavailable(HourhandError):
    """A store or queue did not answer. Nothing is half done, and the call can be retried."""

    code = "unavailable"
    status = 503


class WrittenByNewer(HourhandError):
    """A newer version of Hourhand wrote this, and only that version may change it.

    ``ids`` name the jobs, schedules or others concerned, so that a reader of many can read the
    rest.
    """

    code = "written_by_newer"
    status = 503

    def __init__(self, detail: str | None = None, *, ids: Collection[str] = ()) -> None:
        """Take a sentence for people, and what it concerns."""
        super().__init__(detail)
        self.ids = frozenset(ids)


class IllegalTransition(HourhandError):
    """A transition that the table of states does not allow: a bug in Hourhand."""

    code = "illegal_move"


def or_error(call: Callable[[], R]) -> R | HourhandError:
    """Return what ``call`` returns, or the `HourhandError` that it raises."""
    try:
        return call()
    except HourhandError as error:
        return error
