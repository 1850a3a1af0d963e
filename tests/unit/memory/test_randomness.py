from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.ids import JOB_ID
from hourhand.memory import START, MemoryRandomness


def test_the_same_seed_gives_the_same_ids_and_nonces() -> None:
    one, two = MemoryRandomness(7), MemoryRandomness(7)
    assert [one.job_id(START), one.nonce()] == [two.job_id(START), two.nonce()]


def test_no_two_calls_and_no_two_seeds_give_the_same() -> None:
    drawn = [
        draw
        for randomness in (MemoryRandomness(0), MemoryRandomness(1))
        for _ in range(200)
        for draw in (randomness.nonce(), randomness.job_id(START))
    ]
    assert len(set(drawn)) == len(drawn)


def test_ids_sort_by_time_and_nonces_are_ten_characters() -> None:
    randomness = MemoryRandomness()
    early, late = randomness.job_id(START), randomness.job_id(START + timedelta(milliseconds=1))
    assert early < late
    assert JOB_ID.fullmatch(early)
    assert len(randomness.nonce()) == 10


def test_the_fraction_is_the_one_that_was_asked_for() -> None:
    assert MemoryRandomness().fraction() == 0.5
    randomness = MemoryRandomness(drawn=0.0)
    assert randomness.fraction() == 0.0
    randomness.drawn = 0.999
    assert randomness.fraction() == 0.999


@pytest.mark.parametrize("drawn", [-0.1, 1.0])
def test_a_fraction_out_of_range_is_refused(drawn: float) -> None:
    with pytest.raises(ValueError, match="drawn"):
        MemoryRandomness(drawn=drawn)
