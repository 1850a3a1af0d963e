"""The limits that `@job` declares."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("other", "is_refused"),
    [
        (Concurrency(5, name="stripe"), False),
        (Concurrency(5), False),
        (Concurrency(6, name="stripe"), True),
        (Concurrency(5, name="stripe", key="tenant"), True),
        (Rate(5, per=1, name="stripe"), True),
    ],
)
def test_a_shared_limit_is_the_same_in_all_handlers(other: Limit, is_refused: bool) -> None:
    registry = Registry()
    registry.add("charge", run, limits=(Concurrency(5, name="stripe"),))
    registry.add("refund", run, limits=(other,))
    if not is_refused:
        assert len(describe(registry)) == 2
        return
    with pytest.raises(InvalidHandler, match="charge and refund declare the shared limit stripe"):
        describe(registry)
