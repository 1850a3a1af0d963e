"""Celery's side: a chain of five tasks, each of which sends the next one when it ends.

With ``PEERS_EARLY`` a message is acknowledged when its task begins, as by default; otherwise when
it ends, as Celery's documentation advises where a task can run twice. Runs under the Python of
``.venv-peers``: ``python -m bench.runs.celery_side`` submits, ``celery -A`` works.
"""

from __future__ import annotations

import os

from celery import chain  # type: ignore[import-not-found]  # it lives in .venv-peers alone

from bench.peers.celery_side import app
from bench.peers.submitting import serve
from bench.runs import flow

if os.environ.get("PEERS_EARLY"):
    app.conf.update(task_acks_late=False, task_reject_on_worker_lost=False)


@app.task(name="peers.step")  # type: ignore[untyped-decorator]  # Celery has no types
def step(run: str, number: int, seconds: float) -> int:
    return flow.step(run, number, seconds)


def send(name: str, _: float, seconds: float) -> None:
    """Submit one chain."""
    numbers = range(1, flow.STEPS + 1)
    chain(*(step.si(name, number, seconds) for number in numbers)).apply_async()


if __name__ == "__main__":
    serve(send)
