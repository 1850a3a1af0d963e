"""What callers may write for an enumeration is exactly what it has."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

import pytest

from hourhand.domain.groups.overlap import OverlapChoice, OverlapPolicy
from hourhand.domain.jobs.job import (
    JobStatus,
    OnLost,
    OnLostChoice,
    Priority,
    PriorityChoice,
    StatusChoice,
)
from hourhand.domain.jobs.retry import Backoff, BackoffChoice, Jitter, JitterChoice
from hourhand.domain.schedules.rule import DstFold, DstFoldChoice, DstGap, DstGapChoice
from hourhand.domain.schedules.schedule import (
    BackfillOrder,
    MisfireChoice,
    MisfirePolicy,
    OrderChoice,
    Reprocess,
    ReprocessChoice,
)


@pytest.mark.parametrize(
    ("kind", "choice"),
    [
        (BackfillOrder, OrderChoice),
        (Backoff, BackoffChoice),
        (DstFold, DstFoldChoice),
        (DstGap, DstGapChoice),
        (Jitter, JitterChoice),
        (JobStatus, StatusChoice),
        (MisfirePolicy, MisfireChoice),
        (OnLost, OnLostChoice),
        (OverlapPolicy, OverlapChoice),
        (Priority, PriorityChoice),
        (Reprocess, ReprocessChoice),
    ],
)
def test_a_choice_is_a_member_or_its_text(kind: type[StrEnum], choice: Any) -> None:
    member, texts = get_args(choice)
    assert member is kind
    assert get_origin(texts) is Literal
    assert list(get_args(texts)) == [each.value for each in kind]
