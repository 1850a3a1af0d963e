"""Both clients against the real API, and what a lost answer of it does."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from hourhand.api.app import create_app
from hourhand.client import AuditPage, ClientError, Conflict, Invalid, NotFound
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.local.http_server import serve
from hourhand.local.lambda_events import answer_body, gateway_event
from hourhand.loopback import RunningServer
from hourhand.memory import MemoryClock
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.services.limits import rate_retimes
from tests.unit.client.callers import Caller, Kind
from tests.world.runs import fail, fail_for_good
from tests.world.world import World


class Api:
    """The API in this process, as an HTTP client sees it; ``losing`` counts answers to lose.

    A lost answer is one that was given: the API did what it was asked.
    """

    def __init__(self, world: World) -> None:
        self._app = create_app(world.api)
        self._clock = world.clock
        self._lock = threading.Lock()
        self.losing = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        event = gateway_event(
            method=request.method,
            target=request.url.raw_path.decode(),
            headers=list(request.headers.items()),
            body=request.content,
            request_id="r1",
            now=self._clock.now(),
        )
        # The world of these tests is not made for threads.
        with self._lock:
            answer = self._app(event, None)
            if self.losing > 0:
                self.losing -= 1
                raise httpx.ReadError("Connection reset by peer")
        return httpx.Response(
            answer["statusCode"], headers=answer["headers"], content=answer_body(answer)
        )


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    named: Kind = request.param
    return named


@pytest.fixture
def api(world: World) -> Api:
    return Api(world)


@pytest.fixture
def caller(kind: Kind, api: Api, world: World) -> Iterator[Caller]:
    made = Caller(kind, api, clock=world.clock)
    yield made
    made.close()


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a batch take 50 jobs, and not 500: a tenth of the time tells the same."""
    monkeypatch.setattr("hourhand.client._operations._many.MAX_BATCH_JOBS", 50)


def ids(caller: Caller, **filters: Any) -> list[str]:
    return [job.id for job in caller("list", **filters)]


# --- jobs ---


def test_a_job_lives_from_its_submission_to_its_end(caller: Caller, world: World) -> None:
    job = caller("submit", "greet", {"name": "Ada"}, delay=60, tags={"a": "b"})
    assert job.status == "ENQUEUED"
    assert job.run_at == world.clock.now() + timedelta(seconds=60)

    world.settle()

    ended = caller("get", job.id)
    assert (ended.status, ended.is_final) == ("SUCCEEDED", True)
    assert (ended.payload, ended.result, ended.tags) == (
        {"name": "Ada"},
        {"done": True},
        {"a": "b"},
    )
    assert [attempt.outcome for attempt in ended.attempts] == ["SUCCEEDED"]
    kinds = [event.kind for event in caller("events", job.id)]
    assert (kinds[0], kinds[-1]) == ("SUBMITTED", "SUCCEEDED")


def test_the_api_takes_an_id_of_the_client_and_no_key_is_spent(
    caller: Caller, world: World
) -> None:
    job = caller("submit", "greet")

    assert job.idempotency_key is None
    assert world.store.jobs().keys() == {job.id}


def test_a_job_that_waits_can_be_changed_run_at_once_and_cancelled(
    caller: Caller, world: World
) -> None:
    job = caller(
        "submit", "greet", [1], delay=timedelta(days=2), expires_at=datetime(2027, 1, 1, tzinfo=UTC)
    )

    changed = caller("reschedule", job.id, delay=timedelta(days=1), priority="low", payload=None)
    assert changed.run_at == world.clock.now() + timedelta(days=1)
    assert (changed.priority, changed.payload) == ("low", None)
    assert changed.expires_at == job.expires_at
    assert caller("reschedule", job.id, expires_at=None).expires_at is None
    assert caller("run_now", job.id).run_at == world.clock.now()
    assert caller("cancel", job.id).status == "CANCELLED"
    assert caller("cancel", job.id).status == "CANCELLED"
    assert caller("redrive", job.id).status == "ENQUEUED"
    with pytest.raises(Conflict) as raised:
        caller("redrive", job.id)
    assert raised.value.code == "wrong_state"


def test_what_there_is_not_is_not_found(caller: Caller) -> None:
    for name in ("get", "events", "cancel", "redrive", "run_now", "wait"):
        with pytest.raises(NotFound, match="There is no job nope"):
            caller(name, "nope")
    with pytest.raises(NotFound):
        caller("reschedule", "nope", delay=5)


