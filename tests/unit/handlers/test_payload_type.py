"""What a manifest says of a payload: its schema, and examples that the handler accepts."""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import pydantic
import pytest
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
)
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import TypedDict

from hourhand.handlers import InvalidHandler, InvalidPayload, Registry, describe, job
from hourhand.handlers._binding import PayloadBinder
from hourhand.handlers._payload_examples import MAX_DEPTH, likely_payloads
from hourhand.handlers._payload_type import MAX_EXAMPLES, PayloadType
from hourhand.handlers._registry import MAX_SCHEMA_BYTES, MAX_SCHEMAS_BYTES


class Color(Enum):
    RED = "red"


@dataclass
class Invoice:
    """What is charged."""

    customer: str
    cents: int = 100
    lines: list[str] = field(default_factory=list)


class Letter(TypedDict):
    to: str


class OldLetter(typing.TypedDict):
    __pydantic_config__ = ConfigDict(extra="ignore")  # type: ignore[misc]  # as pydantic documents

    to: str


@dataclass
class OpenInvoice:
    __pydantic_config__ = ConfigDict(extra="ignore")

    customer: str


@dataclass
class FreeInvoice:
    __pydantic_config__ = ConfigDict(extra="allow")

    customer: str


@pydantic.dataclasses.dataclass
class CheckedInvoice:
    customer: str


class ClosedModel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    customer: str


@pydantic.dataclasses.dataclass
class ManyNames:
    a: int = Field(validation_alias=AliasChoices("x", "y", AliasPath("z", 0)))
    y: int = Field(0, validation_alias="why")


@pydantic.dataclasses.dataclass(config=ConfigDict(validate_by_name=True))
class TwoNames:
    a: int = Field(validation_alias="x")


@pydantic.dataclasses.dataclass(config=ConfigDict(extra="forbid"))
class ClosedNames:
    a: int = Field(validation_alias=AliasChoices("x", "y"))


class Parcel(BaseModel):
    letters: list[Letter]


class OpenParcel(BaseModel):
    model_config = ConfigDict(extra="ignore")

    invoice: Invoice


class Order(BaseModel):
    number: Annotated[int, Field(ge=1000, description="As printed.")]
    price: Decimal
    at: datetime
    color: Color
    id: UUID
    site: AnyUrl | None = None
    lines: Annotated[list[Letter], Field(min_length=2)]
    rate: Annotated[float, Field(gt=0, lt=1)]
    step: Annotated[int, Field(multiple_of=7, gt=8)]
    code: Annotated[str, Field(min_length=9, max_length=9)]


class Tree(BaseModel):
    children: list[Tree] = []


class Endless(BaseModel):
    next: Endless


class WithExamples(BaseModel):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"n": 7}, {"n": "wrong"}, {"n": 8}, {"n": 9}, {"n": 10}]}
    )

    n: int


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


def _breaks(value: int) -> int:
    raise LookupError(value)


def _takes(annotation: Any) -> PayloadType:
    return PayloadType(PayloadBinder(_takes, annotation))


def test_the_schema_has_titles_defaults_and_descriptions() -> None:
    assert _takes(Invoice).schema == {
        "title": "Invoice",
        "description": "What is charged.",
        "type": "object",
        "required": ["customer"],
        "properties": {
            "customer": {"title": "Customer", "type": "string"},
            "cents": {"title": "Cents", "type": "integer", "default": 100},
            "lines": {"title": "Lines", "type": "array", "items": {"type": "string"}},
        },
        "additionalProperties": False,
    }
    order = _takes(Order).schema
    assert order is not None
    assert order["properties"]["number"]["description"] == "As printed."


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (dict, {"type": "object", "additionalProperties": True}),
        (list[Any], {"type": "array", "items": {}}),
        (None, {"type": "null"}),
        (int, {"type": "integer"}),
        (Letter | None, None),
        (Annotated[int, PlainValidator(int)], {}),
    ],
)
def test_plain_types_have_a_schema_too(annotation: Any, schema: Any) -> None:
    found = _takes(annotation).schema
    assert found == schema if schema is not None else found is not None


@pytest.mark.parametrize("annotation", [Any, object])
def test_a_payload_of_any_type_has_none(annotation: Any) -> None:
    taken = _takes(annotation)
    assert (taken.schema, taken.check, taken.examples) == (None, None, ())


def test_a_type_whose_schema_cannot_be_generated_is_still_checked() -> None:
    class Stubborn(BaseModel):
        n: int

        @classmethod
        def __get_pydantic_json_schema__(cls, *_: Any) -> Any:
            raise ValueError("no schema of this")

    taken = _takes(Stubborn)
    assert (taken.schema, taken.examples) == (None, ())
    assert taken.check is not None
    warnings: list[str] = []
    describe(_registry(odd=Stubborn, any=Any), warnings.append)
    assert warnings == ["The payload of odd has no JSON Schema: generating it failed."]


