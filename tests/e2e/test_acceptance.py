"""What every Hourhand does, on the local cloud; ``make e2e`` asks the same of a deployed one."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.scenarios import SCENARIOS
from tests.acceptance.system import HANDLERS, MODULE, System
from tests.e2e.dev_process import LOOK_SECONDS, TIMINGS, WAIT_SECONDS, Dev

# The scenarios wait for workers side by side, each for as long as it may take alone.
PATIENCE = timedelta(seconds=2 * WAIT_SECONDS)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[None]]]:
    """The scenarios, all running at once."""
    folder = tmp_path_factory.mktemp("acceptance")
    handlers, ledger = folder / f"{MODULE}.py", folder / "ledger"
    shutil.copy(HANDLERS / handlers.name, handlers)
    ledger.touch()
    dev = Dev(handlers, {"LEDGER_FILE": str(ledger)})
    system = System(
        api=dev.client,
        runs=lambda job_id: runs_of(job_id, ledger),
        look_ahead=TIMINGS.look_ahead,
        patience=PATIENCE,
        look_every=timedelta(seconds=4 * LOOK_SECONDS),
        rate="rate(2 seconds)",
    )
    try:
        with ThreadPoolExecutor(len(SCENARIOS)) as threads:
            yield {name: threads.submit(run, system) for name, run in SCENARIOS.items()}
    finally:
        dev.end(signal.SIGTERM)


def runs_of(job_id: str, ledger: Path) -> list[Mapping[str, Any]]:
    """Return what the handlers noted of a job."""
    runs = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    return [run for run in runs if run["job"] == job_id]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_local_cloud_does_what_every_hourhand_does(
    started: Mapping[str, Future[None]], name: str
) -> None:
    started[name].result()
