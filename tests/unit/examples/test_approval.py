"""A refund waits for its approval, and is paid once."""

from __future__ import annotations

from typing import Any

import pytest

from examples import approval
from examples.approval import DAYS_TO_ANSWER, FREE_CENTS, Refund, pay_refund
from hourhand.testing import FakeHourhand

LARGE = Refund("A-7", FREE_CENTS + 1)


@pytest.fixture
def paid(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []
    monkeypatch.setattr(approval, "pay", lambda *told, key: calls.append((*told, key)))
    return calls


def test_a_small_refund_is_paid_at_once(hourhand_jobs: FakeHourhand, paid: list[Any]) -> None:
    run = pay_refund.submit(Refund("A-7", FREE_CENTS))
    hourhand_jobs.run_due()
    assert hourhand_jobs.get(run).result["paid"]
    assert len(paid) == 1


@pytest.mark.parametrize("ok", [True, False])
def test_a_large_refund_waits_for_its_approval(
    hourhand_jobs: FakeHourhand, paid: list[Any], ok: bool
) -> None:
    run = pay_refund.submit(LARGE)
    hourhand_jobs.run_due()
    waits_for = hourhand_jobs.get(run).waits_for
    assert waits_for is not None
    assert (waits_for.kind, waits_for.name) == ("signal", "approved")

    hourhand_jobs.client.runs.signal(run.id, "approved", {"by": "Ann", "ok": ok}, id="click-1")
    hourhand_jobs.run_due()
    result = hourhand_jobs.get(run).result
    assert (result["by"], result["paid"], len(paid)) == ("Ann", ok, int(ok))


def test_a_refund_that_nobody_approves_is_not_paid(
    hourhand_jobs: FakeHourhand, paid: list[Any]
) -> None:
    run = pay_refund.submit(LARGE)
    hourhand_jobs.advance(days=DAYS_TO_ANSWER)
    assert hourhand_jobs.get(run).result == {"paid": False, "by": "nobody"}
    assert paid == []
