"""What a handler returns is kept as JSON, or refused in words."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from hourhand.handlers import ResultNotJson, result_text


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


class Inner(BaseModel):
    at: datetime


@dataclasses.dataclass
class Outer:
    inner: Inner
    day: date
    colours: tuple[Colour, ...]


NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (1.5, 1.5),
        ("ü", "ü"),
        pytest.param("\ud800", "\ud800", id="half a surrogate pair"),
        ([1, (2, "x")], [1, [2, "x"]]),
        ({"b": {"a": None}}, {"b": {"a": None}}),
        ({1: "one", Word.YES: 2}, {"1": "one", "yes": 2}),
        (Word.YES, "yes"),
        (Inner(at=NOON), {"at": "2026-01-05T12:00:00Z"}),
        (
            Outer(inner=Inner(at=NOON), day=date(2026, 1, 5), colours=(Colour.RED,)),
            {"inner": {"at": "2026-01-05T12:00:00Z"}, "day": "2026-01-05", "colours": ["red"]},
        ),
        (UUID(int=0), "00000000-0000-0000-0000-000000000000"),
    ],
)
def test_models_dataclasses_and_plain_values_become_json(value: Any, plain: Any) -> None:
    assert json.loads(result_text(value)) == plain


class Broken(BaseModel):
    def model_dump(self, **options: Any) -> dict[str, Any]:
        raise LookupError("no such thing")


def a_cycle() -> list[Any]:
    cycle: list[Any] = []
    cycle.append(cycle)
    return cycle


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (object(), "object of type object"),
        ({1, 2}, "object of type set"),
        (b"bytes", "object of type bytes"),
        (Inner, "object of type"),
        ((x for x in "ab"), "object of type generator"),
        (math.nan, "not JSON compliant"),
        ([math.inf], "not JSON compliant"),
        ({("a", "b"): 1}, "key of type tuple"),
        ({True: 1}, "key of type bool"),
        ({1: "a", "1": "b"}, "two of its keys are the same"),
        (a_cycle(), "nested too deeply, or contains itself"),
        pytest.param(10**5000, "Exceeds the limit", id="a huge number"),
        (Broken(), "no such thing"),
    ],
)
def test_anything_else_is_refused_in_words(value: Any, why: str) -> None:
    with pytest.raises(ResultNotJson, match=why):
        result_text(value)
