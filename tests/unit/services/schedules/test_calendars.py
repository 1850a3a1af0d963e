"""Named calendars: put, read, deleted while nobody uses them."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from hourhand.api.requests.schedule_operations import CalendarInput
from hourhand.domain.errors import NotFound, Unavailable, WrongState
from hourhand.domain.schedules.recurrence import ExcludedDate
from hourhand.domain.schedules.schedule import Calendar, CalendarName
from hourhand.memory import START
from hourhand.services.schedules import calendars, recompute
from hourhand.services.schedules.calendars import MAX_SECONDS_A_SEARCH, CalendarService
from hourhand.services.schedules.recompute import want_walk
from tests.unit.services.schedule_bench import Bench, define
from tests.world.faults import Faults

NAME = "holidays"
USING = define(exclude=(CalendarName(NAME),))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def _service(bench: Bench, faults: Faults | None = None) -> CalendarService:
    store = (faults or Faults()).wrap(bench.schedules)
    return CalendarService(store, store, bench.clock, bench.randomness, bench.telemetry)


def _input(*exclude: str) -> CalendarInput:
    return CalendarInput.parse({"exclude": list(exclude)})


def _put(
    service: CalendarService, *exclude: str, name: str = NAME, note: str | None = None
) -> tuple[Calendar, bool]:
    return service.put(name, _input(*exclude).exclusions, note=note, actor="caller")


# --- put ----------------------------------------------------------------------------------------


def test_a_calendar_that_is_put_can_be_read(bench: Bench) -> None:
    calendar, created = _put(_service(bench), "2026-12-25", note="Christmas")
    assert created
    assert (calendar.name, calendar.revision, calendar.note) == (NAME, 1, "Christmas")
    assert calendar.exclude == (ExcludedDate(START.replace(month=12, day=25).date()),)
    assert calendar.updated_at == START
    assert _service(bench).get(NAME) == calendar


def test_another_put_replaces_it_whole_and_opens_a_revision(bench: Bench) -> None:
    service = _service(bench)
    _put(service, "2026-12-25", note="Christmas")
    bench.clock.advance(5)
    calendar, created = _put(service, "2026-12-26")
    assert (created, calendar.revision, calendar.note) == (False, 2, "")
    assert calendar.updated_at == START + timedelta(seconds=5)
    assert service.get(NAME) == calendar


def test_the_same_put_again_changes_nothing(bench: Bench) -> None:
    service = _service(bench)
    first, _ = _put(service, "2026-12-25", note="Christmas")
    bench.clock.advance(5)
    assert _put(service, "2026-12-25", note="Christmas") == (first, False)
    assert _put(service, "2026-12-25", note="X-mas")[0].revision == 2


def test_each_put_wants_a_walk_over_the_schedules(bench: Bench) -> None:
    service = _service(bench)
    for wanted, day in enumerate(("2026-12-25", "2026-12-26", "2026-12-26"), 1):
        _put(service, day)
        assert bench.schedules.get_walk().wanted == wanted


def test_a_put_that_died_before_it_wanted_a_walk_is_made_good_by_the_next_one(
    bench: Bench,
) -> None:
    faults = Faults().throttle("write_walk")
    with pytest.raises(Unavailable):
        _put(_service(bench, faults), "2026-12-25")
    assert bench.schedules.get_walk().wanted == 0
    assert not _put(_service(bench), "2026-12-25")[1]
    assert bench.schedules.get_walk().wanted == 1


def test_a_put_that_lost_a_race_is_judged_anew(bench: Bench) -> None:
    faults = Faults().interrupt("put_calendar", lambda: _put(_service(bench), "2026-12-25"))
    calendar, created = _put(_service(bench, faults), "2026-12-26")
    assert (created, calendar.revision) == (False, 2)


def test_a_put_that_always_loses_gives_up(bench: Bench) -> None:
    faults = Faults()
    for nth in range(1, calendars.MAX_LOST_RACES + 1):
        faults.interrupt("put_calendar", partial(_put, _service(bench), note=str(nth)), nth=nth)
    with pytest.raises(Unavailable):
        _put(_service(bench, faults), "2026-12-26")


# --- read ---------------------------------------------------------------------------------------


def test_a_calendar_that_does_not_exist_is_not_found(bench: Bench) -> None:
    with pytest.raises(NotFound):
        _service(bench).get(NAME)


def test_calendars_are_listed_by_name_page_by_page(bench: Bench) -> None:
    service = _service(bench)
    for name in ("c", "a", "b"):
        _put(service, "2026-12-25", name=name)
    first, position = service.list(None, 2)
    assert [calendar.name for calendar in first] == ["a", "b"]
    second, end = service.list(position, 2)
    assert ([calendar.name for calendar in second], end) == (["c"], None)


def test_a_calendar_that_the_index_still_shows_is_left_out(bench: Bench) -> None:
    service = _service(bench)
    for name in ("a", "b"):
        _put(service, "2026-12-25", name=name)
    bench.schedules.freeze_index()
    service.delete("a", actor="caller")
    assert [calendar.name for calendar in service.list(None, 9)[0]] == ["b"]


# --- delete -------------------------------------------------------------------------------------


def test_a_calendar_that_nobody_uses_is_deleted(bench: Bench) -> None:
    service = _service(bench)
    _put(service, "2026-12-25")
    bench.put(define())
    service.delete(NAME, actor="caller")
    with pytest.raises(NotFound):
        service.get(NAME)
    with pytest.raises(NotFound):
        service.delete(NAME, actor="caller")


@pytest.mark.parametrize("paused_at", [None, START])
def test_a_calendar_that_a_schedule_uses_is_not_deleted(bench: Bench, paused_at: Any) -> None:
    service = _service(bench)
    _put(service, "2026-12-25")
    bench.put(USING, "report", paused_at=paused_at)
    with pytest.raises(WrongState, match="used by schedule report"):
        service.delete(NAME, actor="caller")
    assert service.get(NAME).name == NAME


def test_a_schedule_that_was_deleted_uses_nothing(bench: Bench) -> None:
    service = _service(bench)
    _put(service, "2026-12-25")
    bench.put(USING, deleted_at=START)
    service.delete(NAME, actor="caller")


def test_every_page_of_schedules_is_looked_through(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "SCHEDULES_A_PAGE", 2)
    service = _service(bench)
    _put(service, "2026-12-25")
    for number in range(4):
        bench.put(define(), f"s{number}")
    bench.put(USING, "s4")
    with pytest.raises(WrongState, match="s4"):
        service.delete(NAME, actor="caller")


def test_a_search_that_takes_too_long_deletes_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calendars, "SCHEDULES_A_PAGE", 1)
    _put(_service(bench), "2026-12-25")
    for number in range(3):
        bench.put(define(), f"s{number}")
    faults = Faults()
    faults.interrupt("list_schedules", lambda: bench.clock.advance(MAX_SECONDS_A_SEARCH), nth=2)
    with pytest.raises(Unavailable):
        _service(bench, faults).delete(NAME, actor="caller")
    assert _service(bench).get(NAME).name == NAME


def test_a_calendar_that_changed_meanwhile_is_judged_anew(bench: Bench) -> None:
    _put(_service(bench), "2026-12-25")
    faults = Faults()

    def change() -> None:
        _put(_service(bench), "2026-12-26")
        bench.put(USING, "late")

    faults.interrupt("delete_calendar", change)
    with pytest.raises(WrongState, match="late"):
        _service(bench, faults).delete(NAME, actor="caller")


def test_a_deletion_that_always_loses_gives_up(bench: Bench) -> None:
    _put(_service(bench), "2026-12-25")
    faults = Faults()
    for nth in range(1, calendars.MAX_LOST_RACES + 1):
        change = partial(_put, _service(bench), note=str(nth))
        faults.interrupt("delete_calendar", change, nth=nth)
    with pytest.raises(Unavailable):
        _service(bench, faults).delete(NAME, actor="caller")


# --- what wants a walk --------------------------------------------------------------------------


def test_those_who_want_a_walk_at_the_same_time_are_all_counted(bench: Bench) -> None:
    faults = Faults().interrupt("write_walk", lambda: want_walk(bench.schedules, bench.randomness))
    want_walk(faults.wrap(bench.schedules), bench.randomness)
    assert bench.schedules.get_walk().wanted == 2


def test_who_never_gets_to_want_a_walk_says_so(bench: Bench) -> None:
    faults = Faults()
    for nth in range(1, recompute.MAX_LOST_RACES + 1):
        faults.interrupt(
            "write_walk", lambda: want_walk(bench.schedules, bench.randomness), nth=nth
        )
    with pytest.raises(Unavailable):
        want_walk(faults.wrap(bench.schedules), bench.randomness)
