"""Payloads are refused by their fields, in words, and never for a fault of the check itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pydantic
import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field

from hourhand.api.payload_check import MAX_MESSAGE_CHARACTERS, PayloadChecks
from hourhand.api.requests._limits import MAX_FIELD_ERRORS
from hourhand.domain.errors import InvalidInput
from hourhand.handlers import Registry, describe
from hourhand.memory import MemoryHandlerDirectory
from hourhand.memory.telemetry import RecordingTelemetry
from hourhand.ports.handler_directory import HandlerInfo


class Line(BaseModel):
    text: str
    count: int = 1


class Card(BaseModel):
    kind: Literal["card"]
    number: str


class Transfer(BaseModel):
    kind: Literal["transfer"]
    iban: str


class Payment(BaseModel):
    model_config = ConfigDict(extra="forbid")

    amount: Annotated[int, Field(gt=0)]
    lines: list[Line] = []
    means: Annotated[Card | Transfer, Field(discriminator="kind")] | None = None
    note: int | list[str] = 0
    by_name: dict[str, int] = {}


@dataclass
class Wide:
    values: dict[str, str]


@dataclass
class Part:
    text: str
    count: int = 1


@dataclass
class Report:
    to: str
    days: int = 1
    parts: list[Part] = field(default_factory=list)
    by_name: dict[str, Part] = field(default_factory=dict)
    both: tuple[int, Part] | None = None


@dataclass
class Other:
    subject: str


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


@pydantic.dataclasses.dataclass
class Renamed:
    days: int = Field(validation_alias="Days")
    hours: int = Field(validation_alias=AliasChoices("Hours", AliasPath("time", 0)), default=0)


@pydantic.dataclasses.dataclass
class ManyNames:
    days: int = Field(validation_alias=AliasChoices(AliasPath("time", "days"), "Days"))


@dataclass
class Nothing:
    pass


@dataclass
class Open:
    __pydantic_config__ = ConfigDict(extra="ignore")

    to: str


class Customer(BaseModel):
    customer: str
    age: int = 0


def _checks(annotation: Any, telemetry: RecordingTelemetry | None = None) -> PayloadChecks:
    def handle(context: object, payload: object) -> None: ...

    handle.__annotations__["payload"] = annotation
    registry = Registry()
    registry.add("pay", handle)
    directory = MemoryHandlerDirectory(*describe(registry))
    return PayloadChecks(directory, telemetry or RecordingTelemetry())


def _errors(annotation: Any, payload: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        _checks(annotation).require_valid("pay", json.dumps(payload))
    return {error.field: error.message for error in caught.value.errors}


@pytest.mark.parametrize(
    ("payload", "field", "message"),
    [
        ({}, "payload.amount", "is required"),
        (3, "payload", "must be an object"),
        ({"amount": 0}, "payload.amount", "must be greater than 0"),
        (
            {"amount": "much"},
            "payload.amount",
            "must be a valid integer, unable to parse string as an integer",
        ),
        (
            {"amount": 1, "amuont": 2},
            "payload.amuont",
            "is not a known field. Did you mean 'amount'? "
            "The fields are amount, lines, means, note, by_name",
        ),
        (
            {"amount": 1, "lines": [{"text": "a"}, {"text": 3}]},
            "payload.lines[1].text",
            "must be a valid string",
        ),
        ({"amount": 1, "lines": [{}]}, "payload.lines[0].text", "is required"),
        ({"amount": 1, "means": {"kind": "card"}}, "payload.means.number", "is required"),
        (
            {"amount": 1, "means": {"kind": "cash"}},
            "payload.means",
            "Input tag 'cash' found using 'kind' does not match any of the expected tags: "
            "'card', 'transfer'",
        ),
        (
            {"amount": 1, "note": None},
            "payload.note",
            "must be a valid integer or must be a valid array",
        ),
        ({"amount": 1, "by_name": {"a": "x"}}, "payload.by_name.a", None),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    payload: Any, field: str, message: str | None
) -> None:
    errors = _errors(Payment, payload)
    assert list(errors) == [field]
    assert message is None or errors[field] == message


FIELDS = "The fields are to, days, parts, by_name, both"


@pytest.mark.parametrize(
    ("annotation", "payload", "errors"),
    [
        (
            Report,
            {"to": "a", "dyas": 7},
            {"dyas": f"is not a known field. Did you mean 'days'? {FIELDS}"},
        ),
        (
            Report | None,
            {"to": "a", "zzz": 7, "dys": 1},
            {
                "zzz": f"is not a known field. {FIELDS}",
                "dys": "is not a known field. Did you mean 'days'?",
            },
        ),
        (
            list[Report],
            [{"to": "a", "parts": [{"text": "b"}, {"text": "b", "cuont": 2}]}],
            {"cuont": "is not a known field. Did you mean 'count'? The fields are text, count"},
        ),
        (
            Report,
            {"to": "a", "by_name": {"b": {"text": "b", "cuont": 2}}},
            {"cuont": "is not a known field. Did you mean 'count'? The fields are text, count"},
        ),
        (
            Report,
            {"to": "a", "both": [1, {"text": "b", "cuont": 2}]},
            {"cuont": "is not a known field. Did you mean 'count'? The fields are text, count"},
        ),
        (
            Tree,
            {"value": 1, "children": [{"value": 2, "chidlren": []}]},
            {
                "chidlren": "is not a known field. Did you mean 'children'? "
                "The fields are value, children"
            },
        ),
        (
            Renamed,
            {"Days": 1, "Dyas": 2},
            {"Dyas": "is not a known field. Did you mean 'Days'? The fields are Days, Hours, time"},
        ),
        (
            ManyNames,
            {"Days": 1, "tmie": {"days": 1}},
            {"tmie": "is not a known field. Did you mean 'time'? The fields are time, Days"},
        ),
        (Nothing, {"a": 1}, {"a": "is not a known field"}),
        (Report, {"too": 7, "d" * 200: 1}, {}),
    ],
)
def test_an_unknown_field_is_refused_with_the_name_that_was_probably_meant(
    annotation: Any, payload: Any, errors: dict[str, str]
) -> None:
    found = _errors(annotation, payload)
    for name, message in errors.items():
        [place] = [place for place in found if place.endswith(f".{name}")]
        assert found[place] == message


@pytest.mark.parametrize(
    ("annotation", "payload", "errors"),
    [
        (
            Report,
            {"x": "a", "too": "b"},
            {
                "payload.to": "is required",
                "payload.x": f"is not a known field. {FIELDS}",
                "payload.too": "is not a known field. Did you mean 'to'?",
            },
        ),
        (
            Customer,
            {"custmer": "a"},
            {"payload.customer": "is required. Is 'custmer' a misspelling of it?"},
        ),
        (
            list[Customer],
            [{"custmer": "a", "age": 1}],
            {"payload[0].customer": "is required. Is 'custmer' a misspelling of it?"},
        ),
        # A field that the type has is no misspelling of another.
        (Customer, {"age": 1}, {"payload.customer": "is required"}),
        (Customer, {}, {"payload.customer": "is required"}),
    ],
)
def test_a_missing_field_is_named_with_the_unknown_one_that_is_like_it(
    annotation: Any, payload: Any, errors: dict[str, str]
) -> None:
    assert _errors(annotation, payload) == errors


def test_a_field_of_another_member_of_a_union_is_not_called_unknown() -> None:
    assert _errors(Report | Other, {"to": "a", "subject": "b"}) == {
        "payload.subject": "does not go with the other fields",
        "payload.to": "does not go with the other fields",
    }
    _checks(Report | Other).require_valid("pay", '{"subject": "b"}')


@dataclass
class Even:
    kind: Literal["even"]
    next: Annotated[Even | Odd, Field(discriminator="kind")] | None = None


@dataclass
class Odd:
    kind: Literal["odd"]
    next: Annotated[Even | Odd, Field(discriminator="kind")] | None = None
    odd: int = 1


def test_a_misspelling_in_types_that_refer_to_each_other_is_found() -> None:
    payload: Any = {"kind": "even", "nxet": 1}
    for _ in range(20):
        payload = {"kind": "even", "next": payload}
    [(field, message)] = _errors(Even, payload).items()
    assert field.startswith("payload.next.next")
    assert message == "is not a known field. Did you mean 'next'? The fields are kind, next, odd"


def test_every_wrong_field_is_named_once() -> None:
    errors = _errors(Payment, {"amount": "x", "lines": 3, "note": {}, "more": 1})
    assert list(errors) == ["payload.amount", "payload.lines", "payload.note", "payload.more"]


def test_a_long_list_of_wrong_items_is_one_error() -> None:
    assert list(_errors(list[int], ["x"] * 100_000)) == ["payload[0]"]


def test_errors_and_their_texts_are_bounded() -> None:
    wrong = {f"field {number}": 1 for number in range(1_000)}
    assert len(_errors(Payment, {"amount": 1, **wrong})) == MAX_FIELD_ERRORS
    many = {f"field {number}": 1 for number in range(5_000)}
    assert _errors(Payment, {"amount": 1, **many}) == {
        "payload": "does not fit its handler: it has 5,000 errors"
    }
    choices = Literal[tuple(f"choice {number}" for number in range(500))]  # type: ignore[valid-type]
    [message] = _errors(choices, "other").values()
    assert len(message) == MAX_MESSAGE_CHARACTERS
    [field] = _errors(Wide, {"values": {"k" * 10_000: 3}})
    assert len(field) == 100


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (Payment, {"amount": "5", "lines": [{"text": "a", "count": 2.0}]}),
        (Open, {"to": "a", "dyas": 1}),
        (dict, {"any": ["thing"]}),
        (Any, 3),
    ],
)
def test_what_the_handler_accepts_is_accepted(annotation: Any, payload: Any) -> None:
    _checks(annotation).require_valid("pay", json.dumps(payload))


def test_what_only_this_reader_of_json_refuses_is_left_to_the_worker() -> None:
    _checks(dict).require_valid("pay", '{"a": "\\ud800"}')


def test_an_unknown_handler_is_not_checked() -> None:
    _checks(int).require_valid("nobody", '"x"')


def test_a_check_that_cannot_be_used_is_logged_once_and_accepts() -> None:
    telemetry = RecordingTelemetry()
    broken = HandlerInfo(name="pay", payload_check={"type": "from the future"})
    checks = PayloadChecks(MemoryHandlerDirectory(broken), telemetry)
    checks.require_valid("pay", "1")
    checks.require_valid("pay", "2")
    [line] = telemetry.warnings
    assert line.sentence.startswith("The check of a handler's payload cannot be used.")
    assert line.fields["handler"] == "pay"


def test_a_check_that_fails_with_a_payload_is_logged_and_accepts_it() -> None:
    telemetry = RecordingTelemetry()
    of_lists = {"type": "dict", "keys_schema": {"type": "json", "schema": {"type": "list"}}}
    directory = MemoryHandlerDirectory(HandlerInfo(name="pay", payload_check=of_lists))
    checks = PayloadChecks(directory, telemetry)
    checks.require_valid("pay", '{"[1]": 1}')
    [line] = telemetry.warnings
    assert line.sentence == (
        "The check of a handler's payload failed. The payload is accepted unchecked."
    )
    assert line.fields == {"handler": "pay", "reason": "TypeError"}
    with pytest.raises(InvalidInput):
        checks.require_valid("pay", "[1]")