def test_a_type_that_cannot_be_checked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(core_schema: object) -> None:
        raise KeyError("unknown")

    monkeypatch.setattr("hourhand.handlers._payload_type.check_of", fail)
    warnings: list[str] = []
    [info] = describe(_registry(charge=Invoice), warnings.append)
    assert (info.payload_check, info.payload_schema is None) == (None, False)
    assert warnings == [
        "The payloads of charge cannot be checked at submission, only by the worker."
    ]


@pytest.mark.parametrize(
    ("annotation", "first"),
    [
        (Invoice, {"customer": "text"}),
        (Letter, {"to": "text"}),
        (list[Letter], []),
        (Letter | None, {"to": "text"}),
        (None, None),
        (dict, {}),
        (str, "text"),
        (Literal["b", "a"], "b"),
        (Tree, {}),
        (Annotated[int, Field(ge=5)], 5),
        (Annotated[int, Field(lt=-3)], -4),
        (Annotated[int, Field(ge=0)], 1),
        (WithExamples, {"n": 7}),
        (tuple[int, str], [1, "text"]),
        (Annotated[list[int], Field(min_length=3)], [1, 1, 1]),
        (Annotated[int, AfterValidator(_even), Field(json_schema_extra={"examples": [4]})], 4),
    ],
)
def test_the_first_example_is_the_simplest_that_the_handler_accepts(
    annotation: Any, first: Any
) -> None:
    assert _takes(annotation).examples[0] == first


def test_an_example_of_many_kinds_of_fields_is_accepted() -> None:
    least, whole = _takes(Order).examples
    assert least["number"] == 1000
    assert least["step"] == 14
    assert 0 < least["rate"] < 1
    assert "site" not in least
    assert whole["site"] == "https://example.org/"


def test_the_schema_s_own_examples_come_first_and_wrong_ones_are_left_out() -> None:
    examples = _takes(WithExamples).examples
    assert examples == ({"n": 7}, {"n": 8}, {"n": 9})
    assert len(examples) == MAX_EXAMPLES


@pytest.mark.parametrize(
    "annotation",
    [
        Endless,
        Annotated[int, AfterValidator(_even)],
        Annotated[int, AfterValidator(_breaks)],
        Annotated[str, Field(pattern="^[0-9]{4}$")],
        Annotated[str, Field(min_length=10_000)],
        Annotated[list[int], Field(min_length=1_000)],
    ],
    ids=("endless", "refuses", "breaks", "pattern", "long text", "long list"),
)
def test_no_example_is_better_than_a_wrong_or_a_long_one(annotation: Any) -> None:
    assert _takes(annotation).examples == ()


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"$ref": "#/$defs/Missing"},
        {"allOf": [{"type": "integer"}]},
        {"type": ["string", "null"]},
        {"enum": []},
        {"type": "integer", "minimum": 5, "maximum": 3},
        {"type": "array", "minItems": 1, "items": False},
        {"anyOf": [False, {"type": "null"}]},
        {"type": "object", "properties": {"a": True}, "required": ["a"]},
    ],
)
def test_odd_schemas_end_with_some_payloads_or_none(schema: Any) -> None:
    wrapped = schema if isinstance(schema, dict) else {"properties": {"a": schema}}
    assert len(list(likely_payloads(wrapped))) <= 2


def test_a_schema_deeper_than_the_bound_has_no_example() -> None:
    schema: dict[str, Any] = {"type": "integer"}
    for _ in range(MAX_DEPTH + 1):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    assert list(likely_payloads(schema)) == []


# --- the manifest ---


def _registry(**annotations: Any) -> Registry:
    registry = Registry()
    for name, annotation in annotations.items():

        def handle(context: object, payload: object) -> None: ...

        handle.__annotations__["payload"] = annotation
        registry.add(name, handle)
    return registry


def test_the_manifest_describes_each_payload_as_json() -> None:
    [info] = describe(_registry(charge=Invoice))
    assert info.payload_schema == _takes(Invoice).schema
    assert info.payload_examples[0] == {"customer": "text"}
    assert info.payload_check is not None
    check: Any = json.loads(json.dumps(info.payload_check))
    SchemaValidator(check).validate_json('{"customer": "Ada", "cents": "5"}')


def test_the_manifest_is_the_same_in_every_process() -> None:
    # pydantic names recursive types after their place in memory.
    [first] = describe(_registry(grow=Tree))
    assert f"{id(Tree)}" not in json.dumps(first.payload_check)


def test_a_handler_may_opt_out_of_the_check_and_keeps_its_schema() -> None:
    registry = Registry()

    @job("charge", validate_on_submit=False, registry=registry)
    def charge(context: object, payload: Invoice) -> None: ...

    [info] = describe(registry)
    assert info.payload_check is None
    assert info.payload_schema is not None


def test_a_handler_without_a_payload_takes_any() -> None:
    registry = Registry()

    @job("tick", registry=registry)
    def tick(context: object) -> None: ...

    [info] = describe(registry)
    assert (info.payload_schema, info.payload_check, info.payload_examples) == (None, None, ())


def _choices(number: int) -> Any:
    return Literal[tuple(f"{one:06}" for one in range(number))]


