"""What is kept of an error: the handler's frames, no values, and not too much of it."""

from __future__ import annotations

import threading

from hourhand import JobContext
from hourhand.worker._errors import (
    MESSAGE_BYTES,
    TRACEBACK_BYTES,
    error_info,
    stack_of,
)
from tests.unit.worker.fakes import OneRun


def inner(password: str) -> None:
    raise LookupError("not found")


def traceback_of(handler: object) -> str:
    finished = OneRun().run(handler)  # type: ignore[arg-type]
    assert finished.error is not None
    assert finished.error.traceback is not None
    return finished.error.traceback


def test_the_traceback_begins_in_the_handler_and_shows_no_values() -> None:
    def fail(ctx: JobContext) -> None:
        inner("hunter2" + str(ctx.attempt))

    lines = traceback_of(fail).splitlines()

    assert lines[0] == "Traceback (most recent call last):"
    assert "in fail" in lines[1]
    assert lines[-1] == "LookupError: not found"
    assert "worker/_" not in "".join(lines)
    assert "hunter21" not in "".join(lines)


def test_the_traceback_tells_what_an_error_came_from() -> None:
    def fail(ctx: JobContext) -> None:
        try:
            inner("x")
        except LookupError as error:
            raise ValueError("no such customer") from error

    traceback = traceback_of(fail)

    assert "LookupError: not found" in traceback
    assert "direct cause" in traceback


def test_an_endless_recursion_is_told_in_few_words() -> None:
    def descend(depth: int) -> int:
        return rise(depth + 1)

    def rise(depth: int) -> int:
        return descend(depth + 1)

    traceback = traceback_of(lambda ctx: descend(0))

    assert len(traceback.encode()) <= TRACEBACK_BYTES
    assert traceback.rstrip().splitlines()[-1].startswith("RecursionError")


def test_a_traceback_that_is_too_long_keeps_its_end() -> None:
    def fail(ctx: JobContext) -> None:
        error = ValueError("the end")
        error.__cause__ = ValueError("ü" * TRACEBACK_BYTES)
        raise error

    traceback = traceback_of(fail)

    assert traceback.startswith("[the beginning is cut]\n")
    assert traceback.endswith("ValueError: the end\n")
    assert TRACEBACK_BYTES - 4 <= len(traceback.encode()) <= TRACEBACK_BYTES


def test_a_long_message_is_cut() -> None:
    info = error_info(ValueError("ü" * MESSAGE_BYTES))

    assert len(info.message.encode()) <= MESSAGE_BYTES
    assert info.message.endswith("...")


def test_half_a_surrogate_pair_in_an_error_can_be_stored() -> None:
    def fail(ctx: JobContext) -> None:
        raise ValueError("\ud800")

    finished = OneRun().run(fail)

    assert finished.error is not None
    assert (finished.error.message + (finished.error.traceback or "")).encode()


def test_an_error_that_cannot_be_formatted_is_still_told() -> None:
    class Hostile(SyntaxError):
        """Formatting a SyntaxError reads where it is, which here is no place."""

    def fail(ctx: JobContext) -> None:
        raise Hostile("x", ("file", 1, 1, object()))  # type: ignore[arg-type]

    assert traceback_of(fail) == "The traceback cannot be formatted: AttributeError."


def test_the_stack_of_a_thread_that_ended_is_nothing() -> None:
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()

    assert stack_of(thread) is None
    assert stack_of(threading.Thread()) is None
