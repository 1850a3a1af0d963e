"""The work of a check is linear in the size of a payload: counted as errors, not as time.

Each schema that sees a wrong part adds an error, so the errors count how often the part was seen.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Json,
    RootModel,
    Tag,
)
from pydantic_core import SchemaValidator, ValidationError

from hourhand.handlers._binding import PayloadBinder
from hourhand.handlers._payload_recursion import bound_recursion
from hourhand.handlers._payload_type import PayloadType

DEPTHS = range(12, 21)
MAX_ERRORS_A_LEVEL = 10


class Shade(Enum):
    DARK = 1
    LIGHT = 2


class Word(str, Enum):  # noqa: UP042 (a StrEnum is one of these)
    BOTH = "both"
    ONE = "one"


class Leaf(BaseModel):
    value: int


class And(BaseModel):
    left: And | Or | Leaf


class Or(BaseModel):
    left: And | Or | Leaf


class Numbered(BaseModel):
    kind: Literal[1]
    left: Annotated[Numbered | OtherNumbered, Field(discriminator="kind")] | int


class OtherNumbered(BaseModel):
    kind: Literal[2]
    left: Annotated[Numbered | OtherNumbered, Field(discriminator="kind")] | int


class Shaded(BaseModel):
    kind: Literal[Shade.DARK]
    left: Annotated[Shaded | OtherShaded, Field(discriminator="kind")] | int


class OtherShaded(BaseModel):
    kind: Literal[Shade.LIGHT]
    left: Annotated[Shaded | OtherShaded, Field(discriminator="kind")] | int


def _called(value: Any) -> str:
    return "one" if isinstance(value, dict) and "one" in value else "other"


Called = Annotated[
    Annotated["One", Tag("one")] | Annotated["Another", Tag("other")], Discriminator(_called)
]


class One(BaseModel):
    left: Called | int


class Another(BaseModel):
    left: Called | int


class Outer(BaseModel):
    """Each level also begins a chain that does not come back: the work is quadratic."""

    left: Outer | Chain | int


class Chain(BaseModel):
    left: Chain | int


class ByName(BaseModel):
    """A record under any name beside one under a known name."""

    left: ByName | dict[str, ByName] | int


class Listed(BaseModel):
    items: list[Listed] | tuple[Listed, ...] | int


class Text(BaseModel):
    left: Json[Text] | Json[OtherText] | int


class OtherText(BaseModel):
    left: Json[Text] | Json[OtherText] | int


class Twice(BaseModel):
    """Two fields that are read from the same name."""

    left: Twice | int
    right: Twice | int = Field(0, validation_alias=AliasChoices("other", "left"))


class Extra(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Extra | Leaves | int]


class Leaves(RootModel[dict[str, "Extra | Leaves | int"]]):
    pass


class All(BaseModel):
    all: list[All | Any_ | Not | Word]


class Any_(BaseModel):  # noqa: N801 (a name of its own)
    any: list[All | Any_ | Not | Word]


class Not(BaseModel):
    negated: All | Any_ | Not | Word = Field(alias="not")


class Tree(BaseModel):
    value: int
    children: list[Tree | int] = []


class Tagged(BaseModel):
    kind: Literal["a"]
    left: Annotated[Tagged | OtherTagged, Field(discriminator="kind")] | int


class OtherTagged(BaseModel):
    kind: Literal["b"]
    left: Annotated[Tagged | OtherTagged, Field(discriminator="kind")] | int


class Worded(BaseModel):
    kind: Literal[Word.BOTH]
    left: Annotated[Worded | OtherWorded, Field(discriminator="kind")] | int


class OtherWorded(BaseModel):
    kind: Literal[Word.ONE]
    left: Annotated[Worded | OtherWorded, Field(discriminator="kind")] | int


class Nested(RootModel[dict[str, "Nested"] | list["Nested"] | int]):
    pass


class Fork(BaseModel):
    left: Fork | int
    right: Fork | int = 0


def _left(inner: Any) -> Any:
    return {"left": inner}


def _check(annotation: Any) -> dict[str, Any]:
    check = PayloadType(PayloadBinder(_check, annotation)).check
    assert check is not None
    copy: dict[str, Any] = json.loads(json.dumps(check))
    return copy


def _errors(check: dict[str, Any], payload: Any) -> int:
    try:
        SchemaValidator(check).validate_json(json.dumps(payload))
    except ValidationError as error:
        return error.error_count()
    return 0


def _deep(level: Any, depth: int) -> Any:
    payload: Any = "wrong"
    for _ in range(depth):
        payload = level(payload)
    return payload


MULTIPLYING: dict[str, tuple[Any, Any]] = {
    "members with the same field": (And, _left),
    "tags that are numbers": (Numbered, lambda inner: {"kind": 1, "left": inner}),
    "tags of an enum": (Shaded, lambda inner: {"kind": 1, "left": inner}),
    "a function as discriminator": (One, _left),
    "a member that does not lead back": (Outer, _left),
    "a dictionary beside a record": (ByName, _left),
    "a list beside a tuple": (Listed, lambda inner: {"items": [inner]}),
    "JSON in a text": (Text, _left),
    "two fields of one name": (Twice, _left),
    "other fields beside a dictionary": (Extra, lambda inner: {"a": inner}),
}

CHECKED: dict[str, tuple[Any, Any]] = {
    "members with different fields": (All, lambda inner: {"all": [{"not": inner}]}),
    "one member that leads back": (Tree, lambda inner: {"value": 1, "children": [inner]}),
    "tags that are texts": (Tagged, lambda inner: {"kind": "b", "left": inner}),
    "tags of an enum of texts": (Worded, lambda inner: {"kind": "one", "left": inner}),
    "a dictionary beside a list": (Nested, lambda inner: {"a": [inner]}),
    "two fields of two names": (Fork, _left),
}


@pytest.mark.parametrize(("annotation", "level"), MULTIPLYING.values(), ids=MULTIPLYING)
def test_a_level_never_multiplies_the_work_and_the_value_is_left_to_the_worker(
    annotation: Any, level: Any
) -> None:
    check = _check(annotation)
    assert '"type": "any"' in json.dumps(check)
    for depth in DEPTHS:
        assert _errors(check, _deep(level, depth)) <= MAX_ERRORS_A_LEVEL * depth


@pytest.mark.parametrize(("annotation", "level"), CHECKED.values(), ids=CHECKED)
def test_a_recursive_type_whose_work_is_linear_is_checked_at_each_level(
    annotation: Any, level: Any
) -> None:
    check = _check(annotation)
    for depth in DEPTHS:
        assert 0 < _errors(check, _deep(level, depth)) <= MAX_ERRORS_A_LEVEL * depth


def test_a_union_that_is_no_part_of_its_members_stays_as_it_is() -> None:
    check = _check(list[Tree] | list[Fork] | Leaf)
    assert check["schema"]["type"] == "union"
    assert _errors(check, [{"value": "wrong"}]) > 0


def _reference(name: str) -> dict[str, Any]:
    return {"type": "definition-ref", "schema_ref": name}


def test_a_definition_that_is_replaced_keeps_its_name() -> None:
    union = {"type": "union", "choices": [_reference("a")] * 2}
    record = {"type": "typed-dict", "ref": "a", "fields": {"x": {"type": "f", "schema": union}}}
    both = {**union, "ref": "b", "choices": [{"type": "list", "items_schema": _reference("b")}] * 2}
    check: dict[str, Any] = {
        "type": "definitions",
        "schema": _reference("b"),
        "definitions": [record, both],
    }
    bound_recursion(check)
    assert check["definitions"][1] == {"type": "any", "ref": "b"}
    assert record["fields"] == {"x": {"type": "f", "schema": {"type": "any"}}}
