"""The log of a job: its lines, page by page, and those that are still to come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hourhand.answers.jobs import LogLine, LogPage
from hourhand.client._operations._asking import MAX_LIMIT, ask_for, named, target, whole_number
from hourhand.client._operations._jobs import get
from hourhand.client._steps import Emit, Operation, Session, Stream, pause
from hourhand.client._values import UnexpectedAnswer, invalid, shortened

OLDEST, NEWEST = "oldest", "newest"
MAX_PAGE_LINES = 1_000

FOLLOW_SECONDS = 2.0
"""Between two looks at the log of a job that runs."""

LOOKS_AFTER_END = 2
"""How often it is still looked at: CloudWatch shows a line some seconds after it was logged."""


def logs(
    session: Session,
    job_id: str,
    *,
    order: str = OLDEST,
    limit: int | None = None,
    page_size: int = 100,
    follow: bool = False,
) -> Stream[LogLine]:
    """Iterate over the lines that a job logged: the ``oldest`` first, or the ``newest``.

    ``limit`` is the most that are returned; ``None``: all of them. With ``follow`` it goes on
    until the job has ended, waiting for new lines. Raises `Invalid` and `NotFound`.
    """
    _check(order, limit, page_size, follow=follow)
    left, looks_left = limit, LOOKS_AFTER_END if follow else 1
    reading = _Reading()
    while looks_left > 0:
        # Asked before the log: what it logged until its end is then in the log.
        has_ended = not follow or (yield from get(session, job_id)).is_final
        page = yield from _page(session, job_id, order, page_size, reading.cursor)
        for line in reading.new_lines(page):
            yield Emit(line)
            left = None if left is None else left - 1
            if left == 0:
                return
        if reading.go_on(page):
            continue
        looks_left -= has_ended
        if looks_left > 0:
            yield from pause(FOLLOW_SECONDS)


def _check(order: str, limit: int | None, page_size: int, *, follow: bool) -> None:
    whole_number("page_size", page_size, MAX_PAGE_LINES)
    if limit is not None:
        whole_number("limit", limit, MAX_LIMIT)
    if order not in {OLDEST, NEWEST}:
        raise invalid("order", f"must be {OLDEST} or {NEWEST}, not {shortened(order)}")
    if follow and order == NEWEST:
        raise invalid("follow", "needs the oldest lines first")


@dataclass(slots=True)
class _Reading:
    """How far a log was read. Its last page is read again, to see what is new."""

    cursor: str | None = None
    shown: Counter[tuple[Any, ...]] = field(default_factory=Counter)

    def new_lines(self, page: LogPage) -> Iterator[LogLine]:
        """Yield the lines of ``page`` that it did not have before."""
        found: Counter[tuple[Any, ...]] = Counter()
        for line in page.lines:
            mark = (line.at, line.attempt, line.level, line.message, repr(line.fields))
            found[mark] += 1
            if found[mark] > self.shown[mark]:
                self.shown[mark] += 1
                yield line

    def go_on(self, page: LogPage) -> bool:
        """Turn to the page after ``page``; whether there is one."""
        if page.next_cursor is None:
            return False
        if page.next_cursor == self.cursor:
            raise UnexpectedAnswer(
                "The API returned the same next_cursor twice, so the log would never end."
            )
        self.cursor, self.shown = page.next_cursor, Counter()
        return True


def _page(
    session: Session, job_id: str, order: str, page_size: int, cursor: str | None
) -> Operation[LogPage]:
    query = {"order": order, "limit": page_size, "cursor": cursor}
    path = target("jobs", named("id", job_id), "logs", query=query)
    return ask_for(LogPage, session, "GET", path)
