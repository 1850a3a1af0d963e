"""Whatever is sent to the API, from nearly right to wild: no 500, and what the document says."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from hourhand.api.app import create_app
from hourhand.api.requests.filters import BulkDiscard, BulkRequest, ListRequest, LogRequest
from hourhand.api.requests.jobs import JobPatch, JobSubmission, RetryInput
from hourhand.api.requests.schedule_operations import (
    BackfillInput,
    CalendarInput,
    NoteInput,
    PageRequest,
    PreviewInput,
)
from hourhand.api.requests.schedules import KeepInput, MisfireInput, ScheduleInput
from tests.examples import examples
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
# Texts that are nearly expressions: joined at random from what expressions are made of.
EXPRESSIONS = (
    st.sampled_from(("0 9 * * *", "@daily", "rate(5 minutes)", "at(2027-01-01T09:00)"))
    | st.sampled_from(("cron(0 9 ? * MON-FRI *)", "59 23 31 2 *", "TZ=Asia/Kathmandu * * * * *"))
    | st.lists(
        st.sampled_from(("*", "0", "5", "60", "MON", "L", "?", "#", "-", "/", ",", " ", " ", "W"))
        | st.sampled_from(("cron(", "rate(", "at(", ")", "@", "TZ=", "UTC", "days", "2026-01-05")),
        max_size=14,
    ).map("".join)
)
ZONES = st.sampled_from(("Europe/Berlin", "Pacific/Apia", "Asia/Kathmandu", "UTC", "../UTC"))
DAYS = st.sampled_from(("2026-01-06", "2026-12-31", "0001-01-01", "9999-12-31", "26-1-6"))
RANGES = st.fixed_dictionaries({"from": DAYS | WORDS, "to": DAYS | WORDS})
EXCLUSIONS = st.lists(DAYS | st.just("mine"), max_size=3) | st.lists(
    DAYS | EXPRESSIONS | st.sampled_from(("mine", "nobody")) | RANGES | VALUES, max_size=4
)
RIGHT_PARTS: dict[str, st.SearchStrategy[Any]] = {
    "payload": VALUES,
    "anchor": st.just("2026-01-05T09:00:00Z"),
    "dst_gap": st.sampled_from(("next_valid", "skip", "shift")),
    "dst_fold": st.sampled_from(("first", "second", "both")),
    "start_at": st.sampled_from(("1970-01-01T00:00:00Z", "2026-01-05T09:04:59.999Z")),
    "end_at": st.sampled_from(("2026-01-05T09:04:00Z", "2200-12-31T23:59:59.999Z")),
    "max_occurrences": st.integers(1, 3),
    "jitter_seconds": st.floats(0, 86_400),
    "overlap": st.sampled_from(("skip", "allow", "buffer_one", "buffer_all", "cancel_other")),
    "max_running": st.integers(1, 100),
    "misfire": st.fixed_dictionaries({"window_seconds": st.integers(0, 60)}),
    "keep": st.fixed_dictionaries({"failed": st.integers(0, 2)}),
    "paused": st.booleans(),
    "tags": st.dictionaries(ANY_TEXT.map(lambda key: key.replace(":", "")), ANY_TEXT, max_size=2),
}
SCHEDULES = st.builds(
    lambda given, rule: {**given, "handler": "greet", **rule},
    st.fixed_dictionaries({}, optional=RIGHT_PARTS)
    | objects(ScheduleInput)
    | objects(MisfireInput).map(lambda misfire: {"misfire": misfire})
    | objects(KeepInput).map(lambda keep: {"keep": keep}),
    st.fixed_dictionaries(
        {"expression": EXPRESSIONS | st.lists(EXPRESSIONS, max_size=3)},
        optional={"timezone": ZONES, "exclude": EXCLUSIONS},
    ),
)
SCHEDULE_BODIES = (
    SCHEDULES
    | st.builds(
        lambda given, schedule: {**given, "schedule": schedule}, objects(PreviewInput), SCHEDULES
    )
    | st.fixed_dictionaries({"exclude": EXCLUSIONS})
    | objects(BackfillInput)
    | st.builds(
        lambda given, start: {**given, "from": start, "to": "2026-01-05T08:59:59Z"},
        objects(BackfillInput),
        st.sampled_from(("2026-01-05T00:00:00Z", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z")),
    )
    | objects(CalendarInput, NoteInput)
    | VALUES
)
SCHEDULE_PATHS = (
    st.sampled_from(("schedules/mine", "schedules/new", "schedules/nobody", "schedules/a b"))
    | st.sampled_from(("schedules/preview", "schedules/mine/pause", "schedules/mine/resume"))
    | st.sampled_from(("schedules/mine/trigger", "schedules/mine/backfill"))
    | st.sampled_from(("calendars/mine", "calendars/nobody", "calendars/2026-01-05"))
).map("/v1/{}".format)
BODIES = (
    SUBMISSIONS
    | objects(JobPatch)
    | objects(BulkRequest)
    | objects(BulkDiscard)
    | objects(NoteInput)
    | st.lists(SUBMISSIONS | VALUES, max_size=4).map(lambda jobs: {"jobs": jobs})
    | VALUES
)
PATHS = (
    st.sampled_from(("", "/mine", "/nobody"))
    | st.sampled_from(("/batch", "/cancel", "/redrive", "/discard"))
    | st.sampled_from(("/mine/events", "/mine/logs", "/mine/cancel"))
    | st.sampled_from(("/mine/redrive", "/mine/discard", "/mine/run-now"))
).map("/v1/jobs{}".format)
ANY_PATHS = ANY_TEXT.map("/{}".format).filter(lambda path: "?" not in path)
METHODS = st.sampled_from(("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"))
LISTINGS = st.sampled_from(
    (
        *("/v1/jobs", "/v1/jobs/mine/logs", "/v1/dead-letters/groups"),
        *("/v1/schedules", "/v1/calendars", "/v1/schedules/mine/occurrences"),
    )
)
QUERY_FIELDS = [
    *ListRequest.model_fields,
    *PageRequest.model_fields,
    *LogRequest.model_fields,
]
QUERIES = st.lists(
    st.tuples(st.sampled_from(QUERY_FIELDS) | ANY_TEXT, WORDS | ANY_TEXT),
    max_size=3,
).map(lambda pairs: "&".join(f"{_escaped(name)}={_escaped(value)}" for name, value in pairs))


def _escaped(text: str) -> str:
    return quote(text, errors="replace")


def the_api() -> ApiClient:
    world = World()
    world.submit(id="mine", delay_seconds=3600)
    return ApiClient(create_app(world.api))


def the_api_with_schedules() -> ApiClient:
    api = the_api()
    api.send("PUT", "/v1/calendars/mine", {"exclude": ["2026-01-06"]})
    schedule = {"expression": "*/5 * * * *", "handler": "greet", "exclude": ["mine"]}
    api.send("PUT", "/v1/schedules/mine", schedule)
    return api


@examples(300)
@given(method=st.sampled_from(("POST", "PATCH")), path=PATHS, body=st.just(...) | BODIES)
def test_no_body_makes_the_api_fail(method: str, path: str, body: Any) -> None:
    # Python writes NaN and infinities, too: the API must refuse them by itself.
    text = None if body is ... else json.dumps(body)
    assert the_api().send(method, path, text=text).status < 500


@examples(250)
@given(method=st.sampled_from(("PUT", "POST")), path=SCHEDULE_PATHS, body=SCHEDULE_BODIES)
def test_no_body_about_schedules_makes_the_api_fail(method: str, path: str, body: Any) -> None:
    assert the_api_with_schedules().send(method, path, text=json.dumps(body)).status < 500


@examples(150)
@given(schedule=SCHEDULES)
def test_what_can_be_put_can_be_previewed_and_read(schedule: Any) -> None:
    api = the_api_with_schedules()
    text = json.dumps(schedule)
    put = api.send("PUT", "/v1/schedules/new", text=text)
    preview = api.post("/v1/schedules/preview", text=f'{{"schedule": {text}, "count": 3}}')
    assert put.status in {201, 400, 413, 422}
    assert preview.status < 500
    if put.status == 201:
        assert preview.status == 200
        assert api.get("/v1/schedules/new").json | {"effect": put.json["effect"]} == put.json
        assert api.get("/v1/schedules/new/occurrences").status == 200


@examples(200)
@given(path=LISTINGS, query=QUERIES)
def test_no_query_makes_the_api_fail(path: str, query: str) -> None:
    assert the_api_with_schedules().get(f"{path}?{query}").status in {200, 422}


@examples(100)
@given(method=METHODS, path=PATHS | SCHEDULE_PATHS | ANY_PATHS)
def test_no_method_or_path_makes_the_api_fail(method: str, path: str) -> None:
    assert the_api().send(method, path).status < 500


@examples(100)
@given(text=ANY_TEXT)
def test_no_text_makes_the_api_fail(text: str) -> None:
    assert the_api().post("/v1/jobs", text=text).status in {400, 422}


@examples(100)
@given(body=st.binary(max_size=50))
def test_no_bytes_make_the_api_fail(body: bytes) -> None:
    assert the_api().post("/v1/jobs", base64_body=body).status in {400, 422}
