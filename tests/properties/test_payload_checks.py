"""A submission refuses no payload that the handler accepts, whatever the handler's type.

The only exceptions are fields that a dataclass or a TypedDict does not have. And the work of a
check grows with the size of a payload, not with the power of its depth.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, make_dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, Optional, Union, cast
from uuid import UUID

import pydantic
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    AnyUrl,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
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
    Tag,
    WrapValidator,
    create_model,
)
from pydantic_core import SchemaValidator, ValidationError
from typing_extensions import TypedDict

from hourhand.handlers import InvalidPayload
from hourhand.handlers._binding import PayloadBinder
from hourhand.handlers._payload_type import PayloadType
from tests.examples import examples


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Word(str, Enum):  # noqa: UP042 (a StrEnum is one of these)
    CAT = "cat"
    DOG = "dog"


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


@dataclass(frozen=True)
class FrozenPoint:
    __pydantic_config__ = ConfigDict(extra="ignore")

    x: int
    y: int = 0


@dataclass
class Computed:
    __pydantic_config__ = ConfigDict(extra="ignore")

    x: int
    y: int = field(default=0, init=False)


class FrozenModel(BaseModel):
    model_config = ConfigDict(frozen=True)

    x: int


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


class InMilliseconds(BaseModel):
    model_config = ConfigDict(val_temporal_unit="milliseconds")

    x: Annotated[datetime, Field(lt=datetime(2030, 1, 1, tzinfo=UTC))]


class And(BaseModel):
    a: And | Or | int


class Or(BaseModel):
    a: And | Or | int
    b: list[And | Or] = []


def _split(value: Any) -> Any:
    return value.split(",") if isinstance(value, str) else value


def _kind_of(value: Any) -> str:
    return "one" if isinstance(value, dict) and "lives" in value else "other"


def _tagged(one: Any, other: Any) -> Any:
    """Return a union of two models whose field ``kind`` has these values."""
    kinds: tuple[Any, Any] = Literal[one], Literal[other]
    first = create_model("First", kind=(kinds[0], ...), x=(int, 0))
    second = create_model("Second", kind=(kinds[1], ...), y=(list[int], []))
    return Annotated[first | second, Field(discriminator="kind")]


Lower = Annotated[str, AfterValidator(str.lower)]
AsText = Annotated[str, BeforeValidator(repr)]


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
    *(set[FrozenPoint], frozenset[FrozenModel], set[Point], set[Any], set[tuple[int, ...]]),
    *(set[frozenset[int]], set[Mixed], set[Json[FrozenPoint]], set[Color | int]),
    Annotated[set[Lower], Field(max_length=1)],
    Annotated[set[AsText], Field(min_length=2)],
    Annotated[dict[Lower, int], Field(max_length=1)],
    Annotated[dict[AsText, int], Field(min_length=2)],
    Annotated[dict[Annotated[int, AfterValidator(str)] | str, int], Field(min_length=2)],
    *(dict[Json[FrozenPoint], int], dict[Json[tuple[int, ...]], int], dict[Color, int]),
    *(dict[Level, int], dict[Literal["a", "b"], int], dict[FrozenPoint | str, int]),
    *(InMilliseconds, Computed, And, list[And | Or]),
    Annotated[list[OnErrorOmit[int]], Field(max_length=1)],
    Annotated[dict[str, OnErrorOmit[int]], Field(max_length=1)],
    Annotated[set[OnErrorOmit[int]], Field(min_length=1, max_length=1)],
    *(_tagged("cat", "dog"), _tagged(1, 2), _tagged(True, False), _tagged(Level.LOW, Level.HIGH)),
    *(_tagged(Word.CAT, Word.DOG), _tagged(Color.RED, Color.BLUE), _tagged("cat", 1)),
    Annotated[Annotated[Cat, Tag("one")] | Annotated[Or, Tag("other")], Discriminator(_kind_of)],
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
    *([{"x": 1}], [{"x": 1}, {"x": "1"}], ["A", "a"], [1, True], [1, 1.0], [["a"]], ["red", 1]),
    *(
        {"A": 1, "a": 2},
        {"a": "x", "b": 1},
        {"x": 1, "y": "no"},
        {"1": 1, "01": 2},
        {'{"x": 1}': 1},
        {"[1]": 1},
        {"red": 1},
        ['{"x": 1}'],
    ),
    *({"x": 1, "y": 2}, {"y": 1, "z": 2}, {"x": 1, "z": [2]}, {"a": 1, "x": 2}, {"x": 10**10}),
    *({"kind": 1}, {"kind": 2, "y": [1]}, {"kind": True, "x": "1"}, {"kind": "red"}, {"kind": 1.0}),
    *({"a": {"a": 1, "b": [{"a": "2"}]}}, {"a": {"a": {"a": None}}}, [{"a": 1}, {"a": {"a": 2}}]),
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
        "frozen": st.booleans(),
        "regex_engine": st.sampled_from(["rust-regex", "python-re"]),
    },
)
ALIASES = st.sampled_from(
    [None, None, "x", AliasChoices("x", "y", AliasPath("z", 0)), AliasPath("z", "a")]
)
KEYS = ("a", "b", "x", "y", "z", "other")
TEXTS = (*KEYS, "A", "1", "01", "red", "[1]", '{"a": 1}', '{"x": 1}')
TAGS: tuple[tuple[Any, Any], ...] = (
    *(("cat", "dog"), (1, 2), (True, False), (Level.LOW, Level.HIGH)),
    *((Word.CAT, Word.DOG), (Color.RED, Color.BLUE)),
)


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
        return make_dataclass("Drawn", given, kw_only=True, frozen=True, namespace=stated)
    marked = {
        name: hint if required else NotRequired[hint]
        for (name, hint), required in zip(hints.items(), is_required, strict=True)
    }
    drawn: Any = TypedDict("Drawn", marked)  # type: ignore[misc]  # drawn names
    for name, value in stated.items():
        setattr(drawn, name, value)
    return drawn


@st.composite
def tagged_unions(draw: st.DrawFn, types: st.SearchStrategy[Typed]) -> Typed:
    """Two models with a field ``kind``, which has a text, a number or a member of an enum."""
    members: list[Any] = []
    payloads = []
    for tag in draw(st.sampled_from(TAGS)):
        hints, payload = draw(several(types))
        fields: dict[str, Any] = {name: (hint, ...) for name, hint in hints.items()}
        fields["kind"] = (Literal[tag], ...)
        members.append(create_model("Drawn", **fields))
        payloads.append(payload)
    kinds = st.sampled_from(["cat", "dog", "red", "blue", 1, 2, 1.0, True, False, "1", None])

    def with_kind(payload: Any, kind: Any) -> Any:
        return {"kind": kind, **payload} if isinstance(payload, dict) else payload

    hint: Any = Annotated[members[0] | members[1], Field(discriminator="kind")]
    return hint, st.builds(with_kind, st.one_of(payloads), kinds)


RECURSIVE = (
    *("Optional[A]", "Union[A, B]", "Union[A, B, int]", "Union[A, int]", "Union[B, str]", "int"),
    *(
        "list[Union[A, B]]",
        "list[A]",
        "Union[list[A], dict[str, B], int]",
        "Union[A, dict[str, A]]",
    ),
    *(
        "Union[tuple[A, ...], list[B]]",
        "Json[Union[A, B]]",
        "dict[str, Union[A, B]]",
        "set[Union[A, B]]",
    ),
)


@st.composite
def recursive_types(draw: st.DrawFn) -> Any:
    """A model of two that refer to each other."""
    config = cast("ConfigDict", {"frozen": True, "extra": draw(EXTRAS)})
    both: list[Any] = []
    for name in ("A", "B"):
        fields: dict[str, Any] = {
            key: (draw(st.sampled_from(RECURSIVE)), ... if draw(st.booleans()) else 0)
            for key in ("a", "b")[: draw(st.integers(1, 2))]
        }
        both.append(create_model(name, __config__=config, **fields))
    names = {"A": both[0], "B": both[1], "Optional": Optional, "Union": Union, "Json": Json}
    for model in both:
        model.model_rebuild(_types_namespace=names)
    return both[0]


# So small that the worker, which may double its work with each level, is quick.
RECURSIVE_PAYLOADS = st.recursive(
    st.sampled_from([1, "1", "x", None, '{"a": 1}']),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2)
    ),
    max_leaves=6,
)


def _composed(types: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    def of(make: Any, payload: Any) -> st.SearchStrategy[Typed]:
        return types.map(lambda typed: (make(typed[0]), _odd_or(payload(typed[1]))))

    lists = lambda payload: st.lists(payload, max_size=3)  # noqa: E731 (shorter than three)
    return st.one_of(
        records(types),
        tagged_unions(types),
        of(lambda hint: set[hint], lists),  # type: ignore[valid-type]
        of(lambda hint: frozenset[hint], lists),  # type: ignore[valid-type]
        of(lambda hint: Annotated[set[hint], Field(max_length=1)], lists),  # type: ignore[valid-type]
        of(lambda hint: Annotated[set[hint], Field(min_length=2)], lists),  # type: ignore[valid-type]
        of(
            lambda hint: Annotated[dict[hint, int], Field(min_length=2, max_length=2)],  # type: ignore[valid-type]
            lambda _: st.dictionaries(st.sampled_from(TEXTS), st.just(1), max_size=3),
        ),
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
    return Union[one, other]  # noqa: UP007 (`|` is not defined for every hint)


TYPES = st.recursive(
    st.sampled_from(LEAVES).map(lambda hint: (hint, st.sampled_from(ODD)))
    | recursive_types().map(lambda hint: (hint, RECURSIVE_PAYLOADS)),
    _composed,
    max_leaves=4,
)


def _handle(context: object, payload: object) -> None:
    """Be a handler."""


def worker_accepts(binder: PayloadBinder, payload: Any) -> bool:
    try:
        binder(json.dumps(payload))
    except (InvalidPayload, TypeError):
        # A key of a dictionary that cannot be hashed is a TypeError.
        return False
    return True


def submission_errors(check: Mapping[str, Any] | None, payload: Any) -> int:
    if check is None:
        return 0
    try:
        SchemaValidator(json.loads(json.dumps(check))).validate_json(json.dumps(payload))
    except ValidationError as error:
        return error.error_count()
    return 0


def submission_accepts(check: Mapping[str, Any] | None, payload: Any) -> bool:
    return submission_errors(check, payload) == 0


@examples(400)
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


STEPS = st.sampled_from(
    [
        lambda inner: {"a": inner},
        lambda inner: {"b": inner},
        lambda inner: {"a": [inner]},
        lambda inner: {"a": {"a": inner}, "b": 1},
        lambda inner: {"a": json.dumps(inner)},
    ]
)
A_LEVEL = 60
"""More errors than one level of a drawn type adds: it has few members and parts."""


@examples(200)
@given(recursive_types(), st.lists(STEPS, min_size=1, max_size=2))
def test_the_work_of_a_check_is_linear_in_the_depth_of_a_payload(
    annotation: Any, steps: Sequence[Callable[[Any], Any]]
) -> None:
    check = PayloadType(PayloadBinder(_handle, annotation)).check
    payload: Any = "wrong"
    for depth in range(1, 10):
        for step in steps:
            payload = step(payload)
        # Each schema that sees a part and refuses it adds an error.
        assert submission_errors(check, payload) <= A_LEVEL * depth, (check, payload)


@examples(200)
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
    *(_tagged(1, 2), _tagged(True, False), InMilliseconds),
    Annotated[set[int], Field(min_length=1, max_length=1)],
    Annotated[dict[str, int], Field(min_length=1, max_length=1)],
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
