"""What is made of the bills: which way is cheaper, from when, and what would save."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hourhand.cli.estimate.comparison import advice, cheaper_from, compare, rounded
from hourhand.cli.estimate.load import Load
from hourhand.cli.estimate.others import always_on, bare_queue, own_scheduler, standard_steps
from hourhand.cli.estimate.ours import hourhand_bill

MILLION = Load(jobs=1e6)


def test_workers_are_cheaper_from_the_point_that_is_told() -> None:
    point = cheaper_from(MILLION, always_on)
    assert point is not None

    for jobs, is_cheaper in ((point * 0.99, False), (point * 1.01, True)):
        load = replace(MILLION, jobs=jobs)
        bill = always_on(load).bill
        assert bill is not None
        assert (bill.dollars < hourhand_bill(load).dollars) is is_cheaper


def test_no_point_is_told_where_a_way_is_cheaper_always_or_never() -> None:
    assert cheaper_from(MILLION, own_scheduler) is None
    assert cheaper_from(MILLION, standard_steps) is None
    assert cheaper_from(replace(MILLION, delayed=1), bare_queue) is None


def test_advice_says_of_each_way_that_can_whether_it_is_cheaper_and_when_to_take_it() -> None:
    comparison = compare(replace(MILLION, jobs=1e7, delayed=0.3))
    sentences = list(advice(comparison))

    for beside in comparison.others:
        told = [each for each in sentences if each.startswith(beside.way.name)]
        assert len(told) == (beside.way.bill is not None)
        if beside.way.bill is not None:
            is_cheaper = beside.way.bill.dollars < comparison.ours.dollars
            assert ("is cheaper" in told[0].split(". Take it")[0]) is is_cheaper
            assert beside.way.better in told[0]


def test_a_difference_within_what_is_known_is_none() -> None:
    comparison = compare(Load(jobs=805_000))
    steps = next(each for each in comparison.others if "Standard" in each.way.name).way

    assert steps.bill is not None
    assert steps.bill.dollars == pytest.approx(comparison.ours.dollars, rel=0.05)
    assert any(told.startswith(f"{steps.name} costs about the same") for told in advice(comparison))


def test_what_would_save_is_told_with_its_dollars() -> None:
    load = replace(MILLION, jobs=1e8, delayed=1)
    saved = hourhand_bill(load).dollars - hourhand_bill(replace(load, batch=500)).dollars
    told = " ".join(advice(compare(load)))

    assert f"would save ${saved:,.2f}" in told
    assert "dispatch=economy" in told


def test_what_is_done_already_saves_nothing() -> None:
    told = " ".join(advice(compare(replace(MILLION, jobs=1e8, batch=500, economy=True))))

    assert "would save" not in told


def test_a_small_load_is_told_that_most_of_its_bill_is_there_anyway() -> None:
    assert "there without any job" in " ".join(advice(compare(Load(jobs=1000))))
    assert "there without any job" not in " ".join(advice(compare(Load(jobs=1e8))))


@pytest.mark.parametrize(
    ("jobs", "text"),
    [(99.6, "100"), (456_789, "460,000"), (3_249_000, "3.2 million"), (2.3e9, "2.3 billion")],
)
def test_a_point_is_told_by_its_first_two_digits(jobs: float, text: str) -> None:
    assert rounded(jobs) == text
