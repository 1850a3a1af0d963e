"""One request, tried until it succeeds or a retry cannot help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from hourhand.client._problems import failure_of
from hourhand.client._steps import Answer, Lost, Operation, Request, Session, pause, send
from hourhand.client._values import ClientError, Conflict, NotFound, Unreachable

FIRST_PAUSE_SECONDS = 0.25
LONGEST_PAUSE_SECONDS = 8.0
"""Before try n, a random part of ``first * 2**(n - 2)``, and never more than the longest."""

LONGEST_RETRY_AFTER_SECONDS = 60.0
"""If the API asks to wait longer, the client gives up."""

_LOST_BEFORE = (
    " The answer to an earlier try was lost, so this request may have been done by that try."
)


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A good answer. ``lost_before``: an earlier try may have been done, its answer lost."""

    answer: Answer
    lost_before: bool = False


def exchange(session: Session, request: Request) -> Operation[Exchanged]:
    """Send ``request`` until it succeeds; raise `ClientError` if it does not.

    Broken connections, time-outs, throttling and server errors are retried. A request
    that must not be done twice is tried again only where it was certainly not done.
    """
    lost_before = False
    attempt = 0
    while True:
        attempt += 1
        outcome = yield from try_once(session, request)
        if isinstance(outcome, Answer):
            return Exchanged(outcome, lost_before)
        failure = outcome
        lost_before = lost_before or failure.may_have_happened
        failure.may_have_happened = lost_before
        is_safe = request.is_repeatable or not lost_before
        is_last = attempt == session.max_attempts
        if is_last or not failure.is_temporary or not is_safe:
            raise _noting_loss(failure, lost_before)
        if not (yield from pause_before_retry(session, attempt, failure)):
            raise failure


def try_once(session: Session, request: Request) -> Operation[Answer | ClientError]:
    """Send ``request`` once; return the answer if it is good, else what went wrong."""
    try:
        outcome = yield from send(request)
    except ClientError as error:
        # It could not even be signed.
        return error
    if isinstance(outcome, Lost):
        return _unreachable(session, request, outcome)
    if HTTPStatus.OK <= outcome.status < HTTPStatus.MULTIPLE_CHOICES:
        return outcome
    failure = failure_of(outcome, str(request))
    failure.retry_after_seconds = _retry_after(outcome.headers, session.time.now())
    return failure


def pause_before_retry(session: Session, attempt: int, failure: ClientError) -> Operation[bool]:
    """Wait before try ``attempt + 1``; return whether there shall be one."""
    asked = failure.retry_after_seconds or 0.0
    if asked > LONGEST_RETRY_AFTER_SECONDS:
        return False
    longest = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (attempt - 1))
    # Full jitter, so that clients that failed together do not retry together.
    return (yield from pause(asked + session.randomness() * longest))


def _unreachable(session: Session, request: Request, lost: Lost) -> Unreachable:
    detail = f"{session.endpoint} did not answer {request}: {lost.reason}"
    if not detail.endswith((".", "?")):
        detail += "."
    return Unreachable(detail, is_temporary=True, may_have_happened=lost.was_sent)


def _noting_loss(failure: ClientError, lost_before: bool) -> ClientError:
    """Add to a refusal that an earlier try of the same request may be its reason."""
    if lost_before and isinstance(failure, (Conflict, NotFound)):
        failure.detail += _LOST_BEFORE
    return failure


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that a Retry-After header asks for, in either of its forms."""
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
