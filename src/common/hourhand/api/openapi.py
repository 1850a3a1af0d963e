"""The OpenAPI 3.1 document: routes here, shapes from the models of requests and the answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import deepcopy
from functools import cache
from http import HTTPStatus
from types import UnionType
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from hourhand.answers.answered import Answered
from hourhand.answers.batches import Problem
from hourhand.answers.jobs import Job
from hourhand.answers.schedules import Calendar, Schedule
from hourhand.api.answer_schemas import REFERENCE, schemas_of, texts_of
from hourhand.api.openapi_texts import (
    INFO_TEXT,
    MEMBER_TEXT,
    NODE_PROPERTIES,
    NODE_TEXT,
    SHAPE_TEXTS,
)
from hourhand.api.requests._models import StrictModel
from hourhand.api.requests.batches import BatchInput, MembersInput
from hourhand.api.requests.graphs import REFUSED_OF_MEMBERS, GraphInput
from hourhand.api.requests.jobs import NEVER_NULL, BatchRequest, JobPatch, JobSubmission
from hourhand.api.requests.schedule_operations import CalendarInput, PreviewedSchedule
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.api.routes import DOCUMENTED
from hourhand.api.routing import Route, Taken
from hourhand.domain.graphs.definition import MAX_NODES
from hourhand.domain.runs.built_in import CALLBACKS
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
    429: "A quota is used up; retry after `Retry-After`",
    503: "AWS did not answer; retry after `Retry-After`",
}

_TAGS = {"dead-letters": "jobs", "callbacks": "runs"} | dict.fromkeys(
    ("handlers", "health", "limits", "quotas", "resweep", "stats"), "system"
)
"""The groups that have another name than the nouns of their paths."""

_TEXTS_OF: Mapping[type[BaseModel], tuple[type[Answered], ...]] = {
    JobSubmission: (Job,),
    GraphInput: (Job,),
    BatchInput: (Job,),
    ScheduleInput: (Job, Schedule),
    PreviewedSchedule: (Job, Schedule),
    CalendarInput: (Calendar,),
}
"""The answers whose fields explain those of a request that have no text of their own."""

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
    for route in DOCUMENTED:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, scope_prefix)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hourhand", "version": API_VERSION, "description": INFO_TEXT},
        "servers": [{"url": stage_prefix or "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(map(tag_of, DOCUMENTED))],
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": _SECURITY_SCHEMES},
    }


def _operation(route: Route, scope_prefix: str) -> dict[str, Any]:
    words = re.sub(r"\{\w+\}", "one", route.path.removeprefix("/v1/")).replace("-", "_").split("/")
    operation: dict[str, Any] = {
        "operationId": "_".join([route.method.lower(), *words]),
        "summary": _summary(route),
        "tags": [tag_of(route)],
        "parameters": _path_parameters(route.path) + _query_parameters(route.filters),
        "responses": {
            **{str(status): _answer(status, route) for status in route.statuses},
            **{str(status): _failure(status) for status in failures(route)},
        },
        # IAM's leave, or a token's scope; on this machine nothing.
        "security": [{"iam": []}, {"token": [scope_prefix + route.access.scope]}, {}],
    }
    if route.body is not None:
        schema = {"$ref": REFERENCE + model_of(route.body).__name__}
        operation["requestBody"] = {
            "required": not isinstance(route.body, UnionType),
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _summary(route: Route) -> str:
    operation = getattr(route.operation, "func", route.operation)
    text = " ".join(str(operation.__doc__).partition("\n\n")[0].split())
    return text.removesuffix(".").replace("``", "`")


def tag_of(route: Route) -> str:
    """Return the group of a route, by its noun if it names none."""
    noun = route.path.split("/")[2]
    return route.tag or _TAGS.get(noun, noun)


def failures(route: Route) -> list[int]:
    """Return the statuses of all failures: any route may lack a scope, or get an unknown field."""
    known = {403, 422, 500, 503, *route.also}
    if "{" in route.path and not (route.method == "PUT" and HTTPStatus.CREATED in route.statuses):
        known.add(404)
    if route.method != "GET":
        known |= {400, 409, 415}
    if route.body is not None:
        known.add(413)
    return sorted(known)


def model_of(taken: Taken) -> Any:
    """Return the model of a query or a body, also of a body that may be absent."""
    return taken.__args__[0] if isinstance(taken, UnionType) else taken


def _path_parameters(path: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in re.findall(r"\{(\w+)\}", path)
    ]


def _query_parameters(taken: Taken) -> list[dict[str, Any]]:
    if taken is None:
        return []
    model = model_of(taken)
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


def _answer(status: int, route: Route) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _REASONS[status]}
    shapes = [{"$ref": REFERENCE + one.__name__} for one in answers_of(route)]
    if shapes:
        schema = shapes[0] if len(shapes) == 1 else {"anyOf": shapes}
        answer["content"] = {"application/json": {"schema": schema}}
    if HTTPStatus.CREATED in route.statuses:
        answer["headers"] = {"Location": {"schema": {"type": "string"}}}
    if route.body is JobSubmission and status == HTTPStatus.OK:
        answer["description"] = "The job as first created"
    return answer


def answers_of(route: Route) -> list[type[Answered]]:
    """Return the shapes that the answers of a route may have."""
    return [one for one in (route.answer, route.dry_answer) if one is not None]


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
    requests |= {model_of(route.body) for route in DOCUMENTED if route.body is not None}
    answers = [answer for route in DOCUMENTED for answer in answers_of(route)]
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
    model = _requests().get(name)
    texts = {} if model is None else field_texts(model)
    described = deepcopy(dict(schema))
    described.pop("title", None)
    if "description" in described:
        # Docstrings mark code as reStructuredText does; OpenAPI's texts are CommonMark.
        text = SHAPE_TEXTS.get(name, described["description"])
        described["description"] = text.replace("``", "`")
    for field, value in described.get("properties", {}).items():
        value.pop("title", None)
        if value.get("default", ...) is None:
            # A generator of TypeScript demands a field that has a default.
            del value["default"]
        if field in texts:
            value["description"] = texts[field]
    return described


def field_texts(model: type[BaseModel]) -> dict[str, str]:
    """Return the texts of the fields of a request, by their names in JSON."""
    answered = {k: v for kind in _TEXTS_OF.get(model, ()) for k, v in texts_of(kind).items()}
    texts: dict[str, str] = {}
    for name, field in model.model_fields.items():
        own = [one for one in field.metadata if isinstance(one, str)]
        text = own[0] if own else answered.get(field.alias or name)
        if text is not None:
            texts[field.alias or name] = text
    return texts


def _requests(base: type[BaseModel] = StrictModel) -> dict[str, type[BaseModel]]:
    """Return the models of all requests, and of what they consist of, by name."""
    found = {base.__name__: base}
    for model in base.__subclasses__():
        found |= _requests(model)
    return found


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field that may be absent, but never null."""
    schema.pop("title", None)
    choices = [s for s in schema.pop("anyOf", []) if s != {"type": "null"}]
    if schema.get("default", ...) is None:
        del schema["default"]
    return {**schema, **choices[0]} if choices else schema
