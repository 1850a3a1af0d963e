"""Each route of `MEETINGS` succeeds with what a call of it is to meet."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hourhand.api.app import create_app
from hourhand.local.backend import MEMORY
from hourhand.local.http_server import serve
from proof.api.served import Answered, served
from proof.api.things import MAX_TIMEOUTS, MEETINGS, Meeting, Things
from proof.api.wire import Target
from tests.world.world import World

BODIES = {
    "/v1/jobs/{id}": {"priority": "low"},
    "/v1/callbacks/{token}/fail": {"error": {}},
    "/v1/batches/{id}/jobs": {"first_index": 7, "jobs": [{"handler": "nobody", "payload": 1}]},
}


@pytest.fixture(scope="module")
def things() -> Iterator[Things]:
    with served(MEMORY, Answered()) as url:
        yield Things(Target.of(url))


@pytest.mark.parametrize(("route", "meet"), MEETINGS.items(), ids=map(" ".join, MEETINGS))
def test_a_call_succeeds_with_what_it_meets(
    things: Things, route: tuple[str, str], meet: Meeting
) -> None:
    method, path = route
    for _ in range(2):
        body = BODIES.get(path, {})
        met = meet(things, body)
        assert met is not None
        body = body if met.body is None else met.body
        reply = things.target.request(
            method, path.format(**met.path), *(() if method == "GET" else (body,))
        )
        assert reply.status == 200, reply


def test_where_no_job_ends_calls_soon_meet_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proof.api.things.SECONDS_TO_WAIT", 0.01)
    server = serve(create_app(World(handlers=("echo", "give-up")).api), port=0)
    try:
        things = Things(Target.of(server.url))
        for _ in range(MAX_TIMEOUTS):
            assert (things.dead_job(), things.ended_graph(), things.open_token()) == (None,) * 3
        assert things.timeouts == MAX_TIMEOUTS
        assert things.open_batch() is not None
    finally:
        server.close()
