"""Messages that differ only in their values have one pattern, whatever the values are."""

from __future__ import annotations

import re
import string
from datetime import UTC, datetime
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.jobs.dead_letter_groups import PATTERN_CHARACTERS, normalised

ANY = st.text(max_size=400)
WORDS = st.lists(st.text(string.ascii_letters, min_size=1, max_size=7), min_size=1, max_size=5).map(
    " ".join
)

INSTANTS = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 (the strategy adds the zone)
VALUES = {
    "numbers": st.one_of(
        st.integers(-(10**12), 10**12).map(str),
        st.floats(-1e9, 1e9, allow_nan=False).map(str),
        st.integers(0, 10**9).map("{:,}".format),
    ),
    "uuids": st.uuids().map(str) | st.uuids().map(lambda one: str(UUID(int=one.int)).upper()),
    "addresses": st.integers(0, 2**48).map(hex),
    "ids": st.from_regex(r"01k[0-9a-z]{18}", fullmatch=True),
    "times": INSTANTS.map(
        lambda one: one.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    ),
    "quoted": st.text(string.ascii_letters + string.digits + " .-/", max_size=20).map(
        lambda text: f"'{text}'"
    ),
}


@given(st.data(), st.sampled_from(sorted(VALUES)), WORDS, WORDS)
def test_a_value_of_one_kind_is_as_good_as_another(
    data: st.DataObject, kind: str, before: str, after: str
) -> None:
    one, other = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    patterns = {normalised(f"{before} {value} {after}") for value in (one, other)}
    assert len(patterns) == 1
    (pattern,) = patterns
    assert re.fullmatch(rf"{before} <\w+> {after}", pattern)


@given(ANY)
def test_a_pattern_is_short_and_on_one_line_and_has_no_number(message: str) -> None:
    pattern = normalised(message)
    assert len(pattern) <= PATTERN_CHARACTERS
    assert pattern == " ".join(pattern.split())
    assert re.search(r"\d", pattern) is None


@given(WORDS)
def test_words_are_left_alone(words: str) -> None:
    assert normalised(words) == words
