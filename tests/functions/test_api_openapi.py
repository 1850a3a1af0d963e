"""The API's own description. That answers keep to it is checked by every test's `ApiClient`."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from hourhand.api.app import ROUTES
from hourhand.api.openapi import field_texts, model_of, openapi_document
from hourhand.api.openapi_texts import SHAPE_TEXTS
from hourhand.api.requests.batches import BatchInput, CloseInput, MembersInput
from hourhand.api.requests.filters import BulkRequest, ListRequest
from hourhand.api.requests.graphs import GraphInput, RerunInput
from hourhand.api.requests.jobs import JobPatch, JobSubmission, RetryInput
from hourhand.api.requests.limits import RetimeInput
from hourhand.api.requests.runs import CallbackResult, ChildrenRequest, RedriveInput, SignalInput
from hourhand.api.requests.schedule_operations import (
    BackfillInput,
    CalendarInput,
    GridRequest,
    HandlerPauseInput,
    NoteInput,
    PageRequest,
    PreviewedSchedule,
    PreviewInput,
    TriggerInput,
)
from hourhand.api.requests.schedules import KeepInput, MisfireInput, ScheduleInput
from hourhand.api.routes import DOCUMENTED
from hourhand.api.routing import Route
from tests.functions.api_client import ApiClient
from tests.functions.documented import META_PATHS


def route_name(route: Route) -> str:
    return f"{route.method} {route.path}"


def test_the_document_is_valid_openapi_3_1(api: ApiClient) -> None:
    document = api.get("/v1/openapi.json").json
    assert document["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(document).validate()


def test_every_route_is_described_and_no_other() -> None:
    described = {path: set(operations) for path, operations in openapi_document()["paths"].items()}
    routes: dict[str, set[str]] = {}
    for route in ROUTES:
        if route.path not in META_PATHS:
            routes.setdefault(route.path, set()).add(route.method.lower())
    assert described == routes


@pytest.mark.parametrize(
    "model",
    [
        *(JobSubmission, RetryInput, JobPatch, ListRequest, BulkRequest, PageRequest),
        *(ScheduleInput, MisfireInput, KeepInput, NoteInput, TriggerInput, BackfillInput),
        *(PreviewInput, PreviewedSchedule, CalendarInput),
        *(GraphInput, RerunInput, BatchInput, MembersInput, CloseInput),
        *(ChildrenRequest, GridRequest),
    ],
    ids=lambda m: m.__name__,
)
def test_every_field_of_a_request_is_explained(model: Any) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    assert set(field_texts(model)) == fields


def may_be_null(model: str, field: str) -> bool:
    schema = openapi_document()["components"]["schemas"][model]["properties"][field]
    return {"type": "null"} in schema.get("anyOf", [])


def test_null_tags_are_taken_and_described(api: ApiClient) -> None:
    assert api.submit(tags=None)["tags"] == {}
    assert may_be_null("JobSubmission", "tags")
    assert may_be_null("ScheduleInput", "tags")


def test_what_a_patch_refuses_as_null_is_not_described_as_such(api: ApiClient) -> None:
    api.submit(id="mine", delay_seconds=3600)
    for name in ("run_at", "delay_seconds", "priority"):
        assert api.patch("/v1/jobs/mine", {name: None}).status == 422
        assert not may_be_null("JobPatch", name)
    assert api.patch("/v1/jobs/mine", {"expires_at": None}).status == 200
    assert may_be_null("JobPatch", "expires_at")


def test_every_failure_is_a_problem() -> None:
    for operations in openapi_document()["paths"].values():
        for operation in operations.values():
            failures = {s: r for s, r in operation["responses"].items() if int(s) >= 400}
            assert {"422", "500"} <= set(failures)
            for response in failures.values():
                assert list(response["content"]) == ["application/problem+json"]


MAY_BE_LEFT_OUT = {
    *(NoteInput, TriggerInput, HandlerPauseInput, RetimeInput),
    *(SignalInput, CallbackResult, RedriveInput, CloseInput),
}
"""Bodies without a field that must be given."""


def test_only_bodies_whose_fields_are_all_optional_may_be_left_out_altogether() -> None:
    for route in DOCUMENTED:
        operation = openapi_document()["paths"][route.path][route.method.lower()]
        if route.body is not None:
            is_optional = model_of(route.body) in MAY_BE_LEFT_OUT
            assert operation["requestBody"]["required"] is not is_optional


def test_what_is_gone_is_answered_without_content() -> None:
    for path in ("/v1/schedules/{id}", "/v1/calendars/{name}"):
        (answer,) = (
            response
            for status, response in openapi_document()["paths"][path]["delete"]["responses"].items()
            if int(status) < 300
        )
        assert set(answer) == {"description"}


def test_the_name_in_a_path_is_a_parameter_of_its_own() -> None:
    for route in DOCUMENTED:
        parameters = openapi_document()["paths"][route.path][route.method.lower()]["parameters"]
        named = [parameter["name"] for parameter in parameters if parameter["in"] == "path"]
        assert named == re.findall(r"{(\w+)}", route.path)


def test_operations_have_ids_of_their_own() -> None:
    ids = [
        operation["operationId"]
        for operations in openapi_document()["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(ids)) == len(ids)
    assert "post_schedules_one_pause" in ids
    assert "get_calendars_one" in ids


def test_addresses_name_the_stage() -> None:
    assert openapi_document("/prod")["servers"] == [{"url": "/prod"}]


def test_limits_of_the_api_are_in_the_document() -> None:
    fields = openapi_document()["components"]["schemas"]["JobSubmission"]["properties"]
    assert fields["handler"]["maxLength"] == 64
    assert fields["tags"]["anyOf"][0]["maxProperties"] == 20
    assert fields["timeout_seconds"]["anyOf"][0]["maximum"] == 840
    assert fields["run_at"]["anyOf"][0]["format"] == "date-time"
    fields = openapi_document()["components"]["schemas"]["ScheduleInput"]["properties"]
    assert [choice["type"] for choice in fields["expression"]["oneOf"]] == ["string", "array"]
    assert fields["expression"]["oneOf"][1]["maxItems"] == 20
    assert fields["exclude"]["anyOf"][0]["maxItems"] == 200
    assert fields["jitter_seconds"]["anyOf"][0]["maximum"] == 86_400


class _Page(HTMLParser):
    """Collects what a page would load, and its scripts."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=False)
        self.loaded: list[str] = []
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [value or "" for name, value in attrs if name in {"src", "href"}]
        self._in_script = tag == "script"
        if self._in_script:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


