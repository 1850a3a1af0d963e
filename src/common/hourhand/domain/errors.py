"""The one family of errors that Hourhand raises; each has a stable ``code`` for callers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from types import MappingProxyType
from typing import ClassVar, TypeVar

R = TypeVar("R")

MAX_COMPARED_NAMES = 1_000
MAX_COMPARED_CHARACTERS = 100
"""Longer texts are no misspelt names, and comparing them takes long."""

MAX_NEAR_NAMES = 3
MAX_SHOWN_CHARACTERS = 100
_WORDS = re.compile(r"[_.-]")


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


class RunEnded(HourhandError):
    """The run is final, so it takes no signals and no callbacks any more."""

    code = "run_ended"
    status = 409


class NotDurable(HourhandError):
    """The job's handler is not durable."""

    code = "not_durable"
    status = 409


class AlreadyCompleted(HourhandError):
    """The callback was completed before, with another outcome."""

    code = "already_completed"
    status = 409


class Compensated(HourhandError):
    """The steps of the run were reversed, so it cannot go on where it stopped."""

    code = "compensated"
    status = 409


class BatchClosed(HourhandError):
    """The batch takes no more jobs."""

    code = "batch_closed"
    status = 409


class MembersMissing(HourhandError):
    """A batch cannot be closed: a member is missing, or is there beyond the total."""

    code = "members_missing"
    status = 409


class IdempotencyConflict(HourhandError):
    """The idempotency key or id was already used with another body."""

    code = "idempotency_conflict"
    status = 409


class UniqueConflict(HourhandError):
    """Another job has the unique key."""

    code = "unique_conflict"
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


class CannotStart(InvalidInput):
    """The run of a child holds what the child needs to start, until it ends."""

    code = "deadlock"


class InvalidUnique(InvalidInput):
    """A unique key is invalid: an option is wrong, or two contradict each other."""

    code = "invalid_unique"


class InvalidDebounce(InvalidInput):
    """A debounce is invalid: an option is wrong, or two contradict each other."""

    code = "invalid_debounce"


class MissingKey(InvalidInput):
    """The job has no value where its unique key is, so it would be taken for all others without."""

    code = "missing_key"


class NoKeyedLimit(InvalidInput):
    """The handler has no concurrency limit with a key of its own, so no key can be chosen."""

    code = "no_keyed_limit"


class NotSupportedYet(InvalidInput):
    """This field is not supported yet, so it is refused rather than ignored."""

    code = "not_supported_yet"


class Unavailable(HourhandError):
    """A store or queue did not answer. Nothing is half done, and the call can be retried.

    For a job of a batch, ``stored`` says whether it is stored (``None``: not known), and ``job_id``
    under which id it can be submitted again (``None``: by its unique key, as it was sent).
    """

    code = "unavailable"
    status = 503

    def __init__(
        self, detail: str | None = None, *, stored: bool | None = None, job_id: str | None = None
    ) -> None:
        """Take a sentence for people, and what is known of a job."""
        super().__init__(detail)
        self.stored = stored
        self.job_id = job_id


class PutOff(Unavailable):
    """The table is throttled, or did not answer.

    ``stored`` is false if the write was not applied, and ``None`` if it may have been.
    """


class QuotaExceeded(Unavailable):
    """A tenant or a caller has as many jobs as its quota allows."""

    code = "quota_exceeded"
    status = 429

    def __init__(self, detail: str | None = None, retry_after_seconds: int = 60) -> None:
        """Take a sentence for people, and when the quota may have room."""
        super().__init__(detail, stored=False)
        self.retry_after_seconds = retry_after_seconds


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


def near_names(wrong: str, known: Iterable[str]) -> list[str]:
    """Return the few known names that ``wrong`` may be a misspelling of, the likeliest first.

    They are names alike, and names that have it as a word: ``delay`` is near ``delay_seconds``.
    """
    if len(wrong) > MAX_COMPARED_CHARACTERS:
        return []
    names = list(islice(known, MAX_COMPARED_NAMES))
    alike = get_close_matches(wrong, names, MAX_NEAR_NAMES)
    longer = [name for name in names if wrong in _WORDS.split(name)]
    return list(dict.fromkeys([*alike, *longer]))[:MAX_NEAR_NAMES]


def changed_too_often(what: str) -> Unavailable:
    """Return the error of a request that lost every race between its read and its write."""
    return Unavailable(f"{what} changed too often during the request; try again.")


def did_you_mean(
    wrong: str,
    known: Iterable[str],
    other_words: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the question ``Did you mean 'days'?``, and nothing where no known name is near.

    ``other_words``: what is called differently elsewhere, by that name.
    """
    other = other_words.get(wrong)
    near = near_names(wrong, known) if other is None else [other]
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else ""


def shortened(value: object) -> str:
    """Return a caller's wrong value as an error shows it, on one line and shortened."""
    shown = repr(value)
    if len(shown) <= MAX_SHOWN_CHARACTERS:
        return shown
    return shown[: MAX_SHOWN_CHARACTERS - 3] + "..."


def unknown_field(
    name: str,
    known: Collection[str],
    other_words: Mapping[str, str] = MappingProxyType({}),
    *,
    lists_all: bool = True,
) -> str:
    """Return the message of a field that is not among the ``known``, which it lists on demand."""
    all_of_them = f"The fields are {', '.join(known)}." if known else "There are no fields."
    sentences = (
        "is not a known field.",
        did_you_mean(name, known, other_words),
        all_of_them if lists_all else "",
    )
    return " ".join(filter(None, sentences)).removesuffix(".")
