"""When a lease may be taken from its holder."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ticks.leases import may_be_taken
from hourhand.memory import START

MARGIN = timedelta(seconds=2)
OWN = timedelta(seconds=30)
MILLISECOND = timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("ends_in", "may_be"),
    [
        (-MARGIN - MILLISECOND, True),
        (-MARGIN, False),
        (timedelta(0), False),
        (OWN, False),
        (OWN + MARGIN, False),
        (OWN + MARGIN + MILLISECOND, True),
    ],
)
def test_a_lease_is_taken_once_it_expired_or_if_no_right_clock_made_it(
    ends_in: timedelta, may_be: bool
) -> None:
    held_until = START + ends_in
    assert may_be_taken(held_until, now=START, until=START + OWN, margin=MARGIN) is may_be
