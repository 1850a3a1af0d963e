"""The options of limits: each is checked, and no two may contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.limits.declarations import (
    Concurrency,
    Holds,
    OnFull,
    Order,
    Rate,
    check_limits,
    limit_ids,
    limit_names,
)
from hourhand.domain.limits.keys import InvalidLimit


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"max": 0}, "max must be a whole number from 1 to 1,000, not 0"),
        ({"max": 1001}, "max must be"),
        ({"max": True}, "max must be"),
        ({"max": 2.0}, "max must be"),
        ({"key": "paylod.a"}, "key must be"),
        ({"name": ""}, "name of a limit is 1 to 64"),
        ({"name": "a.b"}, "name of a limit is 1 to 64"),
        ({"name": 5}, "name of a limit is 1 to 64"),
        ({"name": "x" * 65}, "name of a limit is 1 to 64"),
        ({"on_full": "drop"}, "on_full must be one of wait, skip, cancel_running, replace_waiting"),
        ({"holds": "forever"}, "holds must be one of attempt, job, success"),
        ({"order": "random"}, "order must be one of due, fair"),
        ({"max_waiting": 0}, "max_waiting must be a whole number from 1 to 10,000"),
        ({"max_waiting": 10_001}, "max_waiting must be"),
        ({"max_waiting": 5, "on_full": "skip"}, "max_waiting cannot be given with on_full='skip'"),
        ({"max_waiting": 5, "on_full": "replace_waiting"}, "max_waiting cannot"),
        ({"order": "fair", "on_full": "cancel_running"}, "order='fair' cannot be given with on"),
        ({"order": "fair", "key": "tenant"}, "order='fair' cannot be given with key='tenant'"),
        ({"holds": "success", "on_full": "cancel_running"}, "holds='success' cannot"),
    ],
)
def test_a_wrong_option_of_a_concurrency_limit_is_named(
    options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidLimit, match=problem):
        Concurrency(**{"max": 2, **options})


def test_a_concurrency_limit_takes_its_options_as_texts() -> None:
    limit = Concurrency(
        2, key="payload.a", name="stripe", on_full="wait", max_waiting=5, holds="job", order="fair"
    )
    assert limit == Concurrency(
        2,
        key="payload.a",
        name="stripe",
        on_full=OnFull.WAIT,
        max_waiting=5,
        holds=Holds.JOB,
        order=Order.FAIR,
    )
    assert limit.holds is Holds.JOB
    assert limit.path.fields == ("a",)
    assert [Concurrency(n).is_lazy for n in (1, 2, 3)] == [True, True, False]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"count": 0}, "count must be a whole number from 1 to 1,000,000"),
        ({"per": 0}, "per must be a number of seconds from 1 to 2,592,000, not 0"),
        ({"per": float("nan")}, "per must be"),
        ({"per": "60"}, "per must be"),
        ({"per": True}, "per must be"),
        ({"per": 2_592_001}, "per must be"),
        ({"key": "tags"}, "key must be"),
        ({"name": "a b"}, "name of a limit"),
        ({"burst": 0}, "burst must be"),
        ({"exact": "yes"}, "exact must be True or False"),
        ({"window": "sliding"}, "window must be 'fixed' or None"),
        ({"on": "start"}, "on must be 'retry', 'take' or None"),
        ({"on": "take"}, "on='take' needs a name"),
        ({"shards": 51}, "shards must be a whole number from 1 to 50"),
        ({"shards": 11}, "shards must be at most the burst, which is 10, not 11"),
        ({"burst": 3, "shards": 4}, "shards must be at most the burst, which is 3, not 4"),
        ({"cost": 0}, "cost must be a number from 0.001 to 1,000,000, not 0"),
        ({"cost": 100.5}, "cost must be at most the count, 100: 100.5"),
        ({"cost": 2, "on": "take", "name": "a"}, "cost cannot be given with on='take'"),
        ({"cost": "tokens"}, "cost must be a number or a field such as payload.tokens"),
        ({"cost": "paylod.tokens"}, "cost must be handler"),
        ({"exact": True, "window": "fixed"}, "exact cannot be given with window"),
        ({"exact": True, "count": 101}, "count must be at most 100 with exact=True, not 101"),
        ({"exact": True, "count": 10, "burst": 2}, "burst cannot be given with exact"),
        ({"exact": True, "count": 10, "shards": 2}, "shards cannot be given with exact"),
        ({"window": "fixed", "burst": 2}, "burst cannot be given with window"),
        ({"window": "fixed", "cost": 2.5}, "cost cannot be given with window"),
    ],
)
def test_a_wrong_option_of_a_rate_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidLimit, match=problem):
        Rate(**{"count": 100, "per": 60, **options})


@pytest.mark.parametrize(
    ("rate", "burst"),
    [
        (Rate(100, per=60), 10),
        (Rate(5, per=1), 1),
        (Rate(100, per=60, burst=20, key="tenant", cost="payload.tokens", on="retry"), 20),
        (Rate(100, per=60, exact=True), 1),
        (Rate(100, per=60, window="fixed"), 1),
    ],
)
def test_the_burst_of_a_rate_is_a_tenth_of_its_count_unless_it_is_a_window(
    rate: Rate, burst: int
) -> None:
    assert rate.burst_size == burst
    assert rate.path.divides == (rate.key == "tenant")


@pytest.mark.parametrize(
    ("declared", "count", "changed"),
    [
        (Rate(100, per=60, burst=50), 1, Rate(1, per=60, burst=1)),
        (Rate(100, per=60, burst=50), 200, Rate(200, per=60, burst=50)),
        (Rate(100, per=60), 30, Rate(30, per=60)),
        (Rate(100, per=60, shards=5), 30, Rate(30, per=60, shards=3)),
        (Rate(100, per=60, burst=9, shards=9), 4, Rate(4, per=60, burst=4, shards=4)),
        (Rate(100, per=60, cost=5), 3, Rate(3, per=60, cost=3)),
        (Rate(10, per=60, exact=True), 20, Rate(20, per=60, exact=True)),
    ],
)
def test_a_number_that_is_set_bounds_the_burst_and_the_shards(
    declared: Rate, count: int, changed: Rate
) -> None:
    assert declared.with_count(count) == changed


def test_a_limit_is_named_by_its_place_unless_it_has_a_name() -> None:
    limits = (Concurrency(2), Concurrency(3, name="stripe"), Rate(1, per=1))
    assert limit_names("sync.account", limits) == ("sync.account.1", "stripe", "sync.account.3")
    assert limit_names("sync", ()) == ()


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ([Concurrency(1)] * 4, "at most 3 limits, not 4"),
        ([Concurrency(1, name="a"), Rate(1, per=1, name="a")], "Two limits .* the name 'a'"),
        ([Rate(5, per=1), Rate(9, per=60)], "Two rate limits .* key 'handler': give .* a name"),
        ([Concurrency(1), Concurrency(2)], "Two concurrency limits .* the key 'handler'"),
    ],
)
def test_a_handler_has_at_most_three_limits_that_can_be_told_apart(
    limits: list[Any], problem: str
) -> None:
    with pytest.raises(InvalidLimit, match=problem):
        check_limits(limits)
    check_limits(limits[:1])


def test_limits_of_another_kind_or_key_or_with_a_name_are_told_apart() -> None:
    check_limits([Rate(5, per=1), Rate(9, per=60, name="hourly"), Concurrency(1)])
    check_limits([Rate(5, per=1), Rate(5, per=1, key="tenant"), Rate(5, per=1, key="tags.x")])


def test_ids_do_not_change_where_a_limit_is_added_before_another() -> None:
    tenant, everyone = Concurrency(5, key="tenant"), Concurrency(2)
    ids = ("sync:concurrency:tenant", "sync:concurrency:handler")
    assert limit_ids("sync", (tenant, everyone)) == ids
    shared, rate = Rate(5, per=1, name="bank"), Rate(5, per=1)
    assert limit_ids("sync", (shared, tenant, everyone)) == ("bank", *ids)
    assert limit_ids("sync", (rate, tenant)) == ("sync:rate:handler", "sync:concurrency:tenant")
