"""Celery's side: a chord for each fan-out, with Redis as its broker and for its results.

Configured as its documentation advises where work must not be lost: late acknowledgement, and a
task whose process was lost is given back. Runs under the Python of ``.venv-peers``:
``python -m bench.children.celery_side`` submits, ``celery -A`` works.
"""

from __future__ import annotations

import os

from celery import Celery, chord, group  # type: ignore[import-not-found]  # in .venv-peers alone

from bench.children.work import CHILDREN, callback_name, child_name
from bench.peers import runs
from bench.peers.submitting import serve

REDIS = os.environ["PEERS_REDIS"]
app = Celery("peers", broker=REDIS, backend=REDIS)
app.conf.update(
    broker_transport_options={"visibility_timeout": int(os.environ["PEERS_VISIBILITY_SECONDS"])},
    broker_connection_retry_on_startup=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
)


@app.task(name="peers.child")  # type: ignore[untyped-decorator]  # Celery has no types
def child(name: str, seconds: float) -> dict[str, str]:
    return runs.work(name, seconds)


@app.task(name="peers.callback")  # type: ignore[untyped-decorator]  # as above
def callback(_results: list[dict[str, str]], name: str) -> dict[str, str]:
    return runs.work(name, 0)


def send(name: str, _: float, seconds: float) -> None:
    """Submit one chord."""
    header = group(child.s(child_name(name, n), seconds) for n in range(CHILDREN))
    chord(header)(callback.s(callback_name(name)))


if __name__ == "__main__":
    serve(send)
