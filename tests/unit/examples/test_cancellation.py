"""A cancelled export stops early and leaves no file behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples import cancellation
from examples.cancellation import Export, export_orders
from hourhand.testing import FakeHourhand


def test_an_export_writes_all_orders(hourhand_jobs: FakeHourhand, tmp_path: Path) -> None:
    to = tmp_path / "orders.csv"
    job = export_orders.submit(Export(3, str(to)))
    hourhand_jobs.run_due()

    assert hourhand_jobs.get(job).result == {"orders": 3}
    assert to.read_text().splitlines() == ["0,paid", "1,paid", "2,paid"]
    assert list(tmp_path.iterdir()) == [to]


def test_a_cancelled_export_ends_early_and_cleans_up(
    hourhand_jobs: FakeHourhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []

    def cancel_at_the_third(number: int) -> str:
        written.append(number)
        if number == 2:
            hourhand_jobs.client.cancel("export-1")
        return "\n"

    monkeypatch.setattr(cancellation, "order_line", cancel_at_the_third)
    export_orders.submit(Export(90, str(tmp_path / "orders.csv")), id="export-1")
    [run] = hourhand_jobs.run_due()

    assert written == [0, 1, 2]
    assert isinstance(run.error, InterruptedError)
    assert hourhand_jobs.get("export-1").status == "CANCELLED"
    assert list(tmp_path.iterdir()) == []


def test_a_failed_export_cleans_up_too(
    hourhand_jobs: FakeHourhand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "order_line", lambda number: 1 / 0)
    job = export_orders.submit(Export(3, str(tmp_path / "orders.csv")))

    with pytest.raises(ZeroDivisionError):
        hourhand_jobs.run(job)
    assert list(tmp_path.iterdir()) == []
