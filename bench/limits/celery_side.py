"""Celery's side: a limit of one key, as its users build it.

Celery limits no key. Its documentation has a lock in a cache (User Guide, Cookbook: "Ensuring a
task is only executed one at a time"); with redis-py's locks, one for each slot, it becomes a limit.
A task that finds all of them taken is retried after a second. Runs under the Python of
``.venv-peers``: ``python -m bench.limits.celery_side`` submits, ``celery -A`` works.
"""

from __future__ import annotations

import os
from typing import Any

import redis  # type: ignore[import-not-found]  # it lives in .venv-peers alone

from bench.peers import runs
from bench.peers.celery_side import app
from bench.peers.submitting import serve

SLOTS = int(os.environ["PEERS_SLOTS"])
LOCK_SECONDS = int(os.environ["PEERS_LOCK_SECONDS"])
RETRY_SECONDS = 1
client = redis.Redis.from_url(os.environ["PEERS_REDIS"])


@app.task(name="peers.limited", bind=True, max_retries=None)  # type: ignore[untyped-decorator]  # Celery has no types
def limited(self: Any, name: str, seconds: float) -> dict[str, str]:
    for slot in range(SLOTS):
        lock = client.lock(f"acme.{slot}", timeout=LOCK_SECONDS)
        if lock.acquire(blocking=False):
            try:
                return runs.work(name, seconds)
            finally:
                if lock.owned():
                    lock.release()
    runs.turn_away(name)
    raise self.retry(countdown=RETRY_SECONDS)


def send(name: str, _: float, seconds: float) -> None:
    """Submit one task."""
    limited.apply_async((name, seconds))


if __name__ == "__main__":
    serve(send)
