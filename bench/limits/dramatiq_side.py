"""dramatiq's side: a limit of one key by its own `ConcurrentRateLimiter`, over Redis.

As in its documentation (Rate Limiting): an actor that finds the limit full raises, and dramatiq
retries it with its default back-off. Runs under the Python of ``.venv-peers``:
``python -m bench.limits.dramatiq_side`` submits, ``python -m dramatiq`` works.
"""

from __future__ import annotations

import os

import dramatiq  # type: ignore[import-not-found]  # it lives in .venv-peers alone
import redis  # type: ignore[import-not-found]  # so does this
from dramatiq.rate_limits import ConcurrentRateLimiter  # type: ignore[import-not-found]  # so too
from dramatiq.rate_limits.backends import RedisBackend  # type: ignore[import-not-found]  # so too

from bench.peers import dramatiq_side, runs
from bench.peers.submitting import Send, serve

broker = dramatiq_side.broker
LIMIT = ConcurrentRateLimiter(
    RedisBackend(client=redis.Redis.from_url(os.environ["PEERS_REDIS"])),
    "acme",
    limit=int(os.environ["PEERS_SLOTS"]),
    ttl=int(os.environ["PEERS_LOCK_SECONDS"]) * 1000,
)


@dramatiq.actor(queue_name=os.environ["PEERS_QUEUE"], actor_name="limited")  # type: ignore[untyped-decorator]  # as above
def limited(name: str, seconds: float) -> dict[str, str]:
    with LIMIT.acquire(raise_on_failure=False) as acquired:
        if acquired:
            return runs.work(name, seconds)
    runs.turn_away(name)
    raise dramatiq.RateLimitExceeded("the limit is full")


def send(name: str, _: float, seconds: float) -> None:
    """Submit one message."""
    limited.send(name, seconds)


if __name__ == "__main__":
    sender: Send = send
    serve(sender)
