"""The OpenAPI 3.1 document: routes here, shapes from the models that requests are checked by."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from hourhand.http_api.openapi_texts import FIELD_TEXTS, INFO_TEXT
from hourhand.schemas import (
    BatchRequest,
    BulkRequest,
    JobPatch,
    JobSubmission,
    ListRequest,
    RetryInput,
    responses,
)

API_VERSION = "1"
_REFERENCE = "#/components/schemas/"

_REASONS = {
    200: "As asked",
    201: "The job was made",
    400: "The body is not valid JSON",
    404: "There is no such job",
    409: "The job's state, or an earlier use of the key or id, does not allow this",
    413: "The input is too large",
    415: "The body is not application/json",
    422: "A field is invalid; `errors` names each",
    500: "Something failed on our side",
    503: "AWS did not answer; repeat after `Retry-After`",
}
_BODY_FAILS = (400, 413, 415, 422)


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """What the document says of one route."""

    summary: str
    tag: str
    answer: type[BaseModel]
    body: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (200,)
    fails: tuple[int, ...] = ()

    @property
    def failures(self) -> list[int]:
        """The statuses of all failures: an unknown query field is one on every route."""
        return sorted({*self.fails, 422, 500})


_ON_ONE_JOB: dict[str, Any] = {
    "tag": "jobs",
    "answer": responses.Job,
    "fails": (400, 404, 409, 415, 503),
}
_IN_BULK: dict[str, Any] = {
    "tag": "bulk",
    "body": BulkRequest,
    "answer": responses.BulkResult,
    "fails": (*_BODY_FAILS, 503),
}

DESCRIPTIONS: Mapping[tuple[str, str], Description] = {
    ("POST", "/v1/jobs"): Description(
        summary="Submit a job",
        tag="jobs",
        body=JobSubmission,
        answer=responses.Job,
        statuses=(200, 201),
        fails=(409, *_BODY_FAILS, 503),
    ),
    ("POST", "/v1/jobs/batch"): Description(
        summary="Submit up to 500 jobs, 2.5 MB in all, each judged alone",
        tag="jobs",
        body=BatchRequest,
        answer=responses.BatchResults,
        fails=(*_BODY_FAILS, 503),
    ),
    ("GET", "/v1/jobs"): Description(
        summary="Page through jobs, newest first",
        tag="jobs",
        query=ListRequest,
        answer=responses.JobPage,
        fails=(503,),
    ),
    ("GET", "/v1/jobs/{id}"): Description(
        summary="Read a job, whole", tag="jobs", answer=responses.Job, fails=(404, 503)
    ),
    ("PATCH", "/v1/jobs/{id}"): Description(
        summary="Change a job that is not yet running",
        tag="jobs",
        body=JobPatch,
        answer=responses.Job,
        fails=(404, 409, *_BODY_FAILS, 503),
    ),
    ("GET", "/v1/jobs/{id}/events"): Description(
        summary="Read a job's history", tag="jobs", answer=responses.Events, fails=(404, 503)
    ),
    ("POST", "/v1/jobs/{id}/cancel"): Description(
        summary="Cancel a waiting job, or ask a running one to stop", **_ON_ONE_JOB
    ),
    ("POST", "/v1/jobs/{id}/redrive"): Description(
        summary="Send a DEAD, EXPIRED or CANCELLED job round again", **_ON_ONE_JOB
    ),
    ("POST", "/v1/jobs/{id}/run-now"): Description(
        summary="Make a waiting job due at once", **_ON_ONE_JOB
    ),
    ("POST", "/v1/jobs/cancel"): Description(summary="Cancel many jobs", **_IN_BULK),
    ("POST", "/v1/jobs/redrive"): Description(
        summary="Redrive many jobs: DEAD ones, or those of the status asked for", **_IN_BULK
    ),
    ("GET", "/v1/stats"): Description(
        summary="Read how the system does", tag="system", answer=responses.Stats, fails=(503,)
    ),
    ("GET", "/v1/handlers"): Description(
        summary="List the registered handlers", tag="system", answer=responses.Handlers
    ),
    ("GET", "/v1/health"): Description(
        summary="Ask whether the API answers", tag="system", answer=responses.Health
    ),
}
"""Every route but the two that tell of the API itself."""


@cache
def openapi_document(stage_prefix: str = "") -> dict[str, Any]:
    """Return the document; ``stage_prefix`` is what comes before ``/v1`` in its addresses."""
    paths: dict[str, Any] = {}
    for (method, path), description in DESCRIPTIONS.items():
        paths.setdefault(path, {})[method.lower()] = _operation(method, path, description)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Hourhand", "version": API_VERSION, "description": INFO_TEXT},
        "servers": [{"url": stage_prefix or "/"}],
        "tags": [{"name": "jobs"}, {"name": "bulk"}, {"name": "system"}],
        "paths": paths,
        "components": {"schemas": _schemas()},
    }


def _operation(method: str, path: str, description: Description) -> dict[str, Any]:
    words = path.removeprefix("/v1/").replace("{id}", "one").replace("-", "_").split("/")
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
        schema = {"$ref": _REFERENCE + description.body.__name__}
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _path_parameters(path: str) -> list[dict[str, Any]]:
    if "{id}" not in path:
        return []
    return [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]


def _query_parameters(model: type[BaseModel] | None) -> list[dict[str, Any]]:
    if model is None:
        return []
    schema = _described(
        model.__name__, model.model_json_schema(ref_template=_REFERENCE + "{model}")
    )
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
    answer: dict[str, Any] = {
        "description": _REASONS[status],
        "content": {
            "application/json": {"schema": {"$ref": _REFERENCE + description.answer.__name__}}
        },
    }
    if description.body is JobSubmission:
        answer["description"] = (
            "The job was made" if status == HTTPStatus.CREATED else "The job as first made"
        )
        answer["headers"] = {"Location": {"schema": {"type": "string"}}}
    return answer


def _failure(status: int) -> dict[str, Any]:
    failure: dict[str, Any] = {
        "description": _REASONS[status],
        "content": {"application/problem+json": {"schema": {"$ref": _REFERENCE + "Problem"}}},
    }
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        failure["headers"] = {"Retry-After": {"schema": {"type": "integer"}}}
    return failure


def _schemas() -> dict[str, Any]:
    requests = (JobSubmission, BatchRequest, JobPatch, BulkRequest, ListRequest, RetryInput)
    answers = {d.answer for d in DESCRIPTIONS.values()} | {responses.Problem}
    modes: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [
        *((model, "validation") for model in requests),
        *((model, "serialization") for model in sorted(answers, key=lambda m: m.__name__)),
    ]
    _, definitions = models_json_schema(modes, ref_template=_REFERENCE + "{model}")
    schemas = {
        name: _described(name, schema) for name, schema in sorted(definitions["$defs"].items())
    }
    # What its query parameters say already.
    del schemas[ListRequest.__name__]
    submitted = {"$ref": _REFERENCE + JobSubmission.__name__}
    schemas[BatchRequest.__name__]["properties"]["jobs"]["items"] = submitted
    return schemas


def _described(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Add what is said of each field, and leave out the titles that only repeat names."""
    described = deepcopy(dict(schema))
    described.pop("title", None)
    for field, value in described.get("properties", {}).items():
        value.pop("title", None)
        text = FIELD_TEXTS.get(name, {}).get(field)
        if text is not None:
            value["description"] = text
    return described


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a query's field: absent, but never null."""
    schema.pop("title", None)
    choices = [s for s in schema.pop("anyOf", []) if s != {"type": "null"}]
    if schema.get("default", ...) is None:
        del schema["default"]
    return {**schema, **choices[0]} if choices else schema
