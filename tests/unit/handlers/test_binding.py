"""A payload is what the handler's annotation asks for, or the job can never succeed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from datetime import date, datetime
from typing import Annotated, Any, NotRequired, TypedDict

import pytest
from pydantic import BaseModel, field_validator

from hourhand.handlers import InvalidHandler, InvalidPayload, NotRetryable, Registry


class Address(BaseModel):
    city: str


class Person(BaseModel):
    email: str
    age: int = 0
    address: Address | None = None


class Choosy(BaseModel):
    word: str

    @field_validator("word")
    @classmethod
    def not_secret(cls, value: str) -> str:
        if value == "hunter2":
            raise ValueError("is too well known")
        return value


@dataclasses.dataclass
class Report:
    day: date
    copies: int = 1


class Line(TypedDict):
    sku: str


class Order(TypedDict):
    lines: list[Line]
    note: NotRequired[str | None]


class Recursive(TypedDict):
    child: NotRequired[Recursive]


def bind(function: Any, text: str) -> Any:
    (payload,) = Registry().add("bound", function).arguments(text)
    return payload


def for_person(ctx: None, payload: Person) -> None: ...
def for_choosy(ctx: None, payload: Choosy) -> None: ...
def for_report(ctx: None, payload: Report) -> None: ...
def for_order(ctx: None, payload: Order) -> None: ...
def for_orders(ctx: None, payload: list[Order] | None) -> None: ...
def for_noted_order(ctx: None, payload: Annotated[Order, "a note"]) -> None: ...
def for_recursive(ctx: None, payload: Recursive) -> None: ...
def for_anything(ctx: None, payload: Any) -> None: ...
def for_object(ctx: None, payload: dict[str, Any]) -> None: ...
def for_mapping(ctx: None, payload: Mapping[str, Any]) -> None: ...
def for_list(ctx: None, payload: list) -> None: ...  # type: ignore[type-arg]
def for_text(ctx: None, payload: str) -> None: ...
def for_number(ctx: None, payload: float) -> None: ...
def for_whole_number(ctx: None, payload: int) -> None: ...
def for_flag(ctx: None, payload: bool) -> None: ...
def for_nothing(ctx: None, payload: None) -> None: ...
def for_numbers(ctx: None, payload: list[int]) -> None: ...


@pytest.mark.parametrize(
    ("function", "text", "payload"),
    [
        (for_person, '{"email": "a@b"}', Person(email="a@b")),
        (for_report, '{"day": "2026-01-05"}', Report(day=date(2026, 1, 5))),
        (for_order, '{"lines": [{"sku": "x"}]}', {"lines": [{"sku": "x"}]}),
        (for_orders, '[{"lines": [], "note": null}]', [{"lines": [], "note": None}]),
        (for_orders, "null", None),
        (for_noted_order, '{"lines": []}', {"lines": []}),
        (for_numbers, "[1, 2]", [1, 2]),
        (lambda ctx, payload: None, "[1]", [1]),
        (for_anything, "null", None),
        (for_object, '{"a": 1}', {"a": 1}),
        (for_mapping, '{"a": 1}', {"a": 1}),
        (for_list, "[1]", [1]),
        (for_text, '"x"', "x"),
        (for_number, "1", 1),
        (for_number, "1.5", 1.5),
        (for_whole_number, "1", 1),
        (for_flag, "true", True),
        (for_nothing, "null", None),
    ],
)
def test_a_payload_that_fits_becomes_what_was_asked_for(
    function: Any, text: str, payload: Any
) -> None:
    bound = bind(function, text)

    assert bound == payload
    assert type(bound) is type(payload)


@pytest.mark.parametrize(
    ("function", "text", "message"),
    [
        (for_person, "{}", "email: Field required"),
        (for_person, '{"email": 1, "age": "x"}', "email: .* age: "),
        (for_person, '{"email": "a", "address": {"city": 1}}', r"address\.city: "),
        (for_person, "[]", "The payload is not a valid Person: payload: "),
        (for_report, '{"day": "soon"}', "day: "),
        (for_order, '{"lines": [{}]}', r"lines\.0\.sku: Field required"),
        (for_order, "{}", "lines: Field required"),
        (for_numbers, '[1, "x"]', "1: Input should be a valid integer"),
        (for_object, "null", "must be an object, not null"),
        (for_object, "[]", "must be an object, not an array"),
        (for_list, "{}", "must be an array, not an object"),
        (for_text, "1", "must be a string, not a whole number"),
        (for_number, "true", "must be a number, not true or false"),
        (for_whole_number, "1.5", "must be a whole number, not a number"),
        (for_whole_number, "true", "must be a whole number, not true or false"),
        (for_flag, "0", "must be true or false, not a whole number"),
        (for_nothing, '"x"', "must be null, not a string"),
    ],
)
def test_a_payload_that_does_not_fit_names_the_fields(
    function: Any, text: str, message: str
) -> None:
    with pytest.raises(InvalidPayload, match=message) as caught:
        bind(function, text)
    assert isinstance(caught.value, NotRetryable)


def untyped(ctx: Any, payload: Any) -> None: ...


def of_a_dict(ctx: Any, payload: dict[str, Any]) -> None: ...


@pytest.mark.parametrize("function", [untyped, of_a_dict, for_choosy])
@pytest.mark.parametrize("text", ["", "{hunter2", "[" * 100_000], ids=["empty", "broken", "deep"])
def test_a_stored_payload_that_is_not_json_is_never_retried(function: Any, text: str) -> None:
    with pytest.raises(InvalidPayload) as caught:
        bind(function, text)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (for_report, '{"day": "2026-01-05", "removed": 1}'),
        (for_order, '{"lines": [{"sku": "x", "removed": 1}], "removed": 1}'),
    ],
)
def test_a_stored_payload_with_a_field_that_was_removed_since_is_accepted(
    function: Any, text: str
) -> None:
    assert "removed" not in str(bind(function, text))


def test_the_message_never_quotes_the_payload() -> None:
    with pytest.raises(InvalidPayload) as caught:
        bind(for_choosy, '{"word": "hunter2"}')

    assert "word: Value error, is too well known" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_many_wrong_fields_are_counted_and_not_all_listed() -> None:
    with pytest.raises(InvalidPayload, match="and 15 more"):
        bind(for_numbers, str(["x"] * 25).replace("'", '"'))


def test_a_recursive_typed_dict_is_told_or_validated_but_never_hangs() -> None:
    try:
        assert bind(for_recursive, '{"child": {}}') == {"child": {}}
    except InvalidHandler as error:
        assert "Recursive" in str(error)  # noqa: PT017 - either is right, by Python's version


class Opaque:
    pass


def test_a_type_that_cannot_be_validated_is_told_by_name() -> None:
    def for_opaque(ctx: None, payload: Opaque) -> None: ...

    with pytest.raises(InvalidHandler, match="Opaque"):
        bind(for_opaque, "{}")


def test_an_annotation_that_is_no_type_is_told() -> None:
    def for_example(ctx: None, payload: object) -> None: ...

    for_example.__annotations__["payload"] = [int]

    with pytest.raises(InvalidHandler, match="cannot be validated"):
        bind(for_example, "{}")


def test_only_the_payload_annotation_must_be_readable() -> None:
    def half_readable(ctx: Missing, payload: datetime) -> Missing: ...  # type: ignore[name-defined]  # noqa: F821

    assert bind(half_readable, '"2026-01-05T00:00:00Z"').year == 2026
