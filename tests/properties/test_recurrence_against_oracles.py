"""When schedules fire, against two oracles: random expressions around every change of the clocks.

At length: ``python -m tests.properties.compare_recurrences --comparisons 1000000``.
"""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.schedules.recurrence import (
    DstFold,
    DstGap,
    ExcludedDate,
    ExcludedExpression,
    Rule,
    compile_rule,
)
from hourhand.domain.schedules.recurrence._cron_fields import HOUR as HOUR_FIELD
from hourhand.domain.schedules.recurrence._cron_fields import MINUTE as MINUTE_FIELD
from hourhand.domain.schedules.recurrence._cron_fields import values_of
from tests.examples import examples
from tests.properties.compare_recurrences import run_task
from tests.properties.recurrence_cases import (
    FOLDS,
    GAPS,
    ODD_ZONES,
    ZONES,
    Case,
    cases,
    changes_of,
    expression,
    places,
    window,
)
from tests.properties.recurrence_comparison import BRUTE_FORCE, CRONSIM, Tally, our_fires, rule_of
from tests.properties.recurrence_oracles import brute_force, zone_of

EXPRESSIONS_BY_CHANGE = 2
MINUTE = timedelta(minutes=1)
PLACES = places(random.Random(0))
SEEDS = st.integers(0, 2**64)
SPELLED_MINUTES, SPELLED_HOURS = (
    st.one_of(
        st.integers(1, high + 1).map(lambda step: f"*/{step}"),
        st.tuples(st.integers(0, 5), st.integers(1, high)).map("{0[0]}/{0[1]}".format),
        st.tuples(st.integers(0, high), st.integers(1, 9)).map("0-{0[0]}/{0[1]}".format),
        st.just("*"),
    )
    for high in (59, 23)
)
"""Minutes and hours that are written by steps and ranges."""
EVERY_DAY = {"Europe/Berlin", "Australia/Lord_Howe"}
"""Zones of which all changes are tried in `make test`: of an hour, and of half an hour."""


@pytest.mark.parametrize(
    "zone",
    [
        zone if zone in EVERY_DAY else pytest.param(zone, marks=pytest.mark.exhaustive)
        for zone in (*ZONES, *ODD_ZONES)
    ],
)
def test_we_fire_as_the_oracles_do_around_every_change_of_a_zone(zone: str) -> None:
    tally, chance = Tally(), random.Random(zone)
    for place in PLACES:
        if place[0] == zone:
            for case in cases(chance, *place, EXPRESSIONS_BY_CHANGE):
                tally.compare(case)
    assert tally.unexplained == 0, "\n".join(map(str, tally.shown))
    oracles = {oracle for oracle, _, _ in tally.compared}
    assert oracles == {BRUTE_FORCE, CRONSIM}


@examples(60, few=6)
@given(SEEDS, st.sampled_from(PLACES))
def test_we_fire_as_the_oracles_do_by_chance(seed: int, place: tuple[str, datetime]) -> None:
    tally, chance = Tally(), random.Random(seed)
    for case in cases(chance, *place, 4):
        tally.compare(case)
    assert tally.unexplained == 0, "\n".join(map(str, tally.shown))


@examples(100, few=10)
@given(
    st.sampled_from(PLACES),
    st.sampled_from(GAPS),
    st.sampled_from(FOLDS),
    SPELLED_MINUTES,
    SPELLED_HOURS,
)
def test_equal_sets_of_minutes_and_hours_run_equally(
    place: tuple[str, datetime], gap: str, fold: str, minute: str, hour: str
) -> None:
    zone, change = place
    minutes, hours = values_of(MINUTE_FIELD, minute), values_of(HOUR_FIELD, hour)
    listed = f"{','.join(map(str, minutes))} {','.join(map(str, hours))} * * *"
    runs = [
        our_fires(
            Case(
                text=text,
                zone=zone,
                after=change - timedelta(days=1),
                until=change + timedelta(days=1),
                gap=gap,
                fold=fold,
            )
        )
        for text in (listed, f"{minute} {hour} * * *", f"cron({minute} {hour} * * ? *)")
    ]
    assert runs == [runs[0]] * 3


def test_every_change_of_2020_to_2040_is_visited() -> None:
    for zone in (*ZONES, *ODD_ZONES):
        assert set(changes_of(zone)) <= {at for name, at in PLACES if name == zone}
    assert len(changes_of("Europe/Berlin")) == 42
    assert len(changes_of("Africa/Casablanca")) > 10
    assert changes_of("Asia/Kathmandu") == changes_of("UTC") == ()


def test_the_long_comparison_makes_equal_cases_of_equal_seeds() -> None:
    last = len(PLACES) - 1
    assert run_task((1, 0, last)) == run_task((1, 0, last)) != run_task((2, 0, last))
    assert run_task((1, 0, last)).cases > 0


@examples(60, few=6)
@given(SEEDS, st.sampled_from(PLACES), st.integers(0, 200))
def test_a_window_cut_in_two_fires_as_the_whole(
    seed: int, place: tuple[str, datetime], cut: int
) -> None:
    for case in islice(cases(random.Random(seed), *place, 2), 3):
        whole = our_fires(case)
        # At a fire it must be in the first part only.
        middle = whole[cut % len(whole)] if whole else case.after + cut * MINUTE
        if not case.after <= middle <= case.until:
            continue
        recurrence = compile_rule(rule_of(case))
        parts = [
            fire.at
            for part in [(case.after, middle), (middle, case.until)]
            for fire in recurrence.fires(*part)
        ]
        assert parts == whole
        assert recurrence.next_fire(case.after, case.until) == (whole[0] if whole else None)
        following = [at for at in whole if at > middle]
        assert recurrence.next_fire(middle, case.until) == (following[0] if following else None)


@examples(60, few=6)
@given(SEEDS, st.sampled_from(PLACES))
def test_exclusions_mark_just_the_fires_of_their_dates_and_expressions(
    seed: int, place: tuple[str, datetime]
) -> None:
    zone, change = place
    chance = random.Random(seed)
    near = change.astimezone(zone_of(zone)).date()
    text, excluded = expression(chance, near), expression(chance, near)
    gap, fold = chance.choice(GAPS), chance.choice(FOLDS)
    after, until = window(chance, change)
    rule = Rule(
        expressions=(text,),
        timezone=zone,
        dst_gap=DstGap(gap),
        dst_fold=DstFold(fold),
        exclude=(ExcludedDate(near), ExcludedExpression(excluded)),
    )
    recurrence = compile_rule(rule)
    fires = {fire.at: fire.is_excluded for fire in recurrence.fires(after, until)}
    without = set(brute_force(excluded, zone, after, until, gap=gap, fold=fold))
    wanted = {
        at: at in without or at.astimezone(zone_of(zone)).date() == near
        for at in brute_force(text, zone, after, until, gap=gap, fold=fold)
    }
    assert fires == wanted
    first = min((at for at, is_excluded in wanted.items() if not is_excluded), default=None)
    assert recurrence.next_fire(after, until) == first