def test_a_schema_that_is_too_large_is_left_out_with_a_warning() -> None:
    warnings: list[str] = []
    huge, small = describe(_registry(huge=_choices(10_000), small=int), warnings.append)
    assert (huge.payload_schema, huge.payload_check, huge.payload_examples) == (None, None, ())
    assert small.payload_schema is not None
    [warning] = warnings
    assert warning.startswith("The payload schema of huge is left out: it is ")
    assert f"At most {MAX_SCHEMA_BYTES:,} for one handler" in warning


def test_the_schemas_of_all_handlers_together_are_bounded() -> None:
    warnings: list[str] = []
    annotations = {f"h{number:02}": _choices(3_000) for number in range(25)}
    infos = describe(_registry(**annotations), warnings.append)
    kept = [info for info in infos if info.payload_schema is not None]
    assert len(warnings) == len(infos) - len(kept) > 0
    size = sum(len(json.dumps([one.payload_schema, one.payload_check])) for one in kept)
    assert MAX_SCHEMAS_BYTES * 0.8 < size < MAX_SCHEMAS_BYTES * 1.2
    # What is left out depends on the names alone.
    assert [info.name for info in kept] == sorted(info.name for info in kept)


def test_a_type_that_cannot_be_used_is_found_at_packing_and_hides_nothing_else() -> None:
    class Odd:
        pass

    registry = _registry(odd=Odd)
    with pytest.raises(InvalidHandler):
        describe(registry)
    assert registry.get("odd").info.payload_check is None


# --- fields that the type does not have ---


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (Invoice, {"customer": "a", "cnets": 5}),
        (Letter, {"to": "a", "form": "b"}),
        (CheckedInvoice, {"customer": "a", "cents": 5}),
        (list[Invoice], [{"customer": "a"}, {"customer": "a", "cnets": 5}]),
        (dict[str, Invoice] | None, {"x": {"customer": "a", "cnets": 5}}),
        (Parcel, {"letters": [{"to": "a", "form": "b"}]}),
    ],
)
def test_a_field_that_a_dataclass_or_typed_dict_lacks_is_refused_at_submission_only(
    annotation: Any, payload: Any
) -> None:
    taken = _takes(annotation)
    assert not _is_submitted(taken, payload)
    taken.binder(json.dumps(payload))


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (Parcel, {"letters": [], "other": 1}),
        (OpenInvoice, {"customer": "a", "cents": 5}),
        (FreeInvoice, {"customer": "a", "cents": 5}),
        (OldLetter, {"to": "a", "form": "b"}),
        # pydantic gives a model's configuration to a dataclass that has none.
        (OpenParcel, {"invoice": {"customer": "a", "cnets": 5}}),
        (Annotated[Invoice, BeforeValidator(dict)], {"customer": "a", "cnets": 5}),
        # Of several names of one field, those that are not read are no unknown fields.
        (ManyNames, {"x": 1, "y": 2}),
        (ManyNames, {"y": 1, "z": [2], "why": 3}),
        (ManyNames, {"z": [1, 2]}),
        (TwoNames, {"a": 1}),
        (TwoNames, {"a": 1, "x": 2}),
    ],
)
def test_what_a_type_states_about_other_fields_holds(annotation: Any, payload: Any) -> None:
    assert _is_submitted(_takes(annotation), payload)


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [
        (ManyNames, {"x": 1, "a": 2}),
        (ManyNames, {"y": 2, "other": 1}),
        (ManyNames, {"y": "a"}),
        (ManyNames, {"why": 1}),
        (TwoNames, {"x": 1, "y": 2}),
    ],
)
def test_several_names_of_a_field_allow_no_others(annotation: Any, payload: Any) -> None:
    assert not _is_submitted(_takes(annotation), payload)


@pytest.mark.parametrize(
    ("annotation", "payload"),
    [(ClosedModel, {"customer": "a", "cents": 5}), (ClosedNames, {"x": 1, "y": 2})],
)
def test_a_type_that_forbids_other_fields_refuses_them_everywhere(
    annotation: Any, payload: Any
) -> None:
    taken = _takes(annotation)
    assert not _is_submitted(taken, payload)
    with pytest.raises(InvalidPayload):
        taken.binder(json.dumps(payload))


@pytest.mark.parametrize(
    ("annotation", "additional"),
    [
        (Invoice, False),
        (Letter, False),
        (ClosedModel, False),
        (FreeInvoice, True),
        (OpenInvoice, None),
        (OldLetter, None),
        (Parcel, None),
    ],
)
def test_the_schema_says_whether_other_fields_are_refused(annotation: Any, additional: Any) -> None:
    schema = _takes(annotation).schema
    assert schema is not None
    assert schema.get("additionalProperties") is additional


def _is_submitted(taken: PayloadType, payload: Any) -> bool:
    assert taken.check is not None
    try:
        SchemaValidator(json.loads(json.dumps(taken.check))).validate_json(json.dumps(payload))
    except ValidationError:
        return False
    return True


def test_a_before_validator_leaves_its_field_unchecked() -> None:
    check = _takes(Annotated[list[str], BeforeValidator(str.split)]).check
    assert check == {"type": "any"}
