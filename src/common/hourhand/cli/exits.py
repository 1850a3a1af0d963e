"""The exit codes of the command, and the text that it prints for each failure."""

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
    FAILED: "failed",
    WRONG_USAGE: "wrong usage, or the API rejected a value",
    NOT_FOUND: "not found",
    REFUSED: "refused: the state does not allow it, or the key is taken",
    UNREACHABLE: "the API or AWS is unreachable, throttles or fails",
    NOT_ALLOWED: "not authorised",
    TIMED_OUT: "the time limit has passed",
    INTERRUPTED: "interrupted",
}

OF_THE_API = (WRONG_USAGE, NOT_FOUND, REFUSED, UNREACHABLE, NOT_ALLOWED)
"""The codes that any request can end with."""

NO_ACCESS: Mapping[int, str | None] = {
    UNREACHABLE: "AWS does not answer",
    NOT_ALLOWED: "there are no AWS credentials, or AWS does not accept them",
}
"""The codes of a command that calls AWS itself, for its ``codes``."""


class CommandError(HourhandError):
    """The command cannot continue; ``exit_code`` is one of `MEANINGS`."""

    def __init__(self, detail: str, exit_code: int = FAILED) -> None:
        """Take the sentence to print."""
        super().__init__(detail)
        self.exit_code = exit_code


def codes_text(meanings: Mapping[int, str]) -> str:
    """Return the exit codes as the help shows them; an empty meaning stands for the usual one."""
    codes = (f"{code} {meanings[code] or MEANINGS[code]}" for code in sorted(meanings))
    return f"Exit codes: {'; '.join(codes)}."


def exit_code_of(error: BaseException) -> int | None:
    """Return the code to end with, or ``None`` for a bug, whose traceback is shown."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, CommandError):
        return error.exit_code
    if isinstance(error, HourhandError):
        return FAILED
    return _code_of_answer(error)


def sentences_of(error: BaseException) -> Iterator[str]:
    """Yield what to print for a failure: what is wrong, then a line for each invalid field."""
    if isinstance(error, KeyboardInterrupt):
        yield "Interrupted."
        return
    detail = str(getattr(error, "detail", None) or error)
    yield detail
    for problem in getattr(error, "errors", ()):
        if problem.message not in detail:
            yield f"  {problem.field} {problem.message}"


def one_line(error: BaseException) -> str:
    """Return the same on one line, for a failure that is one of many."""
    return " ".join(sentence.strip() for sentence in sentences_of(error))


def _code_of_answer(error: BaseException) -> int | None:
    # The import loads an HTTP library: only a command that called the API needs it.
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
