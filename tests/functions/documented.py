"""Checks answers against the OpenAPI document: what it does not say must not come."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from openapi_schema_validator import OAS31Validator

from hourhand.api.app import ROUTES
from hourhand.api.openapi import openapi_document

META_PATHS = {"/v1/openapi.json", "/v1/docs"}


def require_documented(
    method: str, path: str, status: int, headers: dict[str, str], body: Any
) -> None:
    """Fail unless the document foresees this answer, status, type and every field of it."""
    matching = [r for r in ROUTES if r.method == method and r.match(path) is not None]
    if not matching or matching[0].path in META_PATHS:
        return
    operation = openapi_document()["paths"][matching[0].path][method.lower()]
    content = operation["responses"][str(status)]["content"]
    assert set(content) == {headers["content-type"]}
    validator = _validator(matching[0].path, method, status)
    errors = list(validator.iter_errors(body))
    assert not errors, f"{method} {path}: {errors[0].json_path} {errors[0].message}"


@cache
def _validator(path: str, method: str, status: int) -> OAS31Validator:
    """Return what checks the answer of one status, which has one content type."""
    operation = openapi_document()["paths"][path][method.lower()]
    (content,) = operation["responses"][str(status)]["content"].values()
    return OAS31Validator({**content["schema"], "components": _closed_components()})


@cache
def _closed_components() -> dict[str, Any]:
    """Return the document's shapes, each allowing only the fields that it names."""
    components: dict[str, Any] = deepcopy(openapi_document()["components"])
    for schema in components["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return components
