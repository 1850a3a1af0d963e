"""The log of a job: when there can be lines, and how a page of them is searched for."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.jobs.job import Attempt, Outcome
from hourhand.domain.jobs.log import (
    FIRST_STEP,
    LONGEST_STEP,
    MILLISECOND,
    ListOrder,
    LogLine,
    Search,
    Span,
    begin_search,
    log_spans,
    read_log_line,
)
from tests.unit.domain.job_samples import NOW, a_job, after

SECOND = timedelta(seconds=1)
OLDEST, NEWEST = ListOrder.OLDEST, ListOrder.NEWEST


def attempt(token: int, start: float | None, end: float | None) -> Attempt:
    return Attempt(
        number=token,
        token=token,
        worker="w-1",
        started_at=None if start is None else after(start),
        finished_at=None if end is None else after(end),
        outcome=None if end is None else Outcome.FAILED,
    )


def spans_of(*attempts: Attempt, token: int = 0) -> list[Span]:
    newest = attempts[-1].token if attempts else 0
    job = replace(a_job(), created_at=NOW, token=token or newest)
    return list(log_spans(job, attempts, after(10_000)))


def span(start: float, end: float) -> Span:
    return Span(after(start), after(end))


# --- spans ---


@pytest.mark.parametrize(
    ("attempts", "spans"),
    [
        ([], []),
        ([attempt(1, 100, 160)], [span(95, 220)]),
        ([attempt(1, 100, 160), attempt(2, 200, 300)], [span(95, 360)]),
        ([attempt(1, 100, 160), attempt(2, 900, 950)], [span(95, 220), span(895, 1010)]),
        ([attempt(1, 9_000, None)], [span(8_995, 10_005)]),
        ([attempt(1, None, 2_000)], [span(1_095, 2_060)]),
    ],
    ids=[
        "no attempt, no line",
        "around an attempt",
        "attempts that follow one another are one span",
        "nothing is logged between two attempts",
        "an attempt under way has no end yet",
        "an attempt took no longer than a function may",
    ],
)
def test_lines_are_searched_around_the_attempts(attempts: list[Attempt], spans: list[Span]) -> None:
    assert spans_of(*attempts) == spans


def test_attempts_that_are_not_on_record_any_more_were_between_those_that_are() -> None:
    known = [attempt(1, 100, 160), attempt(4, 5_000, 5_010)]
    assert spans_of(*known) == [span(95, 5_070)]
    assert spans_of(attempt(3, 5_000, 5_010)) == [span(0, 5_070)]
    assert spans_of(attempt(1, 100, 160), token=2) == [span(95, 10_005)]
    assert spans_of(token=1) == [span(0, 10_005)]


# --- the search ---

SPANS = (span(0, 1_000), span(5_000, 6_000))


def line(at: float, tie: str = "a") -> LogLine:
    return LogLine(id=tie, at=after(at), level="INFO", message="m")


def test_a_search_begins_at_its_end_of_the_log() -> None:
    assert begin_search(OLDEST, SPANS).next_span(SPANS) == Span(after(0), after(0) + FIRST_STEP)
    newest = begin_search(NEWEST, SPANS).next_span(SPANS)
    assert newest == Span(after(6_000) - FIRST_STEP, after(6_000))
    for order in ListOrder:
        assert begin_search(order, ()).next_span(()) is None


@pytest.mark.parametrize("order", ListOrder)
def test_a_search_comes_to_every_moment_once_and_goes_faster(order: ListOrder) -> None:
    search, found = begin_search(order, SPANS), []
    while (part := search.next_span(SPANS)) is not None:
        found.append(part)
        search = search.after(part)
    if order is NEWEST:
        found.reverse()
    assert found[0].start == after(0)
    assert found[-1].end == after(6_000)
    gaps = [one.end for one, other in itertools.pairwise(found) if one.end != other.start]
    assert gaps == [after(1_000)]
    assert len(found) < 10


def test_a_step_grows_up_to_a_week() -> None:
    search = begin_search(OLDEST, SPANS)
    for _ in range(30):
        search = search.after(span(0, 1))
    assert search.step == LONGEST_STEP


def test_a_search_goes_on_behind_the_last_line() -> None:
    lines = [line(1, "a"), line(1, "b"), line(2, "a"), line(0, "z")]
    oldest = begin_search(OLDEST, SPANS).at_line(line(1, "a"))
    assert oldest.unread(lines) == [line(1, "b"), line(2, "a")]
    part = oldest.next_span(SPANS)
    assert part is not None
    assert part.start == after(1)
    newest = begin_search(NEWEST, SPANS).at_line(line(1, "b"))
    assert newest.unread(lines) == [line(1, "a"), line(0, "z")]
    part = newest.next_span(SPANS)
    assert part is not None
    assert part.end == after(1) + MILLISECOND


def test_a_whole_span_that_was_read_leaves_no_line_of_its_first_or_last_moment() -> None:
    oldest = begin_search(OLDEST, SPANS).after(span(0, 10))
    assert oldest.unread([line(9), line(10)]) == [line(10)]
    newest = begin_search(NEWEST, SPANS).after(span(5_990, 6_000))
    assert newest.unread([line(5_990), line(5_989)]) == [line(5_989)]


def test_what_cannot_be_read_at_once_is_read_in_smaller_parts() -> None:
    search: Search | None = begin_search(NEWEST, SPANS)
    steps = []
    while search is not None:
        part = search.next_span(SPANS)
        assert part is not None
        steps.append((part.end - part.start) // MILLISECOND)
        search = search.closer(part)
    assert steps == [120_000, 30_000, 7_500, 1_875, 468, 117, 29, 7, 1]


# --- lines ---


def read(**fields: object) -> LogLine | None:
    found = read_log_line(json.dumps(fields), place="7", at=NOW)
    assert found is None or found[0] == "job-1"
    return None if found is None else found[1]


def test_a_line_is_read_with_its_own_fields_alone() -> None:
    told = read(
        level="WARNING",
        message="Sent.",
        timestamp="x",
        service="s",
        location="l",
        job_id="job-1",
        attempt=2,
        handler="greet",
        trace_id="t",
        recipients=3,
    )
    assert told == LogLine(
        id="7", at=NOW, level="WARNING", message="Sent.", attempt=2, fields={"recipients": 3}
    )


def test_a_sentence_may_be_any_value_and_an_attempt_must_be_a_number() -> None:
    told = read(job_id="job-1", message={"a": 1}, attempt="two")
    assert told is not None
    assert (told.level, told.message, told.attempt) == ("INFO", '{"a": 1}', None)


def test_a_long_line_is_cut() -> None:
    told = read(job_id="job-1", message="m" * 20_000, big="x" * 30_000)
    assert told is not None
    assert len(told.message) == 10_000
    assert told.fields == {"omitted": "the fields of this line are too long"}


def test_a_number_that_json_does_not_know_is_a_text() -> None:
    found = read_log_line('{"job_id": "j", "message": "m", "x": NaN}', place="1", at=NOW)
    assert found is not None
    assert found[1].fields == {"x": "NaN"}


@pytest.mark.parametrize(
    "text",
    [
        "printed",
        "[1]",
        '{"message": "of no job"}',
        '{"job_id": 7, "message": "m"}',
        '{"job_id": "j"}',
        '{"job_id": "j", "message": "m", "n": ' + "9" * 5000 + "}",
        "[" * 100_000,
    ],
)
def test_what_is_no_line_of_a_job_is_none(text: str) -> None:
    assert read_log_line(text, place="1", at=NOW) is None
