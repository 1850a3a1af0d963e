"""What a schedule must be to be accepted, and the beat of a rate."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.schedules.recurrence import ExcludedExpression
from hourhand.domain.schedules.schedule import CalendarName, ScheduleDefinition
from hourhand.memory import START, MemoryHandlerDirectory
from hourhand.services.schedules import new_schedule
from hourhand.services.schedules.new_schedule import ScheduleCheck, is_rate, settle_anchor
from tests.unit.services.schedule_bench import Bench, define

HOUR = timedelta(hours=1)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(new_schedule, "MAX_WORK", 250)
    return Bench()


def check(bench: Bench, definition: ScheduleDefinition) -> None:
    handlers = MemoryHandlerDirectory("greet")
    ScheduleCheck(handlers, bench.schedules, bench.recurrences).require_sensible(definition, START)


def refusal(bench: Bench, definition: ScheduleDefinition) -> tuple[str, str]:
    with pytest.raises(InvalidInput) as refused:
        check(bench, definition)
    (error,) = refused.value.errors
    return error.field, error.message


def test_what_will_fire_is_accepted(bench: Bench) -> None:
    check(bench, define())
    check(bench, define(end_at=START + HOUR))
    check(bench, define("at(2026-01-05T12:00)", start_at=START + 3 * HOUR))


def test_an_unknown_handler_is_refused(bench: Bench) -> None:
    assert refusal(bench, define(handler="great"))[0] == "handler"


def test_unknown_calendars_are_refused_by_their_names(bench: Bench) -> None:
    bench.put_calendar("known")
    names = tuple(map(CalendarName, ("known", "one", "two")))
    field, message = refusal(bench, define(exclude=names))
    assert field == "exclude"
    assert message.endswith("one, two")
    check(bench, define(exclude=names[:1]))


def test_an_end_that_is_over_is_refused(bench: Bench) -> None:
    assert refusal(bench, define(end_at=START)) == ("end_at", "must be in the future")


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(define("59 23 31 2 *"), id="no such day"),
        pytest.param(define("at(2026-01-05T09:00)"), id="over"),
        pytest.param(define(exclude=(ExcludedExpression("0 * * * *"),)), id="excluded"),
        pytest.param(define(start_at=START + HOUR / 2, end_at=START + 0.9 * HOUR), id="too short"),
        pytest.param(define("at(2026-01-05T12:00)", start_at=START + 4 * HOUR), id="too early"),
    ],
)
def test_what_never_fires_is_refused(bench: Bench, definition: ScheduleDefinition) -> None:
    assert refusal(bench, definition)[0] == "expression"


def test_what_a_search_cannot_tell_is_accepted(bench: Bench) -> None:
    seasonal = (ExcludedExpression("0 * * 1-2 *"),)
    check(bench, define(exclude=seasonal))
    # Where its end is within reach of the search, it is known.
    over = define(exclude=seasonal, end_at=START + 72 * HOUR)
    assert refusal(bench, over)[0] == "expression"


def test_a_calendar_may_exclude_every_fire(bench: Bench) -> None:
    bench.put_calendar("all", ExcludedExpression("0 * * * *"))
    assert refusal(bench, define(exclude=(CalendarName("all"),)))[0] == "expression"


def test_the_beat_of_a_rate_is_what_the_body_says_else_the_one_that_nobody_gave() -> None:
    now, later = START + timedelta(microseconds=5), START + 3 * HOUR
    rate = define("rate(7 minutes)")
    implied = settle_anchor(rate, None, now)
    assert (implied.anchor, implied.is_anchor_given) == (START, False)
    assert settle_anchor(rate, implied, later) == implied
    assert settle_anchor(rate, define(), later).anchor == later
    # What was read is sent back.
    assert settle_anchor(replace(rate, anchor=START), implied, later) == implied
    given = settle_anchor(replace(rate, anchor=START - HOUR), implied, later)
    assert (given.anchor, given.is_anchor_given) == (START - HOUR, True)
    assert settle_anchor(rate, given, later).anchor == later
    started = settle_anchor(replace(rate, start_at=START + HOUR), given, later)
    assert (started.anchor, started.is_anchor_given) == (START + HOUR, True)
    assert settle_anchor(replace(rate, start_at=START + HOUR), implied, later) == started
    assert settle_anchor(rate, started, later).anchor == later


def test_a_stored_anchor_of_an_older_release_was_given_by_the_start_alone() -> None:
    rate = define("rate(7 minutes)")
    assert settle_anchor(rate, replace(rate, anchor=START), START + HOUR).anchor == START
    started = replace(rate, anchor=START, start_at=START)
    assert settle_anchor(rate, started, START + HOUR).anchor == START + HOUR


def test_only_a_rate_has_a_beat() -> None:
    assert settle_anchor(define(), None, START).anchor is None
    assert is_rate(" RATE(5 minutes)")
    assert not is_rate("cron(0 0 * * ? *)")
    union = define("0 * * * *", "rate(7 minutes)")
    assert settle_anchor(union, None, START).anchor == START
