"""DBOS's side: a workflow of five steps, enqueued by a client, over one SQLite database.

A worker that starts recovers the workflows that were under way. All is its default. Runs under the
Python of ``.venv-peers``: ``python -m bench.runs.dbos_side submit`` submits, ``work`` works.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from dbos import DBOS, DBOSClient  # type: ignore[import-not-found]  # it lives in .venv-peers alone

from bench.peers.submitting import serve
from bench.runs import flow

URL = os.environ["PEERS_DATABASE"]
QUEUE, WORKFLOW = "peers", "five-steps"
TABLES_SECONDS = 30.0
"""How long a submission waits for the worker's first start, which makes the tables."""

TRY_SECONDS = 0.5


def work() -> None:
    """Work until the process is ended."""
    DBOS(config={"name": "peers", "system_database_url": URL, "log_level": "WARNING"})

    @DBOS.step()  # type: ignore[untyped-decorator]  # it has types only in .venv-peers
    def step(run: str, number: int, seconds: float) -> int:
        return flow.step(run, number, seconds)

    @DBOS.workflow(name=WORKFLOW)  # type: ignore[untyped-decorator]  # see above
    def five_steps(run: str, seconds: float) -> list[int]:
        return [step(run, number, seconds) for number in range(1, flow.STEPS + 1)]

    DBOS.launch()
    DBOS.register_queue(QUEUE)
    threading.Event().wait()


def send(name: str, _: float, seconds: float) -> None:
    """Submit one workflow, under its name as its id."""
    options = {"queue_name": QUEUE, "workflow_name": WORKFLOW, "workflow_id": name}
    deadline = time.monotonic() + TABLES_SECONDS
    while True:
        try:
            DBOSClient(system_database_url=URL).enqueue(options, name, seconds)
        except Exception:
            if time.monotonic() >= deadline:
                raise
            time.sleep(TRY_SECONDS)
        else:
            return


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work()
    serve(send)
