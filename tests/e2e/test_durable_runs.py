"""A durable run on the local cloud survives a killed worker, purged queues and changed code."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import News
from hourhand.local.memory_backend import MemoryBackend
from tests.acceptance.http_api import local_api
from tests.e2e.dev_process import LOOK_SECONDS, TIMINGS, WAIT_SECONDS

ORDERS = """
import os
import time
from pathlib import Path

from hourhand import RunContext, job


def effect(name, key, seconds=0.0):
    with Path(os.environ["LEDGER_FILE"]).open("a") as ledger:
        ledger.write(f"{name} {key}\\n")
    time.sleep(seconds)
    return name


@job("e2e-order", durable=True)
def order(ctx: RunContext, payload: dict) -> dict:
    ctx.step("charge", effect, "charge", ctx.step_key)
    answer = ctx.wait_for("approved")
    ctx.step("pack", effect, "pack", ctx.step_key, 2.0)
    ctx.sleep("cool-down", 8)
    # here
    ctx.step("ship", effect, "ship", ctx.step_key)
    return answer
"""
CHANGED = ORDERS.replace("# here", 'ctx.step("wrap", effect, "wrap", ctx.step_key)')
T = TypeVar("T")


class Rig:
    """A local cloud with the handlers of a file, and the ledger of their effects."""

    def __init__(self, folder: Path) -> None:
        self.handlers = folder / "e2e_orders.py"
        self.handlers.write_text(ORDERS)
        self.ledger = folder / "ledger"
        self.ledger.touch()
        self.news: list[News] = []
        options = CloudOptions(
            handlers="e2e_orders",
            port=0,
            tick_seconds=1.0,
            workers=2,
            timings=TIMINGS,
            path=str(folder),
            environment={"LEDGER_FILE": str(self.ledger)},
        )
        self.cloud = LocalCloud(options, self.news.append)
        self.cloud.start()
        self.client = local_api(self.cloud.url)

    def wait(self, look: Callable[[], T | None]) -> T:
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            found = look()
            if found is not None:
                return found
            time.sleep(LOOK_SECONDS)
        raise AssertionError(f"It did not happen. {self.effects()} {self.news[-20:]}")

    def job(self, job_id: str) -> dict[str, Any]:
        body: dict[str, Any] = self.client.get(f"/v1/jobs/{job_id}").body
        return body

    def effects(self) -> list[str]:
        """Return the lines of the ledger: the name of each effect and its key."""
        return self.ledger.read_text().splitlines()

    def waits_for(self, job_id: str, kind: str) -> None:
        def look() -> bool | None:
            waits = self.job(job_id)["waits_for"]
            return True if waits is not None and waits["kind"] == kind else None

        self.wait(look)

    def has_effect(self, name: str, times: int = 1) -> None:
        self.wait(lambda: self.counts()[name] >= times or None)

    def counts(self) -> Counter[str]:
        return Counter(line.split()[0] for line in self.effects())

    def kill_all_workers(self) -> None:
        for worker in self.cloud.workers:
            os.kill(worker.pid, signal.SIGKILL)

    def purge_all_queues(self) -> None:
        assert isinstance(self.cloud.backend, MemoryBackend)
        self.cloud.backend._queues.purge()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.cloud.stop()


@pytest.mark.real_time
def test_a_run_survives_kill_9_of_its_worker_a_purge_of_every_queue_and_changed_code(
    rig: Rig,
) -> None:
    job_id = rig.client.post("/v1/jobs", {"handler": "e2e-order", "payload": {}}).body["id"]
    rig.waits_for(job_id, "signal")
    sent = rig.client.post(f"/v1/jobs/{job_id}/signals/approved", {"payload": {"by": "Ann"}})
    assert sent.status == 200, sent

    rig.has_effect("pack")
    rig.kill_all_workers()
    rig.waits_for(job_id, "time")
    assert rig.counts() == {"charge": 1, "pack": 2}
    assert len({line for line in rig.effects() if line.startswith("pack")}) == 1

    rig.handlers.write_text(CHANGED)
    rig.purge_all_queues()
    ended = rig.wait(lambda: found if (found := rig.job(job_id))["finished_at"] else None)
    assert (ended["status"], ended["result"]) == ("SUCCEEDED", {"by": "Ann"})
    assert rig.counts() == {"charge": 1, "pack": 2, "wrap": 1, "ship": 1}
    steps = rig.client.get(f"/v1/jobs/{job_id}/steps").body["steps"]
    assert [step["path"] for step in steps] == [
        *("charge", "approved", "pack", "cool-down", "wrap", "ship")
    ]
