"""The limits that `@job` declares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

import hourhand
from hourhand.handlers import Concurrency, InvalidHandler, Limit, Rate, Registry, describe, job


def run(ctx: object) -> None:
    """Do nothing."""


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ("2", "limits must be a list of Concurrency and Rate"),
        (Concurrency(2), "limits must be a list"),
        ([2], "limits must be a list"),
        ([Concurrency(2)] * 4, "at most 3 limits"),
    ],
)
def test_wrong_limits_are_refused_where_they_are_written(limits: Any, problem: str) -> None:
    registry = Registry()
    with pytest.raises(InvalidHandler, match=problem):
        job("sync", limits=limits, registry=registry)
    assert len(registry) == 0


def test_a_handler_without_limits_has_none() -> None:
    registry = Registry()
    declared: list[tuple[str, Sequence[Limit] | None]] = [("a", None), ("b", []), ("c", ())]
    for name, limits in declared:
        job(name, limits=limits, registry=registry)(run)
    assert [info.limits for info in describe(registry)] == [(), (), ()]


def test_limits_are_part_of_what_describes_a_handler() -> None:
    registry = Registry()
    limits = (Concurrency(2, key="payload.account", on_full="skip"), Concurrency(20, holds="job"))
    job("sync", limits=limits, registry=registry)(run)
    [info] = describe(registry)
    assert info.limits == limits
    assert (hourhand.Concurrency, hourhand.Rate) == (Concurrency, Rate)


@pytest.mark.parametrize("other", [Concurrency(5, name="stripe"), Concurrency(5)])
def test_handlers_share_a_limit_that_they_declare_alike(other: Limit) -> None:
    registry = Registry()
    registry.add("charge", run, limits=(Concurrency(5, name="stripe"),))
    registry.add("refund", run, limits=(other,))
    assert len(describe(registry)) == 2


@pytest.mark.parametrize(
    ("other", "difference"),
    [
        (Concurrency(6, name="stripe"), "max is 5 and 6"),
        (
            Concurrency(5, name="stripe", key="tenant", on_full="skip"),
            "key is handler and tenant, on_full is wait and skip",
        ),
        (Rate(5, per=1, name="stripe"), "as Concurrency and as Rate"),
    ],
)
def test_a_shared_limit_is_the_same_in_all_handlers(other: Limit, difference: str) -> None:
    registry = Registry()
    registry.add("charge", run, limits=(Concurrency(5, name="stripe"),))
    registry.add("refund", run, limits=(other,))
    message = f"charge and refund declare the shared limit stripe differently: {difference}."
    with pytest.raises(InvalidHandler, match=re.escape(message)):
        describe(registry)
