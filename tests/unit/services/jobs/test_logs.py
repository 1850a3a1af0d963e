"""Pages of a job's log: complete, in order, each with bounded work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest

from hourhand.domain.errors import InvalidInput, NotFound
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.log import MILLISECOND, ListOrder, LogLine, Span
from hourhand.memory import START
from hourhand.ports.job_logs import ReadLines
from hourhand.services.cursors import seal
from hourhand.services.jobs.logs import MAX_READS_A_PAGE, LogPage, LogService
from tests.world.runs import fail
from tests.world.world import World


@dataclass
class BusyLog:
    """A log of which one read finds at most ``most`` lines, and no more than ``spans`` at once."""

    lines: list[LogLine] = field(default_factory=list)
    most: int = 1_000
    longest: timedelta = timedelta(days=400)
    reads: list[Span] = field(default_factory=list)
    on_read: Callable[[], object] = lambda: None

    def add(self, at: datetime, message: str) -> None:
        tie = f"{len(self.lines):04d}"
        self.lines.append(LogLine(id=tie, at=at, level="INFO", message=message))

    def read(self, job_id: str, span: Span) -> ReadLines:
        self.reads.append(span)
        self.on_read()
        found = [line for line in self.lines if span.start <= line.at < span.end]
        is_whole = len(found) <= self.most and span.end - span.start <= self.longest
        return ReadLines(tuple(found[: self.most]), is_whole)


@dataclass
class Stage:
    world: World
    log: BusyLog
    job: Job

    def page(
        self, order: ListOrder = ListOrder.OLDEST, limit: int = 100, cursor: str | None = None
    ) -> LogPage:
        service = LogService(self.world.store, self.log, self.world.clock)
        return service.page(self.job.id, order=order, limit=limit, cursor=cursor)

    def walk(self, order: ListOrder, limit: int) -> list[str]:
        told: list[str] = []
        cursor: str | None = None
        for _ in range(200):
            before = len(self.log.reads)
            page = self.page(order, limit, cursor)
            assert len(self.log.reads) - before <= MAX_READS_A_PAGE
            assert len(page.lines) <= limit
            told += [line.message for line in page.lines]
            cursor = page.next_cursor
            if cursor is None:
                return told
        raise AssertionError("the log has no end")


@pytest.fixture
def stage(world: World) -> Stage:
    """A job with two attempts some minutes apart, and a log that is empty."""
    job = world.submit(retry={"max_attempts": 2, "base_seconds": 200, "jitter": "none"})
    world.deliver(fail)
    world.advance(200)
    world.deliver()
    world.advance(100)
    return Stage(world, BusyLog(), job)


SECOND_ATTEMPT = START + timedelta(seconds=200)
ORDERS = pytest.mark.parametrize("order", ListOrder)


def add_lines(log: BusyLog, count: int, *, each: timedelta = 7 * MILLISECOND) -> list[str]:
    """Add lines of both attempts, some at one moment; return them, the oldest first."""
    for began_at in (START, SECOND_ATTEMPT):
        for number in range(count):
            log.add(began_at + number // 3 * each, f"{began_at:%M:%S} {number}")
    return [line.message for line in log.lines]


@ORDERS
@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_every_line_comes_once_and_in_order(stage: Stage, order: ListOrder, limit: int) -> None:
    lines = add_lines(stage.log, 20)
    assert stage.walk(order, limit) == (lines if order is ListOrder.OLDEST else lines[::-1])


@ORDERS
@pytest.mark.parametrize(("most", "longest_seconds"), [(4, 10**6), (1_000, 5)])
def test_a_log_of_which_little_can_be_read_at_once_is_read_whole(
    stage: Stage, order: ListOrder, most: int, longest_seconds: int
) -> None:
    stage.log.most, stage.log.longest = most, timedelta(seconds=longest_seconds)
    lines = add_lines(stage.log, 12)
    assert stage.walk(order, 100) == (lines if order is ListOrder.OLDEST else lines[::-1])


@ORDERS
def test_a_page_ends_where_nothing_could_be_read_and_the_next_one_asks_for_less(
    stage: Stage, order: ListOrder
) -> None:
    stage.log.longest = MILLISECOND
    page = stage.page(order)
    assert page.lines == ()
    stage.page(order, cursor=page.next_cursor)
    lengths = [span.end - span.start for span in stage.log.reads]
    assert lengths[MAX_READS_A_PAGE] < lengths[MAX_READS_A_PAGE - 1] < lengths[0]


def test_more_lines_of_one_moment_than_can_be_read_hold_nothing_up(stage: Stage) -> None:
    stage.log.most = 3
    for number in range(9):
        stage.log.add(START, str(number))
    stage.log.add(START + timedelta(seconds=9), "later")
    assert stage.walk(ListOrder.OLDEST, 100) == ["0", "1", "2", "later"]


def test_a_job_that_did_not_start_has_no_log(world: World) -> None:
    job = world.submit(delay_seconds=500)
    stage = Stage(world, BusyLog(), job)
    assert stage.page() == LogPage((), None)
    assert stage.log.reads == []


def test_a_job_that_runs_has_the_lines_so_far(world: World) -> None:
    log = BusyLog()
    job = world.submit()
    pages: list[LogPage] = []

    def look(job: Job, pulse: object) -> object:
        log.add(world.clock.now(), "first")
        pages.append(Stage(world, log, job).page())
        return fail(job, pulse)  # type: ignore[arg-type]

    world.deliver(look)  # type: ignore[arg-type]
    assert [line.message for line in pages[0].lines] == ["first"]
    assert Stage(world, log, job).page().next_cursor is None


def test_a_page_that_took_long_comes_back_short(stage: Stage) -> None:
    lines = add_lines(stage.log, 2)
    stage.log.on_read = lambda: stage.world.advance(11)
    page = stage.page()
    assert len(stage.log.reads) == 1
    assert page.next_cursor is not None
    assert [line.message for line in page.lines] == lines[:2]


def test_an_unknown_job_has_no_log(stage: Stage) -> None:
    stage.job = Job(**{**vars(stage.job), "id": "nobody"})
    with pytest.raises(NotFound, match="nobody"):
        stage.page()


def forged(job: Job, at_ms: int, step_ms: int) -> str:
    return seal((at_ms, "", step_ms), content_hash("log", job.id, ListOrder.OLDEST))


@pytest.mark.parametrize(
    ("at_ms", "step_ms"), [(-1, 1), (10**13, 1), (0, 0), (0, -1), (0, 10**13), (10**40, 1)]
)
def test_a_cursor_that_is_not_ours_is_refused(stage: Stage, at_ms: int, step_ms: int) -> None:
    with pytest.raises(InvalidInput, match="cursor"):
        stage.page(cursor=forged(stage.job, at_ms, step_ms))


@pytest.mark.parametrize(("at_ms", "step_ms"), [(0, 10**13 - 1), (10**13 - 1, 1)])
def test_the_widest_cursors_are_taken(stage: Stage, at_ms: int, step_ms: int) -> None:
    stage.page(cursor=forged(stage.job, at_ms, step_ms))


def test_a_cursor_of_another_order_or_job_is_refused(stage: Stage) -> None:
    add_lines(stage.log, 3)
    cursor = stage.page(ListOrder.NEWEST, 1).next_cursor
    with pytest.raises(InvalidInput, match="cursor"):
        stage.page(ListOrder.OLDEST, 1, cursor)
    stage.job = stage.world.submit()
    with pytest.raises(InvalidInput, match="cursor"):
        stage.page(ListOrder.NEWEST, 1, cursor)