def test_what_the_api_refuses_names_the_fields(caller: Caller) -> None:
    with pytest.raises(Invalid) as raised:
        caller("submit", "greet", run_at="tomorrow", priority="urgent", tags={"a": 5})

    assert {error.field for error in raised.value.errors} == {"run_at", "priority", "tags.a"}
    assert raised.value.code == "invalid"
    with pytest.raises(Invalid, match="Registered: greet, report"):
        caller("submit", "nope")
    with pytest.raises(Invalid, match="stauts"):
        caller("list", stauts="DEAD")


def test_a_wait_returns_the_job_when_it_has_ended(kind: Kind, api: Api, world: World) -> None:
    class WorkingClock(MemoryClock):
        def now(self) -> datetime:
            return world.clock.now()

        def sleep(self, seconds: float) -> None:
            super().sleep(seconds)
            world.minute(fail)

    caller = Caller(kind, api, clock=WorkingClock())
    job = caller("submit", "greet", retry={"max_attempts": 2, "backoff": "fixed"})

    ended = caller("wait", job.id, timeout_seconds=600)

    assert ended.status == JobStatus.DEAD
    assert ended.error is not None
    caller.close()


def test_a_listing_is_whole_and_in_order_whatever_the_page(caller: Caller) -> None:
    told = caller("submit_many", [{"handler": "greet", "tenant": "t"} for _ in range(25)])

    made = {one.job.id for one in told}
    for page_size in (1, 7, 200):
        found = ids(caller, page_size=page_size, handler="greet", tenant="t", status="ENQUEUED")
        assert set(found) == made
        assert len(found) == len(made)
    assert ids(caller, handler="report") == []
    assert ids(caller, limit=3) == ids(caller)[:3]


def test_jobs_are_cancelled_and_sent_round_again_by_filters(caller: Caller) -> None:
    caller("submit_many", [{"handler": "greet", "tags": {"run": "1"}} for _ in range(12)])
    caller("submit", "report")

    counted = caller("cancel_many", tag="run:1", dry_run=True)
    assert (counted.matched, counted.changed) == (12, 0)
    assert caller("cancel_many", tag="run:1").changed == 12
    assert len(ids(caller, status="CANCELLED")) == 12
    assert caller("redrive_many", status="CANCELLED").changed == 12
    assert caller("cancel_many", all=True).changed == 13
    with pytest.raises(Invalid, match="all must be true"):
        caller("cancel_many")


def test_dead_jobs_are_discarded_by_filters_and_left_out_of_a_redrive(
    caller: Caller, world: World
) -> None:
    caller("submit_many", [{"handler": "greet", "tags": {"run": "1"}} for _ in range(12)])
    world.deliver(fail_for_good)

    first = ids(caller, limit=1)[0]
    assert caller("discard", first, note="known").discard_note == "known"
    with pytest.raises(Conflict, match="A count of 9 was expected, and the count is 11 now"):
        caller("discard_many", tag="run:1", expected_count=9)
    assert caller("discard_many", tag="run:1", expected_count=10).changed == 11
    assert ids(caller, status="DEAD", discarded=False) == []
    assert len(ids(caller, discarded=True)) == len(ids(caller, status="DEAD")) == 12
    assert caller("redrive_many", tag="run:1").changed == 0
    assert caller("redrive_many", tag="run:1", discarded=True).changed == 12


def test_a_job_is_found_by_its_key_with_all_its_fields(caller: Caller) -> None:
    job = caller("submit", "greet", {"n": 1}, idempotency_key="order-4711", tenant="acme")

    assert caller("get", key="order-4711", tenant="acme") == job
    with pytest.raises(NotFound):
        caller("get", key="order-4711")


# --- lost answers ---


@pytest.mark.parametrize("lost", [1, 3])
def test_a_job_whose_answer_was_lost_is_submitted_once(
    caller: Caller, api: Api, world: World, lost: int
) -> None:
    api.losing = lost

    job = caller("submit", "greet", {"a": 1})

    assert world.store.jobs().keys() == {job.id}
    assert len(caller.requests) == lost + 1


def test_a_job_whose_answers_are_all_lost_can_be_submitted_again_later(
    caller: Caller, api: Api, world: World
) -> None:
    api.losing = 5
    with pytest.raises(ClientError) as raised:
        caller("submit", "greet")
    assert raised.value.may_have_happened
    assert raised.value.submission is not None
    world.settle()

    [told] = caller("submit_many", [raised.value.submission])

    assert told.job.status == "SUCCEEDED"
    assert len(world.runs) == 1


