"""The walk: who is recomputed, where it goes on, and what happens beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.recurrence import TZDATA_VERSION, BadExpression, ExcludedDate
from hourhand.domain.schedules.schedule import CalendarName, Walk
from hourhand.memory import START
from hourhand.services.schedules import recompute
from hourhand.services.schedules.recompute import ScheduleWalk, want_walk
from hourhand.testing import Crash
from tests.unit.services.schedule_bench import Bench, define
from tests.world.faults import Faults, When

NAME = "holidays"
USING = define(exclude=(CalendarName(NAME),))
SETTLED_SECONDS = 36
"""More than a process may keep a calendar (30 s) and stand still (5 s)."""


class WalkBench(Bench):
    """Recomputes as `ScheduleService` does: the schedule counts from now on."""

    def __init__(self) -> None:
        super().__init__()
        self.raises: dict[str, Exception] = {}
        # A first walk, with nothing to see, takes note of the zone data.
        self.step()

    def recompute(self, schedule_id: str) -> None:
        if schedule_id in self.raises:
            raise self.raises[schedule_id]
        now = self.clock.now()
        self.change(schedule_id, effective_from=now, zone_data=TZDATA_VERSION)

    def step(
        self, faults: Faults | None = None, may_go_on: Callable[[], bool] = lambda: True
    ) -> list[str]:
        """Take one step, as a new process; return who was recomputed."""
        store = (faults or Faults()).wrap(self.schedules)
        recomputed: list[str] = []

        class Service:
            def recompute(_, schedule_id: str, *, actor: str) -> None:  # noqa: N805
                self.recompute(schedule_id)
                recomputed.append(schedule_id)

        class NoneDeclared:
            def step(self, walk: Walk, *_: object) -> Walk:
                return walk

        service: Any = Service()
        declared: Any = NoneDeclared()
        walk = ScheduleWalk(
            schedules=store,
            calendars=store,
            recurrences=self.recurrences,
            service=service,
            declared=declared,
            randomness=self.randomness,
            timings=self.timings,
            telemetry=self.telemetry,
        )
        assert walk.step(may_go_on, self.clock.now()) == len(recomputed)
        return recomputed

    def put_many(self, *schedule_ids: str) -> None:
        for schedule_id in schedule_ids:
            self.put(USING, schedule_id)

    def change_calendar(self) -> None:
        """Change the calendar a while after all else, and let it settle."""
        self.clock.advance(60)
        self.put_calendar(NAME, ExcludedDate(START.date()), at=self.clock.now())
        want_walk(self.schedules, self.randomness)
        self.clock.advance(SETTLED_SECONDS)

    @property
    def walk(self) -> Walk:
        return self.schedules.get_walk()


@pytest.fixture
def bench() -> WalkBench:
    return WalkBench()


def _times(count: int) -> Callable[[], bool]:
    answers: Iterator[bool] = iter([True] * count)
    return lambda: next(answers, False)


# --- who is recomputed --------------------------------------------------------------------------


def test_nothing_is_read_but_the_record_while_no_walk_is_wanted(bench: WalkBench) -> None:
    bench.put_many("a")
    faults = Faults()
    assert bench.step(faults) == []
    assert [call.method for call in faults.calls] == ["get_walk"]


def test_schedules_that_use_a_calendar_that_changed_are_recomputed(bench: WalkBench) -> None:
    bench.put_many("a", "c")
    bench.put(define(), "b")
    bench.change_calendar()
    assert bench.step() == ["a", "c"]
    assert (bench.walk.running, bench.walk.finished) == (None, bench.walk.wanted)
    assert bench.step() == []


def test_a_schedule_that_was_put_after_the_change_is_left_alone(bench: WalkBench) -> None:
    bench.put_many("a")
    bench.change_calendar()
    bench.put_many("b")
    assert bench.step() == ["a"]


def test_a_calendar_that_does_not_exist_is_no_change(bench: WalkBench) -> None:
    bench.put_many("a")
    want_walk(bench.schedules, bench.randomness)
    assert bench.step() == []


def test_the_latest_change_of_several_calendars_counts(bench: WalkBench) -> None:
    bench.put_calendar("old", at=START - timedelta(days=1))
    names = ("old", NAME, "gone")
    bench.put(define(exclude=tuple(CalendarName(name) for name in names)), "a")
    bench.change_calendar()
    assert bench.step() == ["a"]


def test_only_live_schedules_are_recomputed(bench: WalkBench) -> None:
    bench.put(USING, "paused", paused_at=START)
    bench.put(USING, "deleted", deleted_at=START)
    bench.put(USING, "ended", next_at=None)
    bench.change_calendar()
    assert bench.step() == ["ended"]


def test_new_zone_data_recomputes_every_live_schedule_of_older_data(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put(define(), "a", zone_data="2024a")
    bench.put(define(), "b")
    bench.put(define(), "c", zone_data="2024a", paused_at=START)
    assert bench.step() == []
    monkeypatch.setattr(recompute, "TZDATA_VERSION", "2099z")
    assert bench.step() == ["a", "b"]
    assert bench.walk.zone_data == "2099z"
    monkeypatch.undo()
    assert bench.step() == []


def test_zone_data_that_is_new_in_the_middle_of_a_walk_begins_it_again(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.put_many("a", "b")
    bench.change_calendar()
    assert bench.step(may_go_on=_times(1)) == ["a"]
    monkeypatch.setattr(recompute, "TZDATA_VERSION", "2099z")
    assert bench.step() == ["a", "b"]


def test_a_schedule_that_was_changed_since_the_index_was_read_is_judged_as_it_stands(
    bench: WalkBench,
) -> None:
    bench.put_many("a", "b")
    bench.change_calendar()
    faults = Faults()
    faults.interrupt("list_schedules", lambda: bench.change("a", deleted_at=START), when=When.AFTER)
    assert bench.step(faults) == ["b"]


def test_a_schedule_whose_definition_is_gone_is_told_and_passed_over(bench: WalkBench) -> None:
    bench.put_many("a", "b")
    bench.change("a", definition="unknown")
    bench.change_calendar()
    assert bench.step() == ["b"]
    assert [line.fields["schedule_id"] for line in bench.telemetry.warnings] == ["a"]
    assert bench.walk.running is None


# --- a change that not everybody knows of yet ---------------------------------------------------


@pytest.mark.parametrize("method", ["get_many", "get_definitions"])
def test_a_schedule_that_cannot_be_understood_is_told_and_passed_over(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    bench.clock.advance(SETTLED_SECONDS)
    read = getattr(bench.schedules, method)

    def misread(asked: Sequence[Any]) -> Any:
        if any("b" in (each, each[0]) for each in asked):
            raise ValueError("It is damaged.")
        return read(asked)

    monkeypatch.setattr(bench.schedules, method, misread)
    assert bench.step() == ["a", "c"]
    (told, *_) = [w.fields for w in bench.telemetry.warnings]
    assert (told["schedule_id"], told["reason"]) == ("b", "It is damaged.")
    assert bench.step() == []


def test_a_change_takes_effect_at_once_and_again_when_everybody_knows_of_it(
    bench: WalkBench,
) -> None:
    bench.put_many("a")
    bench.change_calendar()
    bench.put_calendar(NAME, at=bench.clock.now())
    want_walk(bench.schedules, bench.randomness)
    assert bench.step() == ["a"]
    # Until now another process may have made occurrences by what the calendar held before.
    bench.clock.advance(SETTLED_SECONDS)
    assert bench.step() == ["a"]
    assert bench.step() == []


def test_the_walk_reads_calendars_anew(bench: WalkBench) -> None:
    bench.put_many("a")
    bench.put_calendar(NAME, ExcludedDate(START.date()))
    bench.recurrences.of(USING)
    bench.put_calendar(NAME, at=bench.clock.now())
    want_walk(bench.schedules, bench.randomness)
    bench.step()
    assert bench.recurrences.of(USING).rule.exclude == ()


# --- where it goes on ---------------------------------------------------------------------------


def test_the_walk_goes_on_where_its_time_was_over(bench: WalkBench) -> None:
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    assert bench.step(may_go_on=_times(2)) == ["a", "b"]
    assert (bench.walk.running, bench.walk.position) == (bench.walk.wanted, "b")
    assert bench.step(may_go_on=_times(0)) == []
    assert bench.walk.position == "b"
    assert bench.step() == ["c"]
    assert bench.walk.position is None


def test_every_page_is_walked_and_each_one_stored(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recompute, "SCHEDULES_A_PAGE", 2)
    bench.put_many("a", "b", "c", "d", "e")
    bench.change_calendar()
    faults = Faults(ignoring={"get_walk"})
    assert bench.step(faults) == ["a", "b", "c", "d", "e"]
    assert [call.method for call in faults.calls].count("write_walk") == 4


def test_a_step_ends_at_its_number_of_pages(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recompute, "SCHEDULES_A_PAGE", 1)
    monkeypatch.setattr(recompute, "MAX_PAGES_A_STEP", 2)
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    assert bench.step() == ["a", "b"]
    assert bench.step() == ["c"]


@pytest.mark.parametrize("when", When)
def test_a_walk_that_dies_anywhere_is_finished_by_the_next_steps(
    when: When, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recompute, "SCHEDULES_A_PAGE", 2)
    crashes = 0
    for number in range(1, 50):
        bench = WalkBench()
        bench.put_many("a", "b", "c")
        bench.change_calendar()
        before = bench.clock.now()
        faults = Faults().crash(number, when)
        try:
            bench.step(faults)
        except Crash:
            crashes += 1
            bench.step()
        assert all(bench.schedule(i).effective_from >= before for i in "abc")
        assert bench.walk.finished == bench.walk.wanted
        if not faults.is_crashed:
            break
    assert crashes > 5


def test_a_change_in_the_middle_of_a_walk_wants_another_one(bench: WalkBench) -> None:
    bench.put_many("a", "b")
    bench.change_calendar()
    assert bench.step(may_go_on=_times(1)) == ["a"]
    bench.change_calendar()
    assert bench.step() == ["b"]
    assert bench.walk.finished < bench.walk.wanted
    assert bench.step() == ["a"]
    assert bench.walk.finished == bench.walk.wanted


# --- what happens beside it ---------------------------------------------------------------------


def test_of_two_that_begin_a_walk_at_once_one_walks(bench: WalkBench) -> None:
    bench.put_many("a")
    bench.change_calendar()
    faults = Faults().interrupt("write_walk", bench.step)
    assert bench.step(faults) == []
    assert bench.walk.finished == bench.walk.wanted


def test_who_finds_that_another_walked_on_stops(
    bench: WalkBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recompute, "SCHEDULES_A_PAGE", 1)
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    faults = Faults()
    faults.interrupt("write_walk", lambda: want_walk(bench.schedules, bench.randomness), nth=2)
    assert bench.step(faults) == ["a"]
    # What was done and not stored is seen again, and passed over.
    assert bench.step() == ["b", "c"]
    assert bench.step() == []


def test_the_walk_stops_before_a_schedule_that_does_not_answer(bench: WalkBench) -> None:
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    bench.raises["b"] = Unavailable("throttled")
    assert bench.step() == ["a"]
    assert bench.walk.position == "a"
    assert bench.telemetry.warnings[-1].fields["schedule_id"] == "b"
    bench.raises.clear()
    assert bench.step() == ["b", "c"]


def test_a_schedule_that_cannot_be_recomputed_does_not_hold_up_the_others(
    bench: WalkBench,
) -> None:
    bench.put_many("a", "b", "c")
    bench.change_calendar()
    bench.raises["b"] = BadExpression("no such zone any more")
    assert bench.step() == ["a", "c"]
    assert bench.telemetry.warnings[-1].fields == {
        "schedule_id": "b",
        "error": "BadExpression",
        "reason": "no such zone any more",
    }
    assert bench.walk.running is None
