"""The web app answers at once, submits each sign-up once, and reports how its job is doing."""

from __future__ import annotations

from unittest.mock import ANY

import httpx
import pytest
from flask.testing import FlaskClient

from examples.web_app import create_app
from hourhand import Client
from hourhand.testing import FakeHourhand

ADA = {"email": "ada@example.org", "name": "Ada"}


@pytest.fixture
def browser(hourhand_jobs: FakeHourhand) -> FlaskClient:
    return create_app().test_client()


def test_a_sign_up_is_answered_before_its_job_runs(
    hourhand_jobs: FakeHourhand, browser: FlaskClient
) -> None:
    answer = browser.post("/sign-ups", json=ADA)

    assert answer.status_code == 202
    hourhand_jobs.assert_submitted("confirm-sign-up", payload=ADA, idempotency_key=ANY)
    assert browser.get(answer.get_json()["url"]).get_json() == {
        "status": "ENQUEUED",
        "result": None,
    }
    hourhand_jobs.run_due()
    assert browser.get(answer.get_json()["url"]).get_json() == {
        "status": "SUCCEEDED",
        "result": {"sent_to": "ada@example.org"},
    }


def test_a_repeated_request_submits_no_second_job(
    hourhand_jobs: FakeHourhand, browser: FlaskClient
) -> None:
    first, second = (browser.post("/sign-ups", json=ADA) for _ in range(2))

    assert first.get_json() == second.get_json()
    assert len(hourhand_jobs.submitted("confirm-sign-up")) == 1


def test_a_bad_request_submits_nothing(hourhand_jobs: FakeHourhand, browser: FlaskClient) -> None:
    assert browser.post("/sign-ups", json={"email": "ada@example.org"}).status_code == 422
    assert browser.post("/sign-ups", data="no JSON").status_code == 422
    hourhand_jobs.assert_not_submitted()


def test_an_unknown_sign_up_is_not_found(browser: FlaskClient) -> None:
    assert browser.get("/sign-ups/unknown").status_code == 404


def test_the_visitor_is_asked_to_try_again_while_the_api_is_down() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    client = Client("http://127.0.0.1", transport=httpx.MockTransport(refuse), max_attempts=1)
    answer = create_app(client).test_client().post("/sign-ups", json=ADA)

    assert answer.status_code == 503
