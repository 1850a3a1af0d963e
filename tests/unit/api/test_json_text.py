"""JSON is read strictly and written so that it can be encoded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.api import json_text
from hourhand.api.json_text import read_json, write_json
from hourhand.domain.errors import BadRequest

ANY_TEXT = st.text(st.characters())
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("{", "line 1, column 2"),
        ("{'a': 1}", "not valid JSON"),
        ('{"a": 1,}', "not valid JSON"),
        ("\ufeff{}", "not valid JSON"),
        ('"a\x00b"', "not valid JSON"),
        ("NaN", "NaN is not a JSON number"),
        ('{"a": Infinity}', "Infinity is not a JSON number"),
        ("[-Infinity]", "-Infinity is not a JSON number"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' occurs twice"),
        ("[" * 100_000, "too deep"),
        ('{"a":' * 100_000, "too deep"),
        ("9" * 4301, "too many digits"),
    ],
)
def test_what_is_no_json_or_ambiguous_is_a_bad_request(text: str, message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        read_json(text)


def test_a_repeated_name_is_repeated_only_in_part() -> None:
    name = json.dumps("n" * 10_000)
    with pytest.raises(BadRequest) as caught:
        read_json(f"{{{name}: 1, {name}: 2}}")
    assert len(caught.value.detail) < 200


class CountedName(str):
    """A name that counts how often it is compared with another."""

    compared = 0

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        CountedName.compared += 1
        return str.__eq__(self, other)


def test_a_repeated_name_is_found_by_work_in_proportion_to_the_names() -> None:
    names = [f"k{number}" for number in range(3_000)]
    pairs = [(CountedName(name), 0) for name in [*names, "twice", "twice"]]
    CountedName.compared = 0
    with pytest.raises(BadRequest, match="'twice' occurs twice"):
        json_text._unique_names(list(pairs))
    assert CountedName.compared < 3 * len(pairs)


@given(JSON_VALUES)
def test_every_value_is_written_encodable_and_read_back(value: Any) -> None:
    assert read_json(write_json(value).encode().decode()) == value


def test_text_is_written_as_it_is_but_for_halves_of_surrogate_pairs() -> None:
    assert write_json(["é", "\ud800é"]) == '["é","\\ud800é"]'
