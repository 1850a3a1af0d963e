"""The OpenAPI 3.1 document: routes here, shapes from the models of requests and the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from hourhand.answers.batches import Problem
from hourhand.api.access import ACCESS
from hourhand.api.answer_schemas import REFERENCE, schemas_of
from hourhand.api.openapi_routes import DESCRIPTIONS, Description
from hourhand.api.openapi_texts import (
    FIELD_TEXTS,
    INFO_TEXT,
    MEMBER_TEXT,
    NODE_PROPERTIES,
    NODE_TEXT,
    SHAPE_TEXTS,
)
from hourhand.api.requests import (
    NEVER_NULL,
    REFUSED_OF_MEMBERS,
    BatchInput,
    BatchRequest,
    GraphInput,
    JobPatch,
    JobSubmission,
    MembersInput,
)
from hourhand.domain.durable.built_in import CALLBACKS
from hourhand.domain.graphs.definition import MAX_NODES
from hourhand.settings import SCOPE_PREFIX

API_VERSION = "1"
MEMBER, NODE = "MemberSubmission", "NodeSubmission"
"""The shapes of the jobs of graphs and batches."""

_REASONS = {
    200: "The request succeeded",
    201: "Created",
    204: "Deleted",
    400: "The body is not valid JSON",
    403: "The token lacks the scope, or is bound to another tenant",
    404: "Not found",
    409: "Its state, or an earlier use of the key or id, does not allow this",
    413: "The input is too large",
    415: "The body is not application/json",
    422: "A field is invalid; `errors` names each",
    500: "Internal server error",
    503: "AWS did not answer; retry after `Retry-After`",
}


_SECURITY_SCHEMES = {
    "iam": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4, for the service `execute-api`.",
    },
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token with the scope that the route names.",
    },
}


@cache
def openapi_document(stage_prefix: str = "", scope_prefix: str = SCOPE_PREFIX) -> dict[str, Any]:
    """Return the document.

    ``stage_prefix`` is what comes before ``/v1`` in its addresses, ``scope_prefix`` what comes
    before the names of scopes.
    """
    paths: dict[str, Any] = {}
    for (method, path), description in DESCRIPTIONS.items():
        operation = _operation(method, path, description)
        operation["security"] = _security(method, path, scope_prefix)
        paths.setdefault(path, {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hourhand", "version": API_VERSION, "description": INFO_TEXT},
        "servers": [{"url": stage_prefix or "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(d.tag for d in DESCRIPTIONS.values())],
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": _SECURITY_SCHEMES},
    }


def _operation(method: str, path: str, description: Description) -> dict[str, Any]:
    words = re.sub(r"\{\w+\}", "one", path.removeprefix("/v1/")).replace("-", "_").split("/")
    operation: dict[str, Any] = {
        "operationId": "_".join([method.lower(), *words]),
        "summary": description.summary,
        "tags": [description.tag],
        "parameters": _path_parameters(path) + _query_parameters(description.query),
        "responses": {
            **{str(status): _answer(status, description) for status in description.statuses},
            **{str(status): _failure(status) for status in description.failures},
        },
    }
    if description.body is not None:
        schema = {"$ref": REFERENCE + description.body.__name__}
        operation["requestBody"] = {
            "required": description.needs_body,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _security(method: str, path: str, scope_prefix: str) -> list[dict[str, list[str]]]:
    """Return what a route needs: IAM's leave, or a token's scope; on this machine nothing."""
    access = ACCESS.get((method, path))
    token = [] if access is None else [{"token": [scope_prefix + access.scope]}]
    return [{"iam": []}, *token, {}]


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = _described(model.__name__, model.model_json_schema(ref_template=REFERENCE + "{model}"))
    return [
        {
            "name": name,
            "in": "query",
            "description": field.pop("description"),
            "schema": _without_null(field),
        }
        for name, field in schema["properties"].items()
    ]


def _answer(status: int, description: Description) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _REASONS[status]}
    shapes = [{"$ref": REFERENCE + one.__name__} for one in description.answers]
    if shapes:
        schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        answer["content"] = {"application/json": {"schema": schema}}
    if description.has_location:
        answer["headers"] = {"Location": {"schema": {"type": "string"}}}
    if description.body is JobSubmission and status == HTTPStatus.OK:
        answer["description"] = "The job as first created"
    return answer


def _failure(status: int) -> dict[str, Any]:
    failure: dict[str, Any] = {
        "description": _REASONS[status],
        "content": {"application/problem+json": {"schema": {"$ref": REFERENCE + "Problem"}}},
    }
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        failure["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return failure


def _schemas() -> dict[str, Any]:
    requests: set[type[BaseModel]] = {JobSubmission}
    requests |= {d.body for d in DESCRIPTIONS.values() if d.body is not None}
    answers = [answer for d in DESCRIPTIONS.values() for answer in d.answers]
    _, definitions = models_json_schema(
        [(model, "validation") for model in requests],
        ref_template=REFERENCE + "{model}",
    )
    shapes = {**definitions["$defs"], **schemas_of([*answers, Problem])}
    schemas = {name: _described(name, schema) for name, schema in sorted(shapes.items())}
    submitted = {"$ref": REFERENCE + JobSubmission.__name__}
    schemas[BatchRequest.__name__]["properties"]["jobs"]["items"] = submitted
    _add_members(schemas)
    changed = schemas[JobPatch.__name__]["properties"]
    changed.update({name: _without_null(changed[name]) for name in NEVER_NULL})
    return schemas


def _add_members(schemas: dict[str, Any]) -> None:
    """Add the shapes of the jobs of graphs and batches, which are checked one by one."""
    job = {**schemas[JobSubmission.__name__], "description": MEMBER_TEXT}
    job["properties"] = {n: v for n, v in job["properties"].items() if n not in REFUSED_OF_MEMBERS}
    node = {**job, "description": NODE_TEXT, "required": []}
    node["properties"] = {**job["properties"], **NODE_PROPERTIES}
    schemas |= {MEMBER: job, NODE: node}
    member = {"$ref": REFERENCE + MEMBER}
    for model in (BatchInput, MembersInput):
        schemas[model.__name__]["properties"]["jobs"]["items"] = member
    for name in CALLBACKS:
        callback = schemas[BatchInput.__name__]["properties"][name]
        callback["anyOf"] = [member, {"type": "null"}]
    nodes = schemas[GraphInput.__name__]["properties"]["nodes"]
    nodes |= {
        "additionalProperties": {"$ref": REFERENCE + NODE},
        "minProperties": 1,
        "maxProperties": MAX_NODES,
    }


def _described(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Add the texts of a shape and its fields, and remove titles that only repeat names."""
    described = deepcopy(dict(schema))
    described.pop("title", None)
    if "description" in described:
        # Docstrings mark code as reStructuredText does; OpenAPI's texts are CommonMark.
        text = SHAPE_TEXTS.get(name, described["description"])
        described["description"] = text.replace("``", "`")
    for field, value in described.get("properties", {}).items():
        value.pop("title", None)
        text = FIELD_TEXTS.get(name, {}).get(field)
        if text is not None:
            value["description"] = text
    return described


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field that may be absent, but never null."""
    schema.pop("title", None)
    choices = [s for s in schema.pop("anyOf", []) if s != {"type": "null"}]
    if schema.get("default", ...) is None:
        del schema["default"]
    return {**schema, **choices[0]} if choices else schema
