"""A submission refuses no payload that the handler accepts, whatever the handler's type.

The only exceptions are fields that a dataclass or a TypedDict does not have.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import field, make_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast
from uuid import UUID

import pydantic
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FutureDate,
    Json,
    OnErrorOmit,
    PastDatetime,
    PlainValidator,
    RootModel,
    SecretStr,
    StrictInt,
    StringConstraints,
    WrapValidator,
    create_model,
)
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import TypedDict

from hourhand.handlers import InvalidPayload
from hourhand.handlers._binding import PayloadBinder
from hourhand.handlers._payload_type import PayloadType


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TEXT = "text"
    NOTHING = None


class Forgiving(Enum):
    ONE = "one"

    @classmethod
    def _missing_(cls, value: object) -> Forgiving:
        return cls.ONE


class Point(NamedTuple):
    x: int
    y: int = 0


class Names(RootModel[list[str]]):
    pass


class Shouted(RootModel[str]):
    model_config = ConfigDict(str_strip_whitespace=True, str_max_length=3)


class Tree(BaseModel):
    value: int
    children: list[Tree] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str] = []


class Free(BaseModel):
    value: int

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"value": 1, **given})


class Turned(BaseModel):
    value: int

    @pydantic.model_validator(mode="before")
    @classmethod
    def read_a_number(cls, given: Any) -> Any:
        return given if isinstance(given, dict) else {"value": given}


class Aliased(BaseModel):
    model_config = ConfigDict(extra="forbid", validate_by_name=True)

    a: int = Field(validation_alias=AliasChoices("x", AliasPath("z", 0)))


class Renamed(BaseModel):
    model_config = ConfigDict(extra="forbid")

    a: int = Field(alias="x")


class Texts(BaseModel):
    model_config = ConfigDict(coerce_numbers_to_str=True)

    x: str


def _split(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


LEAVES: tuple[Any, ...] = (
    *(Any, int, str, float, bool, bytes, dict, list, None, Decimal, Fraction, complex, UUID),
    *(date, datetime, time, timedelta, PastDatetime, FutureDate, Path, IPv4Address, AnyUrl),
    *(Color, Level, Mixed, Forgiving, Literal["a", 1, None, True], Literal[Color.RED]),  # noqa: PYI030, RUF100
    *(Point, Names, Shouted, Tree, Free, Turned, SecretStr, StrictInt, Json[int], deque[int]),
    *(Aliased, Renamed, Texts, list[OnErrorOmit[int]]),
    *(Mapping[str, int], Sequence[int], frozenset[int], dict[str, Any], list[Any], object),
    Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[int, Field(gt=0, le=100, multiple_of=5)],
    Annotated[float, Field(ge=0.5, lt=float("inf"), multiple_of=0.1)],
    Annotated[Decimal, Field(gt=Decimal("0.5"), max_digits=3, decimal_places=1)],
    Annotated[str, Field(min_length=1, max_length=3, pattern="^[a-z]+$")],
    Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, max_length=3)],
    Annotated[date, Field(ge=date(2020, 1, 1))],
    Annotated[datetime, Field(lt=datetime(2030, 1, 1))],  # noqa: DTZ001 (a naive bound)
    Annotated[timedelta, Field(ge=timedelta(seconds=5, microseconds=1))],
    Annotated[set[int], Field(max_length=1)],
    Annotated[list[str], BeforeValidator(_split)],
    Annotated[int, AfterValidator(lambda value: -value)],
    Annotated[int, WrapValidator(lambda value, _: value)],
    Annotated[int, PlainValidator(lambda value: value)],
)

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 5, -1, 5.0, 1.5, 0.3, 1e300, 10**30, 1767225600),
    *("", "a", "abc", "  a  ", "5", " 5 ", "5.0", "1_000", "+5", "1/2", "1+2j", "nan", "Infinity"),
    *("yes", "TRUE", "on", "red", "RED", "one", "text", "cat", "2026-01-31", "2035-01-31"),
    *("2026-01-31T09:00:00Z", "2026-01-31 09:00", "1767225600", "09:00", "P1D", "PT5S", "-PT5S"),
    *("9b2c9b0e-6f0b-4a3c-8d5e-0c1f2a3b4c5d", "https://example.org", "127.0.0.1", "a,b", "[1]"),
    *([1, "a"], [], [1], ["1", 1.0], [1, 1], ["a"], [[1, 2], [3]], {}, {"a": 1}, {"1": "2"}),
    *({"kind": "cat", "lives": "9"}, {"kind": "dog"}, {"value": "1", "children": [{"value": 2}]}),
    *({"x": 1}, {"z": [1]}, [1, 2], {"value": 1, "children": None}, [0, [1, 2], -1]),
)

Typed = tuple[Any, st.SearchStrategy[Any]]


def _odd_or(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.sampled_from(ODD) | strategy | strategy


CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "extra": st.sampled_from(["allow", "forbid", "ignore"]),
        "strict": st.booleans(),
        "str_strip_whitespace": st.booleans(),
        "str_max_length": st.integers(1, 4),
        "coerce_numbers_to_str": st.booleans(),
        "validate_by_name": st.booleans(),
        "regex_engine": st.sampled_from(["rust-regex", "python-re"]),
    },
)
ALIASES = st.sampled_from(
    [None, None, "x", AliasChoices("x", "y", AliasPath("z", 0)), AliasPath("z", "a")]
)
KEYS = ("a", "b", "x", "y", "z", "other")


def _objects(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return _odd_or(st.dictionaries(st.sampled_from(KEYS), values, max_size=5))


EXTRAS = st.sampled_from(["allow", "forbid", "ignore"])


@st.composite
def records(draw: st.DrawFn, types: st.SearchStrategy[Typed]) -> Typed:
    """A model, or a dataclass or TypedDict that states what becomes of other fields."""
    hints, payloads = draw(several(types))
    kind = draw(st.sampled_from(["model", "dataclass", "typed dict"]))
    if kind != "model":
        is_required = [draw(st.booleans()) for _ in hints]
        return _plain_record(kind, hints, is_required, draw(EXTRAS)), payloads
    given_fields: dict[str, Any] = {
        name: (
            hint,
            Field(validation_alias=draw(ALIASES))
            if draw(st.booleans())
            else Field(None, validation_alias=draw(ALIASES)),
        )
        for name, hint in hints.items()
    }
    config = cast("ConfigDict", draw(CONFIGS))
    return create_model("Drawn", __config__=config, **given_fields), payloads


@st.composite
def several(
    draw: st.DrawFn, types: st.SearchStrategy[Typed]
) -> tuple[dict[str, Any], st.SearchStrategy[Any]]:
    """The types of one or two fields, and payloads with these fields and others."""
    inner = [draw(types) for _ in range(draw(st.integers(1, 2)))]
    hints = {name: hint for name, (hint, _) in zip(KEYS, inner, strict=False)}
    return hints, _objects(st.one_of([payload for _, payload in inner]))


def _plain_record(
    kind: str, hints: Mapping[str, Any], is_required: Sequence[bool], extra: str | None
) -> Any:
    """Return a dataclass or a TypedDict; ``extra``: what it states about other fields."""
    stated = {} if extra is None else {"__pydantic_config__": ConfigDict(extra=extra)}  # type: ignore[typeddict-item]  # drawn
    if kind == "dataclass":
        given = [
            (name, hint, field() if required else field(default=None))
            for (name, hint), required in zip(hints.items(), is_required, strict=True)
        ]
        return make_dataclass("Drawn", given, kw_only=True, namespace=stated)
    marked = {
        name: hint if required else NotRequired[hint]
        for (name, hint), required in zip(hints.items(), is_required, strict=True)
    }
    drawn: Any = TypedDict("Drawn", marked)  # type: ignore[misc]  # drawn names
    for name, value in stated.items():
        setattr(drawn, name, value)
    return drawn


def _composed(types: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    def of(make: Any, payload: Any) -> st.SearchStrategy[Typed]:
        return types.map(lambda typed: (make(typed[0]), _odd_or(payload(typed[1]))))

    lists = lambda payload: st.lists(payload, max_size=3)  # noqa: E731 (shorter than three)
    return st.one_of(
        records(types),
        of(lambda hint: hint | None if hint is not None else None, lambda payload: payload),
        of(lambda hint: list[hint], lists),  # type: ignore[valid-type]
        of(lambda hint: tuple[hint, ...], lists),  # type: ignore[valid-type]
        of(lambda hint: tuple[hint, int], lists),  # type: ignore[valid-type]
        of(
            lambda hint: dict[str, hint],  # type: ignore[valid-type]
            lambda payload: st.dictionaries(st.sampled_from(KEYS), payload, max_size=3),
        ),
        of(
            lambda hint: dict[int, hint],  # type: ignore[valid-type]
            lambda payload: st.dictionaries(st.sampled_from(["1", "a"]), payload, max_size=2),
        ),
        st.tuples(types, types).map(
            lambda both: (_union(both[0][0], both[1][0]), both[0][1] | both[1][1])
        ),
    )


def _union(one: Any, other: Any) -> Any:
    from typing import Union  # noqa: PLC0415 (`|` is not defined for every hint)

    return Union[one, other]  # noqa: UP007


TYPES = st.recursive(
    st.sampled_from(LEAVES).map(lambda hint: (hint, st.sampled_from(ODD))),
    _composed,
    max_leaves=4,
)


def _handle(context: object, payload: object) -> None:
    """Be a handler."""


def worker_accepts(binder: PayloadBinder, payload: Any) -> bool:
    try:
        binder(json.dumps(payload))
    except InvalidPayload:
        return False
    return True


def submission_accepts(check: Mapping[str, Any] | None, payload: Any) -> bool:
    if check is None:
        return True
    try:
        SchemaValidator(json.loads(json.dumps(check))).validate_json(json.dumps(payload))
    except ValidationError:
        return False
    return True


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_payload_that_the_worker_accepts_is_accepted_at_submission(data: st.DataObject) -> None:
    annotation, payloads = data.draw(TYPES)
    try:
        binder = PayloadBinder(_handle, annotation)
        binder.binder()
    except Exception:  # noqa: BLE001 - pydantic has no validator for some combinations
        event("no such type")
        return
    check = PayloadType(binder).check
    for payload in data.draw(st.lists(payloads, min_size=1, max_size=8)):
        accepted = worker_accepts(binder, payload)
        event(f"the worker accepts: {accepted}")
        if accepted:
            assert submission_accepts(check, payload), (annotation, payload, check)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_record_that_states_nothing_is_checked_as_one_that_forbids_other_fields(
    data: st.DataObject,
) -> None:
    hints, payloads = data.draw(several(TYPES))
    kind = data.draw(st.sampled_from(["dataclass", "typed dict"]))
    is_required = [data.draw(st.booleans()) for _ in hints]
    silent, closed = (
        PayloadBinder(_handle, _plain_record(kind, hints, is_required, extra))
        for extra in (None, "forbid")
    )
    try:
        closed.binder()
    except Exception:  # noqa: BLE001 - pydantic has no validator for some combinations
        event("no such type")
        return
    check, of_closed = PayloadType(silent).check, PayloadType(closed).check
    for payload in data.draw(st.lists(payloads, min_size=1, max_size=8)):
        accepted = submission_accepts(check, payload)
        event(f"the submission accepts: {accepted}")
        assert accepted == submission_accepts(of_closed, payload), (hints, payload, check)
        if worker_accepts(closed, payload):
            # And the worker ignores what a submission refuses.
            assert accepted
            assert worker_accepts(silent, {**payload, "unknown": 1})
            assert not submission_accepts(check, {**payload, "unknown": 1})


@pytest.mark.parametrize("annotation", LEAVES, ids=range(len(LEAVES)))
def test_each_kind_of_type_accepts_at_submission_what_the_worker_accepts(annotation: Any) -> None:
    binder = PayloadBinder(_handle, annotation)
    check = PayloadType(binder).check
    refused = [
        payload
        for payload in ODD
        if worker_accepts(binder, payload) and not submission_accepts(check, payload)
    ]
    assert refused == []


EXACT: tuple[Any, ...] = (
    *(int, str, float, bool, dict, list, None, Decimal, Fraction, UUID, date, datetime, time),
    *(timedelta, AnyUrl, Color, Literal["a", 1], Names, Tree, StrictInt, Json[int]),
    *(dict[str, Any], list[Any], dict[int, date], tuple[int, str], list[int | None]),
    Annotated[Cat | Dog, Field(discriminator="kind")],
    Annotated[int, Field(gt=0, le=100, multiple_of=5)],
    Annotated[Decimal, Field(gt=Decimal("0.5"), max_digits=3, decimal_places=1)],
    Annotated[str, Field(min_length=1, max_length=3, pattern="^[a-z]+$")],
    Annotated[str, StringConstraints(strip_whitespace=True, to_upper=True, max_length=3)],
    Annotated[date, Field(ge=date(2020, 1, 1))],
)


@pytest.mark.parametrize("annotation", EXACT, ids=range(len(EXACT)))
def test_a_type_without_code_of_its_own_is_checked_exactly_as_by_the_worker(
    annotation: Any,
) -> None:
    binder = PayloadBinder(_handle, annotation)
    check = PayloadType(binder).check
    assert check is not None
    judged = {json.dumps(payload): worker_accepts(binder, payload) for payload in ODD}
    assert {one: submission_accepts(check, json.loads(one)) for one in judged} == judged
    assert True in judged.values()
    assert False in judged.values()


def test_a_rule_about_the_present_time_is_left_to_the_worker_since_the_job_runs_later() -> None:
    for annotation, payload in ((PastDatetime, "2999-01-31T09:00:00Z"), (FutureDate, "1999-01-31")):
        binder = PayloadBinder(_handle, annotation)
        assert not worker_accepts(binder, payload)
        assert submission_accepts(PayloadType(binder).check, payload)
