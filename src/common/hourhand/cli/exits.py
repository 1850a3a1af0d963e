"""The exit codes of the command, and the sentence that goes with each failure.

This is the one place where they are given their meaning; each verb's help repeats those that it
can end with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from hourhand.domain.errors import HourhandError

DONE = 0
FAILED = 1
WRONG_USAGE = 2
NOT_FOUND = 3
REFUSED = 4
UNREACHABLE = 5
NOT_ALLOWED = 6
TIMED_OUT = 124
INTERRUPTED = 130

MEANINGS: Mapping[int, str] = {
    DONE: "done",
    FAILED: "it failed",
    WRONG_USAGE: "wrong usage, or a value that the API refused",
    NOT_FOUND: "not found",
    REFUSED: "refused, as its state does not allow it or its key is taken",
    UNREACHABLE: "the API cannot be reached, throttles or fails",
    NOT_ALLOWED: "not authorised",
    TIMED_OUT: "the time to wait was over",
    INTERRUPTED: "interrupted",
}

OF_THE_API = (WRONG_USAGE, NOT_FOUND, REFUSED, UNREACHABLE, NOT_ALLOWED)
"""What any request can come to."""


class CommandError(HourhandError):
    """The command cannot do what it was asked for; ``exit_code`` is one of `MEANINGS`."""

    def __init__(self, detail: str, exit_code: int = FAILED) -> None:
        """Take a sentence for people."""
        super().__init__(detail)
        self.exit_code = exit_code


def told_codes(meanings: Mapping[int, str]) -> str:
    """Return the sentence of a verb's help; an empty meaning stands for the usual one."""
    told = (f"{code} {meanings[code] or MEANINGS[code]}" for code in sorted(meanings))
    return f"Exit codes: {', '.join(told)}."


def exit_code_of(error: BaseException) -> int | None:
    """Return the code to end with, or ``None`` for what is a mistake of ours."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, HourhandError):
        return FAILED
    return _code_of_answer(error)


def sentences_of(error: BaseException) -> Iterator[str]:
    """Yield what to print of a failure: what is wrong, then a line for each wrong field."""
    if isinstance(error, KeyboardInterrupt):
        yield "Interrupted."
        return
    detail = str(getattr(error, "detail", None) or error)
    yield detail
    for problem in getattr(error, "errors", ()):
        if problem.message not in detail:
            yield f"  {problem.field} {problem.message}"


def told_in_a_line(error: BaseException) -> str:
    """Return what to print of a failure that is one of many."""
    return " ".join(sentence.strip() for sentence in sentences_of(error))


def _code_of_answer(error: BaseException) -> int | None:
    # The client brings an HTTP library: only what has asked the API pays for it.
    from hourhand import client

    codes: Mapping[type[BaseException], int] = {
        client.WaitTimedOut: TIMED_OUT,
        client.NotConfigured: WRONG_USAGE,
        client.Invalid: WRONG_USAGE,
        client.TooLarge: WRONG_USAGE,
        client.NotFound: NOT_FOUND,
        client.Conflict: REFUSED,
        client.Unauthorised: NOT_ALLOWED,
        client.Unreachable: UNREACHABLE,
        client.Throttled: UNREACHABLE,
        client.ServerFailed: UNREACHABLE,
        client.ClientError: FAILED,
    }
    return next((code for kind, code in codes.items() if isinstance(error, kind)), None)
