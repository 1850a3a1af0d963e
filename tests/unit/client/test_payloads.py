"""What a payload may consist of, and that it arrives as a handler reads it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from pydantic import BaseModel, Field

from hourhand import JobContext
from hourhand.client import Invalid, Submission
from hourhand.handlers import Registry, job


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class Kind(StrEnum):
    ROUND = "round"


class Span(BaseModel):
    start: date = Field(alias="from")
    note: str = ""


@dataclass
class Order:
    customer: str
    spans: list[Span] = field(default_factory=list)


def sent(payload: Any) -> Any:
    return json.loads(Submission(handler="greet", payload=payload).body())["payload"]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"a": [1, 2.5, None, True, "ä€😀"]}, {"a": [1, 2.5, None, True, "ä€😀"]}),
        ((1, 2), [1, 2]),
        (Order("ada", [Span(**{"from": date(2026, 1, 2)})]), None),
        ([Colour.RED, Size.LARGE, Kind.ROUND], ["red", 3, "round"]),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (date(2026, 1, 2), "2026-01-02"),
        (time(3, 4), "03:04:00"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ({1: "a"}, {"1": "a"}),
        (False, False),
        ("", ""),
        (0, 0),
    ],
)
def test_a_payload_may_be_what_a_result_may_be(payload: Any, expected: Any) -> None:
    if isinstance(payload, Order):
        expected = {"customer": "ada", "spans": [{"from": "2026-01-02", "note": ""}]}
    assert sent(payload) == expected


def test_text_is_sent_as_it_is_not_escaped() -> None:
    assert "ä€😀".encode() in Submission(handler="greet", payload="ä€😀").body()


def test_half_a_surrogate_pair_arrives() -> None:
    assert sent(["ä", "\ud800"]) == ["ä", "\ud800"]


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def cycle() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: {1, 2}, "an object of type set"),
        (lambda: b"x", "an object of type bytes"),
        (object, "an object of type object"),
        (lambda: Order, "an object of type type"),
        (lambda: float("inf"), "payload must be JSON"),
        (lambda: {(1, 2): 3}, "payload must be JSON: keys must be"),
        (cycle, "payload must be JSON: Circular reference"),
        (lambda: nested(100_000), "must not be nested this deeply"),
    ],
)
def test_what_is_no_json_is_refused_and_named(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        sent(make())


@pytest.mark.parametrize("payload", [Span(**{"from": date(2026, 1, 2)}), {"from": "2026-01-02"}])
def test_what_is_submitted_is_what_the_handler_is_given(payload: Any) -> None:
    registry = Registry()

    @job("span", registry=registry)
    def span(ctx: JobContext, payload: Span) -> None:
        return None

    [given] = registry.get("span").arguments(json.dumps(sent(payload)))
    assert given == Span(**{"from": date(2026, 1, 2)})