@pytest.mark.usefixtures("small_batches")
def test_batches_whose_answers_were_lost_are_submitted_once(
    caller: Caller, api: Api, world: World
) -> None:
    api.losing = 4

    told = caller("submit_many", ({"handler": "greet", "payload": n} for n in range(121)))

    assert {one.fate for one in told} == {"submitted"}
    assert [one.job.payload for one in told] == list(range(121))
    assert world.store.jobs().keys() == {one.job.id for one in told}


def test_a_job_is_not_lost_in_a_batch_with_others_that_are_wrong(
    caller: Caller, world: World
) -> None:
    given = [{"handler": "greet"}, {"handler": "nope"}, {"handler": "greet", "run_at": "x"}]

    told = caller("submit_many", [*given, {"handler": "greet", "id": "own"}])

    assert [one.fate for one in told] == [
        "submitted",
        "not submitted",
        "not submitted",
        "submitted",
    ]
    assert [error.field for error in told[2].error.errors] == ["run_at"]
    assert world.store.jobs().keys() == {told[0].job.id, "own"}


def test_a_cancel_whose_answer_was_lost_is_a_cancel(caller: Caller, api: Api) -> None:
    job = caller("submit", "greet")
    api.losing = 2

    assert caller("cancel", job.id).status == "CANCELLED"


def test_a_trigger_whose_answer_was_lost_is_not_done_twice(
    caller: Caller, api: Api, world: World
) -> None:
    caller("schedules.put", "nightly", expression="0 3 * * *", handler="report")
    api.losing = 1

    with pytest.raises(ClientError) as raised:
        caller("schedules.trigger", "nightly")

    assert raised.value.may_have_happened
    assert len(world.store.jobs()) == 1


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.usefixtures("small_batches")
def test_on_a_bad_day_what_is_told_is_true_and_nothing_is_there_twice(
    kind: Kind, api: Api, world: World, seed: int
) -> None:
    chance = random.Random(seed)

    def answer(request: httpx.Request) -> httpx.Response:
        fault = chance.choice(["none", "before", "after", "throttled", "gateway"])
        if fault == "before":
            raise httpx.ConnectError("Connection refused")
        if fault == "throttled":
            return httpx.Response(429, json={"message": "Too Many Requests"})
        told = api(request)
        if fault == "after":
            raise httpx.ReadError("Connection reset by peer")
        return httpx.Response(504) if fault == "gateway" else told

    caller = Caller(kind, answer, clock=world.clock, max_attempts=2)
    left: list[Any] = [{"handler": "greet", "payload": number} for number in range(110)]
    doubtful: set[str] = set()
    for _ in range(100):
        told = caller("submit_many", left, parallel=1)
        stored = set(world.store.jobs())
        assert all(one.job.id in stored for one in told if one.fate == "submitted")
        unsent = {one.submission.id for one in told if one.fate == "not submitted"}
        assert unsent & stored <= doubtful
        doubtful |= {one.submission.id for one in told if one.fate == "unknown"}
        left = [one.submission for one in told if one.fate != "submitted"]
        if not left:
            break
    caller.close()

    assert left == []
    assert len(world.store.jobs()) == 110


# --- schedules and calendars ---


def test_a_schedule_lives_from_its_put_to_its_end(caller: Caller, world: World) -> None:
    put = caller(
        "schedules.put",
        "nightly",
        {"expression": "0 3 * * *"},
        timezone="Europe/Berlin",
        handler="report",
        retry={"max_attempts": 2},
    )

    assert (put.status, put.timezone, put.paused) == ("active", "Europe/Berlin", False)
    assert put.retry.max_attempts == 2
    assert put.effect is not None
    assert caller("schedules.get", "nightly") == replace(put, effect=None)
    assert [one.id for one in caller("schedules.list")] == ["nightly"]
    assert caller("schedules.upcoming", "nightly")[0] == put.next_at
    paused = caller("schedules.pause", "nightly", note="moving")
    assert (paused.status, paused.note) == ("paused", "moving")
    assert caller("schedules.resume", "nightly").status == "active"
    job = caller("schedules.trigger", "nightly")
    assert job.schedule_id == "nightly"
    world.settle()
    [occurrence] = caller("schedules.occurrences", "nightly")
    assert (occurrence.kind, occurrence.job.id) == ("trigger", job.id)
    assert caller("schedules.delete", "nightly") is None
    with pytest.raises(NotFound):
        caller("schedules.get", "nightly")


