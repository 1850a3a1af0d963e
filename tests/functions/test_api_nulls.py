"""The OpenAPI document allows null for a field of a body exactly if the API accepts null there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from hourhand.api.openapi import MEMBER, NODE, model_of, openapi_document
from hourhand.api.requests import limits
from hourhand.api.requests._models import StrictModel
from hourhand.api.requests.graphs import GraphInput, parse_member
from hourhand.api.routes import DOCUMENTED
from hourhand.domain.errors import InvalidInput
from hourhand.services.runs.members import members_of_graph

REQUIRED: Mapping[str, Mapping[str, Any]] = {
    "BackfillInput": {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"},
    "BatchInput": {"jobs": []},
    "BatchRequest": {"jobs": []},
    "BulkDiscard": {"all": True},
    "BulkRequest": {"all": True},
    "CalendarInput": {"exclude": []},
    "CallbackFailure": {"error": {}},
    "DebounceInput": {"key": "payload", "wait_seconds": 5},
    "ExcludedRange": {"from": "2026-01-01", "to": "2026-01-02"},
    "FreeInput": {"job_id": "one"},
    "GraphInput": {"nodes": {"a": {"handler": "echo"}}},
    "JobPatch": {"payload": 1},
    "JobSubmission": {"handler": "echo"},
    "LimitChoice": {"name": "shared"},
    "LimitInput": {"max": 1},
    "MembersInput": {"first_index": 0, "jobs": [{"handler": "echo"}]},
    MEMBER: {"handler": "echo"},
    NODE: {"handler": "echo"},
    "PreviewInput": {"schedule": {"expression": "@daily"}},
    "PreviewedSchedule": {"expression": "@daily"},
    "QuotaInput": {"accepted_per_minute": 1, "live": 1},
    "RerunInput": {"from": ["a"]},
    "ResweepInput": {"since": "2026-01-01T00:00:00Z"},
    "ScheduleInput": {"expression": "@daily", "handler": "echo"},
    "UniqueInput": {"key": "payload"},
}
"""What a body must have, at the least; the others may be empty."""


def body_models(base: type[StrictModel] = StrictModel) -> Iterator[type[StrictModel]]:
    for model in base.__subclasses__():
        yield model
        yield from body_models(model)


SCHEMAS: Mapping[str, Any] = openapi_document()["components"]["schemas"]
MODELS: Mapping[str, Any] = {
    model.__name__: model for model in body_models() if model.__name__ in SCHEMAS
}
FIELDS = [
    (name, field)
    for name in (*sorted(MODELS), MEMBER, NODE)
    for field in SCHEMAS[name]["properties"]
]


def allows_null(schema: Mapping[str, Any]) -> bool:
    """Whether a schema allows null; one without a type allows anything."""
    if "$ref" in schema:
        return allows_null(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return any(map(allows_null, choices))
    if "enum" in schema and None not in schema["enum"]:
        return False
    return "const" not in schema and "null" in (schema.get("type") or ["null"])


def parse(name: str, body: Mapping[str, Any]) -> None:
    """Parse a body as its route does; raise `InvalidInput` naming each wrong field."""
    if name == MEMBER:
        parse_member(body)
    elif name == NODE:
        (member,) = members_of_graph(GraphInput.parse({"nodes": {"a": body}}).definition)
        parse_member(member.fields, member.around)
    elif name == limits.QuotaInput.__name__:
        limits.QuotaInput.parse(body, "one")
    elif hasattr(MODELS[name], "parse"):
        MODELS[name].parse(body)
    else:
        MODELS[name].model_validate(body)


def wrong_fields(name: str, body: Mapping[str, Any]) -> set[str]:
    """Return the fields that the parser refuses; of a model within a body, by their names."""
    try:
        parse(name, body)
    except InvalidInput as error:
        return {one.field.removeprefix("nodes.a.") for one in error.errors}
    except ValidationError as error:
        return {str(one["loc"][0]) for one in error.errors()}
    return set()


def test_every_body_is_looked_at() -> None:
    assert {model_of(route.body).__name__ for route in DOCUMENTED if route.body} <= set(MODELS)
    for name in (*MODELS, MEMBER, NODE):
        assert not wrong_fields(name, REQUIRED.get(name, {}))


@pytest.mark.parametrize(("name", "field"), FIELDS)
def test_a_field_may_be_null_exactly_if_the_document_says_so(name: str, field: str) -> None:
    wrong = wrong_fields(name, {**REQUIRED.get(name, {}), field: None})
    assert wrong == (set() if allows_null(SCHEMAS[name]["properties"][field]) else {field})
