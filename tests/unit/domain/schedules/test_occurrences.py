"""Deciding nominal times: what becomes a job, what is skipped and why, and where a visit stops."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.groups.overlap import NO_LIMIT, Overlap, OverlapPolicy
from hourhand.domain.schedules import nominal_times, occurrences, rule
from hourhand.domain.schedules.changes import delete, pause, resume
from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK, jitter_of
from hourhand.domain.schedules.nominal_times import (
    DatedRule,
    is_used_up,
    last_nominal,
    possible_occurrences_between,
    search_on,
)
from hourhand.domain.schedules.occurrences import (
    MAX_CATCH_UP,
    overlap_of,
)
from hourhand.domain.schedules.recurrence import (
    LATEST,
    ExcludedExpression,
    ExcludedTimes,
    Found,
    GivenUp,
)
from hourhand.domain.schedules.rule import Work
from hourhand.domain.schedules.schedule import (
    MISFIRE_GRACE,
    FormerRule,
    MisfirePolicy,
    Schedule,
    ScheduleDefinition,
    SkipReason,
)
from tests.unit.domain.schedule_samples import (
    NOON,
    at,
    made,
    make_definition,
    make_schedule,
    minutes,
    misfire,
    ordered,
    recurrence_of,
    rules_of,
    skipped,
    told,
    visit,
)

HOUR = 3600.0
WORK_OF_NINE = 30
"""Twenty units to begin with, and one for each nominal time; the tenth is not looked at."""


def paused_and_resumed(definition: ScheduleDefinition, first: float, last: float) -> Schedule:
    """Return a schedule that is not visited yet and was paused between two minutes."""
    schedule = pause(make_schedule(definition), now=at(first), write_id="p", note="")
    return resume(schedule, now=at(last), write_id="r", note="")


# --- in time ---


def test_everything_within_the_look_ahead_becomes_a_job_and_is_in_the_journal() -> None:
    definition = make_definition()
    decision = visit(make_schedule(definition), definition, NOON)
    assert ordered(decision) == [1, 2, 3, 4, 5]
    after = decision.schedule
    assert told(after) == [(m, m, 1, "job") for m in (1, 2, 3, 4, 5)]
    assert minutes(after.cursor, after.next_at) == [5, 6]
    assert (after.made, after.last_fire, after.last_made) == (5, at(5), at(5))
    assert decision.possible == ()


def test_the_cursor_moves_on_even_where_nothing_fires() -> None:
    definition = make_definition("0 * * * *")
    after = visit(make_schedule(definition), definition, at(1)).schedule
    assert (after.cursor, after.next_at, after.journal) == (at(6), at(60), ())


def test_a_second_visit_goes_on_where_the_first_one_was() -> None:
    definition = make_definition()
    first = visit(make_schedule(definition), definition, NOON).schedule
    again = visit(first, definition, NOON)
    assert (again.orders, again.schedule) == ((), first)
    assert ordered(visit(first, definition, at(1))) == [6]


def test_a_visit_by_a_clock_that_is_behind_takes_nothing_back() -> None:
    definition = make_definition()
    first = visit(make_schedule(definition), definition, NOON).schedule
    assert visit(first, definition, at(-1)).schedule == first


def test_whoever_decides_from_the_same_schedule_comes_to_the_same_jobs() -> None:
    definition = make_definition(jitter_seconds=30)
    schedule = make_schedule(definition)
    one, other = visit(schedule, definition, NOON), visit(schedule, definition, at(0.5))
    assert other.orders[: len(one.orders)] == one.orders


def test_a_tick_that_comes_a_minute_late_has_missed_nothing() -> None:
    definition = make_definition(misfire=misfire("skip"))
    late = at(1) + MISFIRE_GRACE
    just_in_time = visit(make_schedule(definition), definition, late - timedelta(milliseconds=1))
    assert ordered(just_in_time)[0] == 1
    assert told(visit(make_schedule(definition), definition, late).schedule)[0] == (
        *(1, 1, 1),
        SkipReason.MISFIRE,
    )


def test_a_job_knows_its_time_the_one_before_it_and_its_data_interval() -> None:
    definition = make_definition()
    first, second, *_ = visit(make_schedule(definition), definition, NOON).orders
    assert (first.nominal, first.run_at) == (at(1), at(1))
    assert (first.previous, first.interval_start, first.revision) == (None, None, 1)
    assert (second.previous, second.interval_start, second.salt) == (at(1), at(1), "")


def test_the_previous_job_and_the_data_interval_differ_after_a_skip() -> None:
    definition = make_definition(misfire=misfire("skip"))
    schedule = visit(make_schedule(definition), definition, at(0), timedelta(minutes=1)).schedule
    order, *_ = visit(schedule, definition, at(9)).orders
    # 12:02 to 12:08 were missed; 12:09 is due.
    assert minutes(order.nominal, order.previous, order.interval_start) == [9, 1, 8]


def test_an_excluded_time_is_told_and_is_no_end_of_a_data_interval() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(2), at(4)),))
    decision = visit(make_schedule(definition), definition, NOON)
    assert ordered(decision) == [1, 4, 5]
    assert told(decision.schedule) == [
        (1, 1, 1, "job"),
        (2, 2, 1, "excluded"),
        (3, 3, 1, "excluded"),
        (4, 4, 1, "job"),
        (5, 5, 1, "job"),
    ]
    assert decision.orders[1].interval_start == at(1)
    assert decision.orders[1].previous == at(1)


def test_a_schedule_that_is_paused_or_deleted_wants_no_visit() -> None:
    definition = make_definition()
    for schedule in (
        pause(make_schedule(definition), now=NOON, write_id="p", note=""),
        delete(make_schedule(definition), now=NOON, write_id="d"),
    ):
        decision = visit(replace(schedule, next_at=NOON), definition, at(9))
        assert decision.orders == ()
        assert decision.schedule == replace(schedule, next_at=None)


# --- its end ---


def test_it_fires_at_its_end_and_never_again() -> None:
    definition = make_definition(end_at=at(3))
    decision = visit(make_schedule(definition), definition, NOON)
    assert ordered(decision) == [1, 2, 3]
    assert decision.schedule.next_at is None
    assert last_nominal(definition) == at(3)
    assert last_nominal(make_definition()) == LATEST


def test_it_makes_as_many_as_it_may_and_no_more() -> None:
    definition = make_definition(max_occurrences=3)
    decision = visit(make_schedule(definition), definition, NOON)
    assert ordered(decision) == [1, 2, 3]
    after = decision.schedule
    assert (after.made, after.next_at, len(after.journal)) == (3, None, 3)
    assert is_used_up(after, definition)
    assert not is_used_up(after, make_definition())
    assert visit(after, definition, at(60)).orders == ()


def test_one_that_was_missed_counts_and_may_be_the_last() -> None:
    definition = make_definition(max_occurrences=1)
    decision = visit(make_schedule(definition), definition, at(9.5))
    assert ordered(decision) == [8]
    assert told(decision.schedule) == [(1, 7, 7, "misfire"), (8, 8, 1, "job")]


def test_an_expression_that_is_over_wants_no_visit() -> None:
    definition = make_definition("at(2026-03-02T12:03)")
    decision = visit(make_schedule(definition), definition, NOON)
    assert (ordered(decision), decision.schedule.next_at) == ([3], None)


# --- misfire: an outage of 12:00 to 12:10 ---


@pytest.mark.parametrize(
    ("policy", "window", "jobs", "skips"),
    [
        ("latest", HOUR, [9], [(1, 8, 8, "misfire")]),
        ("earliest", HOUR, [1], [(2, 9, 8, "misfire")]),
        ("all", HOUR, [1, 2, 3, 4, 5, 6, 7, 8, 9], []),
        ("skip", HOUR, [], [(1, 9, 9, "misfire")]),
        ("latest", 210, [9], [(1, 6, 6, "window"), (7, 8, 2, "misfire")]),
        ("earliest", 210, [7], [(1, 6, 6, "window"), (8, 9, 2, "misfire")]),
        ("all", 210, [7, 8, 9], [(1, 6, 6, "window")]),
        ("skip", 210, [], [(1, 6, 6, "window"), (7, 9, 3, "misfire")]),
        ("latest", 0, [], [(1, 9, 9, "window")]),
        ("all", 0, [], [(1, 9, 9, "window")]),
    ],
)
def test_what_an_outage_missed(
    policy: str, window: int, jobs: list[int], skips: list[tuple[int, int, int, str]]
) -> None:
    definition = make_definition(misfire=misfire(policy, int(window)))
    decision = visit(make_schedule(definition), definition, at(10))
    assert ordered(decision) == [*jobs, 10, 11, 12, 13, 14, 15]
    rows = [row for row in told(decision.schedule) if row[3] != "job"]
    assert rows == skips
    assert [entry.first for entry in decision.schedule.journal] == sorted(
        entry.first for entry in decision.schedule.journal
    )


@pytest.mark.parametrize(
    ("policy", "window", "jobs", "skips"),
    [
        ("latest", HOUR, [9], [(1, 8, 8, "paused")]),
        ("earliest", HOUR, [1], [(2, 8, 7, "paused"), (9, 9, 1, "paused")]),
        ("all", HOUR, [1, 2, 3, 4, 5, 6, 7, 8, 9], []),
        ("skip", HOUR, [], [(1, 8, 8, "paused"), (9, 9, 1, "paused")]),
        ("latest", 210, [9], [(1, 8, 8, "paused")]),
        ("earliest", 210, [6], [(1, 5, 5, "paused"), (7, 8, 2, "paused"), (9, 9, 1, "paused")]),
        ("all", 210, [6, 7, 8, 9], [(1, 5, 5, "paused")]),
        ("skip", 210, [], [(1, 8, 8, "paused"), (9, 9, 1, "paused")]),
    ],
)
def test_what_fell_into_a_pause(
    policy: str, window: int, jobs: list[int], skips: list[tuple[int, int, int, str]]
) -> None:
    definition = make_definition(misfire=misfire(policy, int(window)))
    schedule = paused_and_resumed(definition, 0.5, 9.4)
    decision = visit(schedule, definition, at(9.4))
    assert ordered(decision) == [*jobs, 10, 11, 12, 13, 14]
    assert [row for row in told(decision.schedule) if row[3] != "job"] == skips


def test_a_pause_just_over_is_missed_though_no_tick_was_late() -> None:
    definition = make_definition(misfire=misfire("skip"))
    schedule = paused_and_resumed(definition, 0.5, 1.1)
    assert ordered(visit(schedule, definition, at(1.2)))[0] == 2


def test_an_outage_after_a_pause_has_its_own_reason() -> None:
    definition = make_definition(misfire=misfire("skip"))
    schedule = paused_and_resumed(definition, 0.5, 3.5)
    rows = told(visit(schedule, definition, at(9)).schedule)
    assert rows[:2] == [(1, 3, 3, "paused"), (4, 8, 5, "misfire")]


def test_a_time_in_a_pause_was_not_late_before_the_pause_ended() -> None:
    definition = make_definition()
    schedule = paused_and_resumed(definition, 0.5, 9.4)
    first, second, *_ = visit(schedule, definition, at(9.4)).orders
    assert minutes(first.nominal, first.run_at) == [9, 9.4]
    assert minutes(second.nominal, second.run_at) == [10, 10]


@pytest.mark.parametrize("policy", MisfirePolicy)
def test_exclusions_in_an_outage_are_told_in_their_place(policy: MisfirePolicy) -> None:
    definition = make_definition(
        misfire=misfire(policy),
        exclude=(ExcludedTimes(at(3), at(5)), ExcludedTimes(at(8), at(10))),
    )
    decision = visit(make_schedule(definition), definition, at(11))
    journal = told(decision.schedule)
    assert [row[0] for row in journal] == sorted(row[0] for row in journal if row[0] is not None)
    excluded = [row for row in journal if row[3] == "excluded"]
    assert excluded == [(3, 4, 2, "excluded"), (8, 9, 2, "excluded")]
    jobs = {"latest": [10], "earliest": [1], "all": [1, 2, 5, 6, 7, 10], "skip": []}[policy]
    assert ordered(decision) == [*jobs, 11, 12, 13, 14, 15, 16]


def test_the_latest_runs_though_only_exclusions_come_after_it() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(8), at(99)),))
    decision = visit(make_schedule(definition), definition, at(11))
    assert ordered(decision) == [7]
    assert told(decision.schedule)[:4] == [
        (1, 6, 6, "misfire"),
        (7, 7, 1, "job"),
        (8, 10, 3, "excluded"),
        (11, 11, 1, "excluded"),
    ]


def test_the_earliest_runs_once_for_each_outage() -> None:
    definition = make_definition(misfire=misfire("earliest"))
    first = visit(make_schedule(definition), definition, at(10))
    assert ordered(first)[:2] == [1, 10]
    again = visit(first.schedule, definition, at(30))
    # 12:15 was decided in time; the second outage took 12:16 to 12:29.
    assert ordered(again)[:2] == [16, 30]


# --- the bounds of a visit ---


def test_all_that_was_missed_waits_its_turn_in_order_and_ahead_of_what_is_due() -> None:
    definition = make_definition(misfire=misfire("all"))
    schedule, now, found = make_schedule(definition), at(120), []
    rooms = []
    for _ in range(4):
        decision = visit(schedule, definition, now)
        schedule = decision.schedule
        found += ordered(decision)
        rooms.append(len(decision.orders))
        now += timedelta(seconds=1)
    assert rooms[:3] == [MAX_CATCH_UP, MAX_CATCH_UP, 119 - 2 * MAX_CATCH_UP + 6]
    assert found == [float(minute) for minute in range(1, 126)]


def test_what_is_cut_is_due_at_once_and_its_cursor_is_the_last_one_decided() -> None:
    definition = make_definition(misfire=misfire("all"))
    after = visit(make_schedule(definition), definition, at(120), room=3).schedule
    assert (after.cursor, after.next_at) == (at(3), at(120))
    assert after.made == 3


def test_without_room_nothing_that_was_missed_is_made_under_all() -> None:
    definition = make_definition(misfire=misfire("all"))
    schedule = make_schedule(definition)
    decision = visit(schedule, definition, at(120), room=0)
    assert decision.orders == ()
    assert decision.schedule == replace(schedule, next_at=at(120))


def test_room_is_no_matter_to_what_is_due_in_time_nor_to_other_policies() -> None:
    for policy, now in (("all", NOON), ("latest", at(10)), ("earliest", at(10))):
        definition = make_definition(misfire=misfire(policy))
        decision = visit(make_schedule(definition), definition, now, room=0)
        assert ordered(decision)[-1] == now.minute + 5


def test_a_visit_makes_no_more_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occurrences, "MAX_JOBS_A_VISIT", 3)
    definition = make_definition()
    first = visit(make_schedule(definition), definition, NOON)
    assert (ordered(first), first.schedule.next_at) == ([1, 2, 3], NOON)
    assert ordered(visit(first.schedule, definition, NOON)) == [4, 5]


@pytest.mark.parametrize(
    ("policy", "rounds"),
    [
        ("latest", [[], [], [19, *range(20, 26)]]),
        ("earliest", [[1], [], [*range(20, 26)]]),
        ("skip", [[], [], [*range(20, 26)]]),
    ],
)
def test_a_visit_looks_at_no_more_than_its_bound(
    policy: str, rounds: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(occurrences, "MAX_WORK", WORK_OF_NINE)
    definition = make_definition(misfire=misfire(policy))
    schedule = make_schedule(definition)
    for jobs in rounds:
        decision = visit(schedule, definition, at(20))
        schedule = decision.schedule
        assert ordered(decision) == jobs
        if jobs != rounds[-1]:
            assert schedule.next_at == at(20)
    assert sum(entry.count for entry in schedule.journal) == 25
    assert schedule.cursor == at(25)


def test_the_latest_is_made_where_only_exclusions_are_left_beyond_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(occurrences, "MAX_WORK", WORK_OF_NINE)
    definition = make_definition(exclude=(ExcludedTimes(at(10), at(30)),))
    first = visit(make_schedule(definition), definition, at(20))
    assert ordered(first) == [9]
    second = visit(first.schedule, definition, at(20))
    assert second.orders == ()
    assert told(second.schedule)[0] == (1, 8, 8, "misfire")


def test_the_rest_of_an_outage_that_was_cut_is_still_of_the_same_outage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(occurrences, "MAX_WORK", WORK_OF_NINE)
    definition = make_definition(misfire=misfire("earliest"))
    first = visit(make_schedule(definition), definition, at(20)).schedule
    # The next tick is a minute later: one more nominal time is missed by then.
    second = visit(first, definition, at(21))
    assert ordered(second) == []
    assert ordered(visit(second.schedule, definition, at(21)))[0] == 21


def test_a_year_of_a_minutely_schedule_is_decided_in_one_visit() -> None:
    definition = make_definition()
    schedule = make_schedule(definition)
    work, week, year = Work(rule.MAX_WORK), 7 * 1_440, 525_600
    decision = visit(schedule, definition, at(week), work=work)
    assert len(decision.orders) == 7
    window, missed, *_ = decision.schedule.journal
    assert (window.count, window.reason) == (week - 1_441, SkipReason.WINDOW)
    assert (missed.count, missed.reason) == (1_439, SkipReason.MISFIRE)
    assert decision.schedule.next_at == at(week + 6)
    # The work is proportional to the time, so a week of it is enough to try.
    assert 0 < work.done * year < rule.MAX_WORK * week


# --- jobs of a visit that died ---


def test_what_was_missed_may_have_jobs_of_a_visit_that_died() -> None:
    definition = make_definition(misfire=misfire("latest", 210))
    decision = visit(make_schedule(definition), definition, at(10))
    assert minutes(*decision.possible) == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_every_time_that_an_outage_of_a_day_missed_is_in_doubt() -> None:
    definition = make_definition(misfire=misfire("skip"))
    decision = visit(make_schedule(definition), definition, at(1441))
    assert minutes(*decision.possible) == [*range(1, 1441)]


def test_doubts_are_looked_for_with_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = rules_of(make_definition())
    assert len(possible_occurrences_between(rules, at(0), at(60))) == 60
    monkeypatch.setattr(nominal_times, "MAX_WORK", 5)
    assert 0 < len(possible_occurrences_between(rules, at(0), at(60))) <= 6


def test_of_a_long_outage_the_first_and_the_last_are_in_doubt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nominal_times, "MAX_DOUBTS", 100)
    definition = make_definition(misfire=misfire("skip"))
    decision = visit(make_schedule(definition), definition, at(1000))
    assert minutes(*decision.possible) == [
        *range(1, 101),
        *range(900, 1000),
    ]


def test_on_either_side_of_the_window_there_are_doubts_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nominal_times, "MAX_DOUBTS", 100)
    definition = make_definition(misfire=misfire("earliest", 500 * 60))
    decision = visit(make_schedule(definition), definition, at(1000))
    assert minutes(*decision.possible) == [
        *range(1, 101),
        *range(400, 500),
        *range(500, 600),
        *range(900, 1000),
    ]


@pytest.mark.parametrize(
    ("policy", "jobs"),
    [
        # The latest missed one runs for what was missed after the jobs that are there.
        ("latest", [1, 2, 9]),
        # An outage for which one ran has had its one.
        ("earliest", [1, 2]),
        ("skip", [1, 2]),
        ("all", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_what_has_a_job_already_is_never_told_as_skipped(policy: str, jobs: list[int]) -> None:
    definition = make_definition(misfire=misfire(policy))
    there = {at(1), at(2)}
    decision = visit(make_schedule(definition), definition, at(10), made_before=there)
    assert ordered(decision) == [*jobs, 10, 11, 12, 13, 14, 15]
    assert there <= {entry.first for entry in decision.schedule.journal if not entry.reason}
    assert decision.schedule.made == len(decision.orders)


def test_a_latest_one_that_is_there_already_supersedes_those_before_it() -> None:
    definition = make_definition()
    schedule = make_schedule(definition)
    decision = visit(schedule, definition, at(10), made_before={at(5)})
    assert ordered(decision)[:2] == [5, 9]
    assert told(decision.schedule)[:3] == [
        (1, 4, 4, "misfire"),
        (5, 5, 1, "job"),
        (6, 8, 3, "misfire"),
    ]


def test_one_that_is_there_and_not_missed_supersedes_nothing() -> None:
    definition = make_definition(max_occurrences=1)
    decision = visit(make_schedule(definition), definition, at(10), made_before={at(10)})
    assert ordered(decision) == [9]
    decision = visit(make_schedule(definition), make_definition(), at(10), made_before={at(10)})
    assert ordered(decision)[:2] == [9, 10]


def test_what_ran_and_was_excluded_only_then_is_told_as_a_job() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(2), at(12)),))
    # A change of a calendar is a change of the schedule, and wants a visit at once.
    schedule = make_schedule(definition, updated_at=at(9.5), next_at=at(9.5))
    decision = visit(schedule, definition, at(10))
    assert minutes(*decision.possible) == [*range(1, 11)]
    again = visit(schedule, definition, at(10), made_before={at(1), at(2)})
    assert told(again.schedule)[:3] == [(1, 1, 1, "job"), (2, 2, 1, "job"), (3, 9, 7, "excluded")]
    assert ordered(again)[:3] == [1, 2, 12]
    assert again.orders[2].interval_start == at(2)


def test_what_a_visit_saw_excluded_is_not_looked_up() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(1), at(600)),))
    schedule = visit(make_schedule(definition), definition, NOON).schedule
    assert schedule.next_at == at(600)
    assert visit(schedule, definition, at(595)).possible == ()
    # One that was excluded later still is, if it comes after what the visit saw.
    more = make_definition(exclude=(ExcludedTimes(at(1), at(602)),))
    assert minutes(*visit(schedule, more, at(610)).possible) == [
        *(600, 601),
        *range(602, 610),
    ]
    assert visit(make_schedule(definition, next_at=None), definition, at(5)).possible == tuple(
        map(at, range(1, 6))
    )


# --- an exclusion that takes long ---


def test_a_visit_goes_on_from_where_the_search_for_the_next_time_gave_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Twenty units for each expression to begin with, and two for each minute.
    monkeypatch.setattr(occurrences, "MAX_WORK_A_LOOK", 240)
    definition = make_definition(exclude=(ExcludedExpression("* 12-15 * * *"),))
    schedule = make_schedule(definition)
    visited = []
    for _ in range(3):
        schedule = visit(schedule, definition, schedule.next_at or NOON).schedule
        visited.append(schedule.next_at)
    # It would fire from 16:00 on, four hours after noon.
    assert minutes(*visited) == [105, 210, 240]
    assert ordered(visit(schedule, definition, at(240))) == [240, 241, 242, 243, 244, 245]


def test_what_is_excluded_for_twenty_years_wants_no_visit() -> None:
    definition = make_definition("0 0 * * *", exclude=(ExcludedExpression("0 0 * * *"),))
    decision = visit(make_schedule(definition), definition, NOON)
    assert (decision.schedule.next_at, decision.must_search_on) == (None, False)


def test_a_search_that_takes_long_is_made_apart_from_the_visit() -> None:
    # Nine in ten minutes it is excluded by what has to be asked anew each day.
    definition = make_definition("0 0 * * *", exclude=(ExcludedExpression("* * * * *"),))
    decision = visit(make_schedule(definition), definition, NOON)
    reached = decision.schedule.next_at
    assert decision.must_search_on
    assert reached is not None
    work = Work(rule.MAX_WORK)
    recurrence = recurrence_of(definition)
    assert search_on(decision.schedule, definition, recurrence, work) is None
    nearly = Work(MAX_WORK_A_LOOK)
    further = search_on(decision.schedule, definition, recurrence, nearly)
    assert further is not None
    assert further > reached
    ended = replace(decision.schedule, next_at=None)
    assert search_on(ended, definition, recurrence, work) is None


# --- work and time ---


def _decided(definition: ScheduleDefinition, schedule: Schedule, work: Work) -> Schedule:
    return occurrences.decide(
        schedule,
        rules_of(definition),
        now=at(20),
        horizon=at(25),
        work=work,
    ).schedule


def test_a_visit_that_is_late_stores_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "UNITS_BETWEEN_QUESTIONS", 1)
    definition = make_definition(misfire=misfire("skip"))
    schedule = make_schedule(definition)
    for minute in range(1, 20):
        schedule = _decided(definition, schedule, Work(10**6, lambda: False))
        assert (schedule.cursor, schedule.next_at) == (at(minute), at(20))


def test_a_visit_looks_no_further_than_it_knows_what_was_missed() -> None:
    everything = (ExcludedExpression("* * * * *"),)
    definition = make_definition("* * * * * *", exclude=everything, jitter_seconds=3600)
    schedule = make_schedule(definition)
    work = Work(400)
    cut = _decided(definition, schedule, work)
    # Half of the work is for that: twenty units for each expression, and two for each second.
    assert schedule.cursor < cut.cursor <= NOON + timedelta(seconds=80)
    assert cut.next_at == at(20)
    later = make_definition("* * * * * *", exclude=everything, jitter_seconds=3600, start_at=at(19))
    passed = _decided(later, make_schedule(later), Work(400))
    assert NOON < passed.cursor < at(19), "it goes on, though nothing is to be decided yet"


# --- jitter ---


@pytest.mark.parametrize("policy", ["skip", "latest"])
def test_what_is_due_later_by_its_jitter_was_not_missed(policy: str) -> None:
    definition = make_definition("*/30 * * * *", jitter_seconds=1800, misfire=misfire(policy))
    jitter = jitter_of("s", at(30), 1800, at(60))
    late = at(30) + jitter + MISFIRE_GRACE
    assert jitter > MISFIRE_GRACE
    before = visit(make_schedule(definition), definition, late - timedelta(milliseconds=1))
    assert (before.orders[0].nominal, before.orders[0].run_at) == (at(30), at(30) + jitter)
    assert before.possible == ()
    missed = visit(make_schedule(definition), definition, late)
    assert missed.possible == (at(30),)
    assert ordered(missed)[:1] == ([30] if policy == "latest" else [])


def test_only_the_last_time_may_be_due_later_by_its_jitter() -> None:
    definition = make_definition(
        jitter_seconds=3600,
        misfire=misfire("skip"),
        exclude=(ExcludedExpression("*/2 * * * *"),),
    )
    schedule = make_schedule(definition)
    jitter = jitter_of("s", at(9), 3600, at(11))
    assert jitter > timedelta(0)
    decision = visit(schedule, definition, at(9) + MISFIRE_GRACE)
    assert ordered(decision)[0] == 9
    assert 7 in minutes(*decision.possible)
    # Nothing but exclusions lies within the reach of the jitter.
    short = replace(definition, jitter_seconds=30.0)
    assert ordered(visit(schedule, short, at(10.9)))[0] == 11


def test_jitter_is_the_same_each_time_and_differs_between_schedules_and_times() -> None:
    hour = timedelta(hours=1)
    drawn = jitter_of("s", NOON, 600, NOON + hour)
    assert drawn == jitter_of("s", NOON, 600, NOON + hour)
    assert drawn != jitter_of("t", NOON, 600, NOON + hour)
    assert drawn != jitter_of("s", at(60), 600, NOON + 2 * hour)


def test_jitter_spreads_schedules_evenly_and_stays_within_its_bound() -> None:
    drawn = [jitter_of(f"s{n}", NOON, 600, None) for n in range(1000)]
    assert all(timedelta(0) <= one < timedelta(seconds=600) for one in drawn)
    assert all(one.microseconds % 1000 == 0 for one in drawn)
    in_minute = [sum(m <= one / timedelta(minutes=1) < m + 1 for one in drawn) for m in range(10)]
    assert min(in_minute) > 60
    assert max(in_minute) < 140


def test_jitter_never_reaches_the_following_nominal_time() -> None:
    following = NOON + timedelta(seconds=1)
    drawn = [jitter_of(f"s{n}", NOON, 86_400, following) for n in range(1000)]
    assert max(drawn) < timedelta(seconds=1)
    assert max(drawn) > timedelta(seconds=0.98)


def test_a_job_runs_later_than_its_nominal_time_by_its_jitter() -> None:
    definition = make_definition(jitter_seconds=30)
    decision = visit(make_schedule(definition), definition, NOON)
    for order in decision.orders:
        following = order.nominal + timedelta(minutes=1)
        expected = jitter_of("s", order.nominal, 30, following)
        assert order.run_at == order.nominal + expected
    # The last one of all is bounded by nothing but the jitter.
    once = make_definition("at(2026-03-02T12:03)", jitter_seconds=30)
    (order,) = visit(make_schedule(once), once, NOON).orders
    assert order.run_at - order.nominal == jitter_of("s", at(3), 30, None)


# --- overlap ---


@pytest.mark.parametrize("policy", [p for p in OverlapPolicy if p is not OverlapPolicy.ALLOW])
def test_one_runs_at_a_time_unless_more_are_allowed(policy: OverlapPolicy) -> None:
    one = overlap_of("s", make_definition(overlap=policy, buffer_limit=7))
    assert one == Overlap(group="s", policy=policy, max_running=1, buffer_limit=7)
    three = overlap_of("s", make_definition(overlap=policy, max_running=3))
    assert three == Overlap(group="s", policy=policy, max_running=3, buffer_limit=100)


def test_under_allow_nothing_is_judged_unless_there_is_a_most() -> None:
    assert overlap_of("s", make_definition(overlap=OverlapPolicy.ALLOW)) is None
    limited = overlap_of("s", make_definition(overlap=OverlapPolicy.ALLOW, max_running=2))
    assert limited == Overlap(group="s", policy=OverlapPolicy.SKIP, max_running=2)


def test_what_is_caught_up_in_order_waits_for_its_turn() -> None:
    definition = make_definition(misfire=misfire("all"), buffer_limit=1)
    decision = visit(make_schedule(definition), definition, at(10))
    policies = [order.overlap.policy for order in decision.orders if order.overlap]
    assert policies == [OverlapPolicy.BUFFER_ALL] * 9 + [OverlapPolicy.SKIP] * 6
    assert decision.orders[0].overlap == overlap_of("s", definition, is_catching_up=True)
    assert decision.orders[0].overlap is not None
    assert decision.orders[0].overlap.buffer_limit == NO_LIMIT


@pytest.mark.parametrize("policy", ["latest", "earliest"])
def test_one_that_runs_for_all_that_were_missed_is_judged_as_any_other(policy: str) -> None:
    definition = make_definition(misfire=misfire(policy))
    decision = visit(make_schedule(definition), definition, at(10))
    assert {order.overlap for order in decision.orders} == {overlap_of("s", definition)}


# --- the journal over visits ---


def test_runs_of_several_visits_are_joined_once_they_are_settled() -> None:
    definition = make_definition(exclude=(ExcludedTimes(at(0), at(50)),))
    schedule = make_schedule(definition)
    for minute in range(0, 50, 5):
        schedule = visit(schedule, definition, at(minute)).schedule
    apart = [(minute, minute, 1, "excluded") for minute in range(45, 50)]
    assert told(schedule)[:6] == [(1, 44, 44, "excluded"), *apart]


def test_what_the_journal_held_stays_before_what_is_decided_now() -> None:
    definition = make_definition()
    journal = (skipped(-9, -3, SkipReason.PAUSED, 7), made(-2))
    schedule = make_schedule(definition, journal=journal)
    assert visit(schedule, definition, NOON).schedule.journal[:2] == journal


def test_a_recurrence_is_asked_for_no_more_than_is_decided() -> None:
    definition = make_definition("* * * * * *")
    asked: list[tuple[datetime, datetime]] = []
    recurrence = recurrence_of(definition)

    class Watched:
        def fires(self, after: datetime, until: datetime, work: Work) -> object:
            asked.append((after, until))
            return recurrence.fires(after, until, work)

        def search(self, after: datetime, until: datetime, work: Work) -> Found | GivenUp | None:
            return recurrence.search(after, until, work)

    decision = occurrences.decide(
        make_schedule(definition),
        [DatedRule(definition, Watched())],  # type: ignore[arg-type]
        now=NOON,
        horizon=at(5),
    )
    assert asked == [(NOON, at(5))]
    assert len(decision.orders) == 300


# --- former rules ---


@pytest.mark.parametrize(
    ("present", "reasons"),
    [
        ("*/10 * * * *", {SkipReason.REPLACED}),
        ("30 * * * * *", {SkipReason.REPLACED}),
        ("*/2 * * * *", {SkipReason.REPLACED, SkipReason.MISFIRE}),
    ],
)
def test_a_visit_that_is_cut_among_times_of_a_former_rule_goes_on_there(
    present: str, reasons: set[SkipReason]
) -> None:
    former, definition = make_definition(), make_definition(present)
    rules = [DatedRule(former, recurrence_of(former), at(60)), *rules_of(definition)]
    before = FormerRule("former", at(60))
    schedule = make_schedule(definition, NOON, former=(before,))
    work = Work(10**6, most_times=3)
    first = occurrences.decide(schedule, rules, now=at(70), horizon=at(75), work=work)
    assert (first.schedule.cursor, first.schedule.former) == (at(3), (before,))
    assert {entry.reason for entry in first.schedule.journal} == reasons
    last = occurrences.decide(first.schedule, rules, now=at(70), horizon=at(75)).schedule
    assert (last.cursor, last.former) == (at(75), ())
    found = {e.reason: e.last for e in last.journal if e.first <= at(60)}
    assert found[SkipReason.REPLACED] in {at(59), at(60)}
