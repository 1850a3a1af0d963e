"""Durable runs from the outside: routes and client, over handlers that run in the test."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import httpx
import pytest

from hourhand import Retry, RunContext, StepFailed, job
from hourhand.api.http_request import PUBLIC_ROUTE_KEY
from hourhand.client import Client, Conflict, Invalid, NotFound, Unreachable
from hourhand.handlers import Registry
from hourhand.testing import FakeHourhand, ReplayMismatch, replay
from tests.functions.api_client import load_event

CALLS: list[str] = []
TOKENS: list[str] = []


class Broken:
    """Whether the step ``ship`` raises."""

    is_broken = False


def called(name: str) -> str:
    CALLS.append(name)
    return name


def ship() -> str:
    if Broken.is_broken:
        raise OSError("no truck")
    return called("ship")


def fulfil(ctx: RunContext, payload: dict[str, Any]) -> dict[str, Any]:
    charge = ctx.step("charge", called, "charge", compensate=lambda result, key: called("refund"))
    ok = ctx.wait_for("approved", timeout=86_400, default={"ok": False})
    ctx.sleep("cool-down", 3_600)
    shipped = ctx.step("ship", ship, retry=Retry(max_attempts=1))
    return {"charge": charge, "ok": ok, "shipped": shipped}


def pay(ctx: RunContext) -> Any:
    callback = ctx.callback("paid", timeout=3_600)
    TOKENS.append(callback.token)
    return callback.result()


@pytest.fixture
def hourhand() -> FakeHourhand:
    CALLS.clear()
    TOKENS.clear()
    Broken.is_broken = False
    registry = Registry()
    job("fulfil", durable=True, registry=registry)(fulfil)
    job("pay", durable=True, registry=registry)(pay)
    job("plain", registry=registry)(lambda _context: None)
    return FakeHourhand(handlers=registry)


def started(hourhand: FakeHourhand, handler: str = "fulfil") -> str:
    run_id = hourhand.client.submit(handler, {}).id
    hourhand.run_due()
    return run_id


def finished(hourhand: FakeHourhand) -> str:
    run_id = started(hourhand)
    hourhand.client.runs.signal(run_id, "approved", {"ok": True}, id="1")
    hourhand.advance(hours=2)
    return run_id


def test_a_run_shows_what_it_waits_for_and_goes_on_at_the_signal(hourhand: FakeHourhand) -> None:
    run_id = started(hourhand)
    waiting = hourhand.get(run_id)
    assert waiting.waits_for is not None
    assert (waiting.status, waiting.waits_for.kind) == ("PENDING", "signal")
    assert waiting.waits_for.name == "approved"
    hourhand.client.runs.signal(run_id, "approved", {"ok": True}, id="1")
    hourhand.client.runs.signal(run_id, "approved", {"ok": False}, id="1")
    hourhand.advance(hours=2)
    ended = hourhand.get(run_id)
    assert ended.result == {"charge": "charge", "ok": {"ok": True}, "shipped": "ship"}
    assert CALLS == ["charge", "ship"]


def publicly(hourhand: FakeHourhand, path: str, body: str, method: str = "POST") -> int:
    """Send a request by the route of API Gateway that needs no authorisation; return the status."""
    event = load_event("http_api_iam")
    event["routeKey"] = PUBLIC_ROUTE_KEY
    del event["requestContext"]["authorizer"]
    event["rawPath"] = event["requestContext"]["http"]["path"] = path
    event["requestContext"]["http"]["method"] = method
    event["body"] = body
    return int(hourhand._answer(event, None)["statusCode"])


def test_a_public_callback_needs_its_token_alone_and_reaches_nothing_else(
    hourhand: FakeHourhand,
) -> None:
    run_id = started(hourhand, "pay")
    path = f"/v1/callbacks/{TOKENS[-1]}"
    assert publicly(hourhand, f"{path}/succeed", json.dumps({"result": "x" * 64_000})) == 413
    assert publicly(hourhand, f"/v1/jobs/{run_id}/cancel", "") == 403
    assert publicly(hourhand, "/v1/jobs", "", "GET") == 403
    assert publicly(hourhand, "/v1/callbacks/cb_forged/succeed", "{}") == 404
    assert publicly(hourhand, f"{path}/succeed", '{"result": 7}') == 200
    hourhand.run_due()
    assert hourhand.get(run_id).result == 7


def test_the_steps_of_a_run_are_listed_in_their_order_with_their_states(
    hourhand: FakeHourhand,
) -> None:
    run_id = started(hourhand)
    steps = list(hourhand.client.runs.steps(run_id, page_size=1))
    assert [(s.path, s.kind, s.status, s.result) for s in steps] == [
        ("charge", "step", "succeeded", "charge"),
        ("approved", "wait", "waiting", None),
    ]
    assert steps[0].compensates
    hourhand.client.runs.signal(run_id, "approved")
    hourhand.advance(hours=2)
    steps = list(hourhand.client.runs.steps(run_id))
    assert [s.status for s in steps] == ["succeeded"] * 4


@pytest.mark.parametrize("page_size", [1, 2, 3, 4, 5])
def test_the_newest_steps_come_first_if_that_is_asked_for(
    hourhand: FakeHourhand, page_size: int
) -> None:
    run_id = finished(hourhand)
    paths = [step.path for step in hourhand.client.runs.steps(run_id)]
    assert len(paths) == 4
    steps = hourhand.client.runs.steps(run_id, order="newest", page_size=page_size)
    assert [step.path for step in steps] == paths[::-1]


def test_a_step_that_is_recorded_meanwhile_does_not_move_the_pages_of_the_older_ones(
    hourhand: FakeHourhand,
) -> None:
    run_id = started(hourhand)
    newest_first = hourhand.client.runs.steps(run_id, order="newest", page_size=1)
    assert next(newest_first).path == "approved"
    hourhand.client.runs.signal(run_id, "approved")
    hourhand.advance(hours=2)
    assert [step.path for step in newest_first] == ["charge"]


def test_an_unknown_order_of_steps_is_refused(hourhand: FakeHourhand) -> None:
    with pytest.raises(Invalid) as refused:
        list(hourhand.client.runs.steps(finished(hourhand), order="latest"))
    assert [fault.field for fault in refused.value.errors] == ["order"]


@pytest.mark.parametrize(("handler", "code"), [("plain", "not_durable"), ("fulfil", "run_ended")])
def test_a_signal_for_a_job_that_takes_none_is_refused(
    hourhand: FakeHourhand, handler: str, code: str
) -> None:
    run_id = hourhand.client.submit(handler, {}).id
    hourhand.client.cancel(run_id)
    with pytest.raises(Conflict) as refused:
        hourhand.client.runs.signal(run_id, "approved")
    assert refused.value.code == code


def test_a_signal_for_an_unknown_run_or_with_a_bad_name_is_refused(hourhand: FakeHourhand) -> None:
    with pytest.raises(NotFound):
        hourhand.client.runs.signal("nothing", "approved")
    run_id = started(hourhand)
    with pytest.raises(Invalid) as refused:
        hourhand.client.runs.signal(run_id, "not a name")
    assert [problem.field for problem in refused.value.errors] == ["name"]


def test_a_callback_is_completed_over_the_api(hourhand: FakeHourhand) -> None:
    run_id = started(hourhand, "pay")
    client = hourhand.client
    assert client.callbacks.heartbeat(TOKENS[0]).accepted
    assert client.callbacks.succeed(TOKENS[0], {"paid": 5}).accepted
    assert client.callbacks.succeed(TOKENS[0], {"paid": 5}).accepted
    with pytest.raises(Conflict) as refused:
        client.callbacks.fail(TOKENS[0], "late")
    assert refused.value.code == "already_completed"
    hourhand.run_due()
    assert hourhand.get(run_id).result == {"paid": 5}
    with pytest.raises(NotFound):
        client.callbacks.succeed("cb_forged", 1)


def test_a_client_shows_the_token_of_a_callback_in_no_log_and_no_error(
    hourhand: FakeHourhand, caplog: pytest.LogCaptureFixture
) -> None:
    started(hourhand, "pay")
    with caplog.at_level("DEBUG"):
        hourhand.client.callbacks.heartbeat(TOKENS[-1])

        def silent(_: httpx.Request) -> httpx.Response:
            raise httpx.ReadTimeout("silent")

        with (
            Client("http://127.0.0.1:1", transport=httpx.MockTransport(silent)) as client,
            pytest.raises(Unreachable) as lost,
        ):
            client.callbacks.heartbeat(TOKENS[-1])
    assert "/v1/callbacks/{token}/heartbeat" in str(lost.value)
    assert TOKENS[-1] not in f"{lost.value} {caplog.text}"


def test_a_callback_that_fails_raises_in_the_run(hourhand: FakeHourhand) -> None:
    run_id = started(hourhand, "pay")
    hourhand.client.callbacks.fail(TOKENS[0], "no money", type="Declined")
    hourhand.run_due(raise_errors=False)
    error = hourhand.get(run_id).error
    assert error is not None
    assert (error.type, error.message) == ("CallbackFailed", "paid: Declined: no money")
    with pytest.raises(Conflict) as refused:
        hourhand.client.callbacks.succeed(TOKENS[0], 1)
    assert refused.value.code == "already_completed"


def test_a_run_that_failed_is_compensated_and_then_only_redriven_fresh(
    hourhand: FakeHourhand,
) -> None:
    Broken.is_broken = True
    run_id = finished(hourhand)
    assert hourhand.get(run_id).status == "DEAD"
    assert CALLS == ["charge", "refund"]
    with pytest.raises(Conflict) as refused:
        hourhand.client.runs.redrive(run_id)
    assert refused.value.code == "compensated"
    Broken.is_broken = False
    hourhand.client.runs.redrive(run_id, fresh=True)
    hourhand.run_due()
    # The signal of the first segment was returned there, and is not returned again.
    assert hourhand.get(run_id).status == "PENDING"
    hourhand.client.runs.signal(run_id, "approved", id="2")
    hourhand.advance(hours=2)
    assert hourhand.get(run_id).status == "SUCCEEDED"
    assert CALLS == ["charge", "refund", "charge", "ship"]


def test_a_part_of_a_run_that_succeeded_runs_again(hourhand: FakeHourhand) -> None:
    run_id = finished(hourhand)
    plan = hourhand.client.runs.plan_redrive(run_id, ["ship"])
    assert (plan.reset, plan.kept) == (("ship",), ("approved", "charge", "cool-down"))
    assert hourhand.get(run_id).status == "SUCCEEDED"
    hourhand.client.runs.redrive(run_id, paths=["ship"])
    hourhand.run_due()
    assert hourhand.get(run_id).status == "SUCCEEDED"
    assert CALLS == ["charge", "ship", "ship"]
    with pytest.raises(Invalid) as refused:
        hourhand.client.runs.redrive(run_id, paths=["shop"])
    assert "no call of this path" in str(refused.value)


def test_steps_that_run_again_get_new_keys_if_that_is_asked_for(hourhand: FakeHourhand) -> None:
    run_id = finished(hourhand)
    assert not hourhand.client.runs.plan_redrive(run_id, ["charge"]).new_keys
    assert hourhand.client.runs.plan_redrive(run_id, ["charge"], new_keys=True).new_keys
    Broken.is_broken = True
    hourhand.client.runs.redrive(run_id, paths=["charge", "ship"], new_keys=True)
    hourhand.run_due()
    assert hourhand.get(run_id).status == "DEAD"
    assert CALLS == ["charge", "ship", "charge", "refund", "refund"]
    with pytest.raises(Invalid) as refused:
        hourhand.client.runs.redrive(run_id, new_keys=True)
    assert "new_keys needs from" in str(refused.value)


def test_a_live_run_and_a_plain_job_are_not_redriven_in_parts(hourhand: FakeHourhand) -> None:
    run_id = started(hourhand)
    with pytest.raises(Conflict):
        hourhand.client.runs.redrive(run_id, paths=["charge"])
    plain = hourhand.client.submit("plain").id
    hourhand.run_due()
    with pytest.raises(Conflict) as refused:
        hourhand.client.runs.redrive(plain, paths=["charge"])
    assert refused.value.code == "not_durable"


# --- replays ---


def test_an_exported_journal_replays_against_the_code_that_wrote_it(
    hourhand: FakeHourhand,
) -> None:
    exported = json.loads(json.dumps(hourhand.client.runs.journal(finished(hourhand))))
    CALLS.clear()
    result = replay(exported, fulfil)
    assert (result.outcome, result.left_over) == ("returned", ())
    assert result.result == {"charge": "charge", "ok": {"ok": True}, "shipped": "ship"}
    assert CALLS == []


def test_a_replay_from_every_prefix_of_a_journal_ends_at_its_next_call(
    hourhand: FakeHourhand,
) -> None:
    exported = hourhand.client.runs.journal(finished(hourhand))
    outcomes = [
        replay({**exported, "records": exported["records"][:count]}, fulfil).outcome
        for count in range(5)
    ]
    # Behind the sleep it waits, for the time of a replay is that of its newest record.
    assert outcomes == ["new_call", "new_call", "new_call", "waits", "returned"]


def test_a_replay_names_a_call_of_another_kind_and_records_that_are_left_over(
    hourhand: FakeHourhand,
) -> None:
    exported = hourhand.client.runs.journal(finished(hourhand))

    def another_kind(ctx: RunContext, payload: dict[str, Any]) -> None:
        ctx.sleep("charge", 60)

    with pytest.raises(ReplayMismatch, match="The call charge is a sleep now"):
        replay(exported, another_kind)

    def without_charge(ctx: RunContext, payload: dict[str, Any]) -> None:
        ctx.wait_for("approved", timeout=timedelta(days=1), default=None)
        ctx.sleep("cool-down", 3_600)

    assert replay(exported, without_charge).left_over == ("charge", "ship")


def test_a_replay_raises_the_failure_of_a_step(hourhand: FakeHourhand) -> None:
    Broken.is_broken = True
    exported = hourhand.client.runs.journal(finished(hourhand))
    result = replay(exported, fulfil)
    assert result.outcome == "raised"
    assert isinstance(result.error, StepFailed)
