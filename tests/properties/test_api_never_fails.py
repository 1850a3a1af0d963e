"""Whatever is sent to the API, from nearly right to wild: no 500, and what the document says."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from hourhand.http_api import create_app
from hourhand.schemas import BulkRequest, JobPatch, JobSubmission, ListRequest, RetryInput
from tests.functions.api_client import ApiClient
from tests.world.world import World

ANY_TEXT = st.text(st.characters(), max_size=20)
WORDS = st.sampled_from(
    (
        *("greet", "default", "high", "DEAD", "PENDING", "retry", "fixed", "full", "a:b", "mine"),
        *("2026-01-05T09:00:00Z", "2026-01-05T09:00:00", "2200-12-31T23:59:59.999+00:00"),
        *("", "1", "-1"),
    )
)
NUMBERS = st.integers() | st.floats() | st.sampled_from([0, 1, 1e300, 10**400, -1, 0.5, 1e9])
SIMPLE = st.none() | st.booleans() | NUMBERS | ANY_TEXT | WORDS
VALUES = st.recursive(
    SIMPLE,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(ANY_TEXT, inner, max_size=5),
    max_leaves=10,
)


def objects(*models: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects of the models' fields, with values right and wrong, and some unknown ones."""
    names = [field.alias or name for m in models for name, field in m.model_fields.items()]
    return st.dictionaries(st.sampled_from(names) | ANY_TEXT, VALUES, max_size=6)


SUBMISSIONS = st.builds(
    lambda rest, retry: {"handler": "greet", **rest, **retry},
    objects(JobSubmission),
    st.just({}) | objects(RetryInput).map(lambda retry: {"retry": retry}),
)
BODIES = (
    SUBMISSIONS
    | objects(JobPatch)
    | objects(BulkRequest)
    | st.lists(SUBMISSIONS | VALUES, max_size=4).map(lambda jobs: {"jobs": jobs})
    | VALUES
)
PATHS = (
    st.sampled_from(("", "/mine", "/nobody"))
    | st.sampled_from(("/batch", "/cancel", "/redrive"))
    | st.sampled_from(("/mine/events", "/mine/cancel", "/mine/redrive", "/mine/run-now"))
).map("/v1/jobs{}".format)
ANY_PATHS = ANY_TEXT.map("/{}".format).filter(lambda path: "?" not in path)
METHODS = st.sampled_from(("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"))
QUERIES = st.lists(
    st.tuples(st.sampled_from(list(ListRequest.model_fields)) | ANY_TEXT, WORDS | ANY_TEXT),
    max_size=3,
).map(lambda pairs: "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in pairs))


def _escaped(text: str) -> str:
    return quote(text, errors="replace")


def the_api() -> ApiClient:
    world = World()
    world.submit(id="mine", delay_seconds=3600)
    return ApiClient(create_app(world.api))


@settings(max_examples=300, deadline=None)
@given(method=st.sampled_from(("POST", "PATCH")), path=PATHS, body=st.just(...) | BODIES)
def test_no_body_makes_the_api_fail(method: str, path: str, body: Any) -> None:
    # Python writes NaN and infinities, too: the API must refuse them by itself.
    text = None if body is ... else json.dumps(body)
    assert the_api().send(method, path, text=text).status < 500


@settings(max_examples=200, deadline=None)
@given(query=QUERIES)
def test_no_query_makes_the_api_fail(query: str) -> None:
    assert the_api().get(f"/v1/jobs?{query}").status in {200, 422}


@settings(max_examples=100, deadline=None)
@given(method=METHODS, path=PATHS | ANY_PATHS)
def test_no_method_or_path_makes_the_api_fail(method: str, path: str) -> None:
    assert the_api().send(method, path).status < 500


@settings(max_examples=100, deadline=None)
@given(text=ANY_TEXT)
def test_no_text_makes_the_api_fail(text: str) -> None:
    assert the_api().post("/v1/jobs", text=text).status in {400, 422}


@settings(max_examples=100, deadline=None)
@given(body=st.binary(max_size=50))
def test_no_bytes_make_the_api_fail(body: bytes) -> None:
    assert the_api().post("/v1/jobs", base64_body=body).status in {400, 422}