def test_the_page_holds_everything_it_needs(api: ApiClient) -> None:
    response = api.get("/v1/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    page = _Page()
    page.feed(response.text)
    assert page.loaded == ["data:,"]
    library, start = page.scripts
    assert len(library) > 1_000_000
    assert "validatorUrl: null" in start
    shown = re.search(r"spec: (\{.*\}), docExpansion", start)
    assert shown is not None
    assert json.loads(shown[1]) == openapi_document()


def test_the_pages_policy_allows_its_own_scripts_and_nothing_from_elsewhere(
    api: ApiClient,
) -> None:
    response = api.get("/v1/docs")
    page = _Page()
    page.feed(response.text)
    policy = response.headers["content-security-policy"]
    for script in page.scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?:|\*", policy)


SCHEMAS: dict[str, Any] = openapi_document()["components"]["schemas"]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        text = value.get("description")
        # A field may have that name, too: then it is a schema.
        if isinstance(text, str):
            yield text
        yield from (text for member in value.values() for text in texts_of(member))
    elif isinstance(value, list):
        yield from (text for member in value for text in texts_of(member))


def test_every_shape_is_explained() -> None:
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_texts_speak_neither_python_nor_its_markup() -> None:
    found = list(texts_of(openapi_document()))
    assert len(found) > len(SCHEMAS)
    assert [text for text in found if re.search(r"``|\bNone\b|_text\b|_hash\b", text)] == []


@pytest.mark.parametrize("name", SHAPE_TEXTS)
def test_each_text_of_a_shape_is_in_use(name: str) -> None:
    assert SCHEMAS[name]["description"] == SHAPE_TEXTS[name]


@pytest.mark.parametrize("name", ["JobPatch", "BackfillInput"])
def test_fields_that_a_text_names_exist(name: str) -> None:
    named = set(re.findall(r"`(\w+)`", SCHEMAS[name]["description"]))
    assert named
    assert named <= set(SCHEMAS[name]["properties"])
