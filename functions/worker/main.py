"""The worker: an SQS event in, the messages to redeliver out.

Whatever a handler does, it ends as the outcome of its job's attempt; see `hourhand.worker`.
"""

from __future__ import annotations

import os
from typing import Any

from hourhand.aws.lambda_init import LambdaInit
from hourhand.settings import WORKER_NEEDS, read_settings
from hourhand.wiring.functions import WorkerServices, wire_worker


def wire() -> WorkerServices:
    return wire_worker(read_settings(os.environ, WORKER_NEEDS))


def import_handlers(wired: WorkerServices) -> None:
    wired.runtime.import_handlers_early()


services = LambdaInit(wire, os.environ, get_ready=import_handlers)


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    wired = services()
    wired.called_as(context.invoked_function_arn, context.function_version)
    return dict(wired.runtime.process_batch(event, context))