def test_the_past_of_a_schedule_is_run_on_purpose(caller: Caller, world: World) -> None:
    caller("schedules.put", "hourly", expression="0 * * * *", handler="report")
    end = world.clock.now()
    start = end - timedelta(hours=5)

    looked = caller("schedules.backfill", "hourly", start, end, dry_run=True)
    assert (looked.backfill, looked.total, looked.dry_run) == (None, 6, True)
    made = caller("schedules.backfill", "hourly", start, end, order="newest", note="again")
    assert made.backfill is not None
    assert (made.backfill.start, made.backfill.end) == (start, end)
    [schedule] = caller("schedules.list")
    assert [one.id for one in schedule.backfills] == [made.backfill.id]

    paused = caller("schedules.pause_backfill", "hourly", made.backfill.n, note="wait")
    assert (paused.n, paused.status, paused.done, paused.failed) == (1, "paused", 0, 0)
    assert caller("schedules.resume_backfill", "hourly", 1).status == "running"
    assert caller("schedules.cancel_backfill", "hourly", 1).status == "cancelled"
    assert [one.status for one in caller("schedules.backfills", "hourly")] == ["cancelled"]
    with pytest.raises(Conflict):
        caller("schedules.resume_backfill", "hourly", 1)
    with pytest.raises(NotFound):
        caller("schedules.cancel_backfill", "hourly", 2)


def test_a_preview_tells_what_the_clocks_do(caller: Caller) -> None:
    preview = caller(
        "schedules.preview",
        expression="30 2 * * *",
        timezone="Europe/Berlin",
        count=2,
        after=datetime(2026, 3, 28, 12, tzinfo=UTC),
    )

    assert [fire.at.hour for fire in preview.fires] == [1, 0]
    assert preview.fires[0].note is not None
    assert preview.fires[1].local.utcoffset() == timedelta(hours=2)


def test_a_calendar_lives_from_its_put_to_its_end(caller: Caller) -> None:
    exclude = ["2026-12-25", {"from": "2026-12-30", "to": "2027-01-02"}]

    put = caller("calendars.put", "holidays", exclude, note="all")

    assert list(put.exclude) == exclude
    assert caller("calendars.get", "holidays") == put
    assert [one.name for one in caller("calendars.list")] == ["holidays"]
    caller("schedules.put", "s", expression="@daily", handler="report", exclude=["holidays"])
    with pytest.raises(Conflict):
        caller("calendars.delete", "holidays")
    caller("schedules.delete", "s")
    assert caller("calendars.delete", "holidays") is None


def test_the_system_is_told_of(caller: Caller, world: World) -> None:
    world.tick()
    caller("submit", "greet")

    stats = caller("stats")
    assert {queue.priority for queue in stats.queues} == {"high", "medium", "low"}
    assert stats.last_tick_at is not None
    assert caller("resweep_progress").state == "none"
    since = world.clock.now() - timedelta(hours=2)
    assert caller("resweep", since).since == since
    assert caller("resweep_progress").state == "requested"
    assert [handler.name for handler in caller("handlers")] == ["greet", "report"]
    shown = caller("handler", "greet")
    assert (shown.name, shown.payload_schema, shown.policies.retry) == ("greet", None, None)
    with pytest.raises(NotFound, match="Did you mean 'greet'"):
        caller("handler", "gret")
    assert caller("health").status == "ok"


def test_a_handler_is_paused_and_resumed(caller: Caller, world: World) -> None:
    until = world.clock.now() + timedelta(hours=2)
    paused = caller("pause_handler", "greet", note="wrong totals", until=until).paused
    assert (paused.since, paused.until, paused.note) == (
        world.clock.now(),
        until,
        "wrong totals",
    )
    job = caller("submit", "greet")
    waits_for = caller("get", job.id).waits_for
    assert (waits_for.kind, waits_for.limit, waits_for.key) == ("slot", "greet.pause", None)
    assert [e.action for e in caller("audit", handler="greet")] == ["PAUSED"]
    assert caller("resume_handler", "greet", note="fixed").paused is None
    assert caller("get", job.id).waits_for is None
    assert caller("resume_handler", "greet").paused is None
    with pytest.raises(NotFound, match="Did you mean 'greet'"):
        caller("pause_handler", "gret")
    with pytest.raises(Invalid, match="future"):
        caller("pause_handler", "greet", until=world.clock.now() - timedelta(hours=2))


