from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.aws.layout.values import (
    DISTANCE_PATTERN,
    binary,
    distance_text,
    read_base36,
    read_binary,
    read_distance,
)
from hourhand.domain.jobs.history import base36


def test_bytes_are_read_as_either_client_returns_them() -> None:
    assert read_binary(binary(b"\x00\xff")) == b"\x00\xff"
    assert read_binary({"B": "AP8="}) == b"\x00\xff"


@pytest.mark.parametrize(
    ("milliseconds", "written"),
    [(0, "0"), (35_000, "z"), (2_160_250, "1o0.250"), (-86_400_000, "-1uo0"), (-1, "-0.001")],
)
def test_a_distance_is_one_short_text(milliseconds: int, written: str) -> None:
    assert distance_text(milliseconds) == written
    assert read_distance(written) == milliseconds


@given(st.integers(-(10**15), 10**15))
def test_every_distance_is_read_as_it_was_written(milliseconds: int) -> None:
    written = distance_text(milliseconds)
    assert re.fullmatch(DISTANCE_PATTERN, written)
    assert read_distance(written) == milliseconds


@given(st.integers(0, 10**12))
def test_every_number_is_read_as_it_was_written(value: int) -> None:
    assert read_base36(base36(value)) == value
