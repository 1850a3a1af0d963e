"""An order has one invoice, however often it is submitted and its job is tried."""

from __future__ import annotations

import pytest

from examples import unique_work
from examples.unique_work import Order, order_placed, send_order_invoice
from hourhand.client import Conflict
from hourhand.testing import FakeHourhand, make_context


@pytest.fixture(autouse=True)
def charged(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    empty: dict[str, int] = {}
    monkeypatch.setattr(unique_work, "CHARGED", empty)
    return empty


def test_the_same_order_is_one_job(hourhand_jobs: FakeHourhand) -> None:
    ids = {order_placed(hourhand_jobs.client, Order(1, cents=500)) for _ in range(3)}

    assert len(ids) == 1
    assert len(hourhand_jobs.run_due()) == 1


def test_another_order_is_another_job(hourhand_jobs: FakeHourhand) -> None:
    ids = {order_placed(hourhand_jobs.client, Order(number, cents=500)) for number in (1, 2)}

    assert len(ids) == 2


def test_the_same_order_at_another_price_is_refused(hourhand_jobs: FakeHourhand) -> None:
    order_placed(hourhand_jobs.client, Order(1, cents=500))

    with pytest.raises(Conflict):
        order_placed(hourhand_jobs.client, Order(1, cents=600))


def test_a_second_attempt_charges_nothing_more(charged: dict[str, int]) -> None:
    for attempt in (1, 2):
        send_order_invoice(make_context(attempt=attempt), Order(1, cents=500))

    assert charged == {"job-1": 500}


def test_the_program_shows_it(
    hourhand_jobs: FakeHourhand, capsys: pytest.CaptureFixture[str]
) -> None:
    unique_work.main()
    hourhand_jobs.run_due()

    assert [run.outcome for run in hourhand_jobs.runs] == ["SUCCEEDED"]
    assert capsys.readouterr().out.splitlines() == [
        "The same job: True",
        "The same key with another payload is refused: idempotency_conflict",
    ]