def test_waiting_jobs_of_a_rate_are_retimed_call_by_call(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rate_retimes, "MAX_JOBS_A_CALL", 2)
    rate = Rate(1, per=3600, key="tenant", name="bank")
    world = World(handlers=(HandlerInfo(name="greet", limits=(rate, Concurrency(3))),))
    caller = Caller(kind, Api(world), clock=world.clock)
    for _ in range(4):
        caller("submit", "greet", tenant="acme")
        world.deliver()
    caller("limits.put", "bank", max=60)
    world.advance(1)
    seen: list[int] = []
    report = caller(
        "limits.retime", "bank", key="acme", on_progress=lambda done: seen.append(done.changed)
    )
    assert (report.matched, report.changed, report.failed) == (3, 3, ())
    assert seen[:2] == [2, 3]
    with pytest.raises(Invalid, match="key"):
        caller("limits.retime", "bank")
    with pytest.raises(Conflict, match="concurrency limit"):
        caller("limits.retime", "greet.2")
    caller.close()


def test_the_numbers_of_a_limit_are_changed_and_restored(kind: Kind) -> None:
    limit = Concurrency(5, key="tenant", name="stripe")
    world = World(handlers=(HandlerInfo(name="greet", limits=(limit, Concurrency(3))),))
    caller = Caller(kind, Api(world), clock=world.clock)
    changed = caller("limits.put", "stripe", max=0, overrides={"acme": 7})
    assert (changed.max, changed.declared_max, changed.overrides) == (0, 5, {"acme": 7})
    assert changed.granted == 0
    assert caller("limits.put", "stripe", overrides={"acme": None}).overrides == {}
    job = caller("submit", "greet", tenant="acme")
    world.advance(1)
    world.deliver()
    shown = caller("limits.get", "stripe", key="acme")
    assert (shown.running, shown.waiting) == (0, 1)
    assert [waiter.job_id for waiter in shown.waiters] == [job.id]
    assert shown.oldest_waiting_at == world.clock.now()
    assert caller("limits.put", "stripe", max=None).max == 5
    assert caller("limits.delete", "stripe").overrides == {}
    listed = list(caller("limits.list", page_size=1))
    assert [(one.name, one.kind, one.running) for one in listed] == [
        ("greet.2", "concurrency", 0),
        ("stripe", "concurrency", None),
    ]
    with pytest.raises(NotFound, match="Did you mean 'stripe'"):
        caller("limits.get", "strip")
    with pytest.raises(Invalid, match="max"):
        caller("limits.put", "stripe")
    caller.close()


def test_what_callers_did_is_found_again(caller: Caller, world: World) -> None:
    first = caller("submit", "greet", delay=3600)
    world.advance(60)
    caller("cancel", first.id)
    caller("schedules.put", "s", expression="@daily", handler="report", tenant="acme")
    pages: list[AuditPage] = []

    (event,) = caller("audit", schedule="s", caller="local")
    assert (event.action, event.caller, event.schedule_id) == ("PUT", "local", "s")
    found = [event.action for event in caller("audit", job=first.id)]
    assert found == ["CANCELLED", "SUBMITTED"]
    since = world.clock.now() - timedelta(seconds=30)
    recent = list(caller("audit", since=since, page_size=1, on_page=pages.append))
    assert [event.action for event in recent] == ["CANCELLED", "PUT"]
    assert sum(page.histories_read for page in pages) >= 2
    until = list(caller("audit", until=since))
    assert [event.job_id for event in until] == [first.id]
    assert len(list(caller("audit", tenant="acme", limit=1))) == 1
    with pytest.raises(NotFound):
        list(caller("audit", job="unknown"))


# --- on the wire ---


@pytest.fixture
def server(world: World) -> Iterator[RunningServer]:
    running = serve(create_app(world.api), port=0)
    yield running
    running.close()


@pytest.mark.usefixtures("small_batches")
def test_it_is_so_over_real_sockets_too(kind: Kind, server: RunningServer, world: World) -> None:
    caller = Caller(kind, None, endpoint=server.url)

    # The world of these tests is not made for threads.
    told = caller("submit_many", [{"handler": "greet"}] * 110, parallel=1)

    assert {one.fate for one in told} == {"submitted"}
    assert len(world.store.jobs()) == 110
    assert len(ids(caller, page_size=20)) == 110
    with pytest.raises(NotFound):
        caller("get", "nope/ä b?c")
    caller.close()
