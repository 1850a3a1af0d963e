"""Celery's side: SQS as its broker by kombu, DynamoDB as its result backend.

Configured as its documentation advises where work must not be lost: late acknowledgement, and a
task whose process was lost is given back. Queues are predefined, so that it lists and makes none;
remote control, which SQS does not support, is off. Everything else is its default.

``python -m bench.peers.celery_side`` submits; ``python -m celery -A bench.peers.celery_side
worker`` works. Both under the Python of ``.venv-peers``.
"""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from celery import Celery  # type: ignore[import-not-found]  # it lives in .venv-peers alone

from bench.peers import runs
from bench.peers.submitting import serve

ENDPOINT = os.environ["AWS_ENDPOINT_URL"]
QUEUE = os.environ["PEERS_QUEUE"]
REGION = os.environ["AWS_DEFAULT_REGION"]
KEY, SECRET = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
WAIT_SECONDS = os.environ.get("PEERS_WAIT_SECONDS")
PREFETCH = os.environ.get("PEERS_PREFETCH")
ACCOUNT = "000000000000"

options = {
    "region": REGION,
    "is_secure": False,
    "predefined_queues": {
        QUEUE: {
            "url": f"{ENDPOINT}/{ACCOUNT}/{QUEUE}",
            "access_key_id": KEY,
            "secret_access_key": SECRET,
        }
    },
}
if WAIT_SECONDS:
    options["wait_time_seconds"] = int(WAIT_SECONDS)

app = Celery("peers")
app.conf.update(
    broker_url=f"sqs://{KEY}:{SECRET}@{urlsplit(ENDPOINT).netloc}",
    broker_transport_options=options,
    broker_connection_retry_on_startup=True,
    result_backend=f"dynamodb://{KEY}:{SECRET}@{REGION}/{os.environ['PEERS_TABLE']}",
    dynamodb_endpoint_url=ENDPOINT,
    task_default_queue=QUEUE,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_enable_remote_control=False,
)
if PREFETCH:
    app.conf.worker_prefetch_multiplier = int(PREFETCH)


@app.task(name="peers.work")  # type: ignore[untyped-decorator]  # Celery has no types
def work(name: str, seconds: float) -> dict[str, str]:
    return runs.work(name, seconds)


def send(name: str, delay: float, seconds: float) -> None:
    """Submit one task."""
    work.apply_async((name, seconds), countdown=delay or None)


if __name__ == "__main__":
    serve(send)
