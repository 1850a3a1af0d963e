"""Logs and metrics of the deployed functions: JSON lines, and CloudWatch's embedded metric format.

Built from the parts of Powertools, not from its `Logger` and `Metrics`. The first makes the root
logger drop every line whose logger's name merely contains the service's, so a service named
``api`` would silence a user's ``billing.api``. The second keeps its values in the class, shared
with whatever metrics a handler makes itself, and is not safe with several jobs side by side.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from enum import StrEnum
from typing import Any, TextIO

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import (
    AmazonCloudWatchEMFProvider,
)

from hourhand.domain.errors import HourhandError
from hourhand.handlers import JobLogger

NAMESPACE = "Hourhand"
MAX_VALUES = 90
"""Values in one line of metrics: CloudWatch takes 100 names, and 100 values of each."""


class Metric(StrEnum):
    """Everything that is measured. The only dimension is ``service``: others cost by the value."""

    ATTEMPTS_LOST = "attempts_lost"
    ATTEMPTS_TO_BE_RETRIED = "attempts_to_be_retried"
    COMMITS_REFUSED = "commits_refused"
    DEAD_LETTERS = "dead_letters"
    DUPLICATES_DROPPED = "duplicates_dropped"
    DUPLICATES_HIDDEN = "duplicates_hidden"
    ELECTION_MS = "election_ms"
    ELECTIONS_FOLLOWED = "elections_followed"
    ELECTIONS_WON = "elections_won"
    HAND_OFF_MS = "hand_off_ms"
    HAND_OFFS = "hand_offs"
    HANDLERS_STUCK = "handlers_stuck"
    IDEMPOTENT_REPLAYS = "idempotent_replays"
    JOBS_DEAD = "jobs_dead"
    JOBS_DISPATCHED = "jobs_dispatched"
    JOBS_DISPATCHED_AGAIN = "jobs_dispatched_again"
    JOBS_EXPIRED = "jobs_expired"
    JOBS_REDRIVEN = "jobs_redriven"
    JOBS_SUBMITTED = "jobs_submitted"
    LATENESS_MS = "lateness_ms"
    LEASE_HELD_MS = "lease_held_ms"
    LEASES_LOST = "leases_lost"
    MARKS_REFUSED = "marks_refused"
    MESSAGES_FAILED = "messages_failed"
    MESSAGES_FOREIGN = "messages_foreign"
    NOT_BEGUN_FOR_TIME = "not_begun_for_time"
    NUDGES_FAILED = "nudges_failed"
    OCCURRENCES_ADOPTED = "occurrences_adopted"
    OCCURRENCES_CALLED = "occurrences_called"
    OCCURRENCES_DEFERRED = "occurrences_deferred"
    OCCURRENCES_MADE = "occurrences_made"
    OCCURRENCES_SKIPPED = "occurrences_skipped"
    OCCURRENCES_WITHDRAWN = "occurrences_withdrawn"
    OLDEST_DUE_AGE_S = "oldest_due_age_s"
    SCHEDULE_SWEEPS_INCOMPLETE = "schedule_sweeps_incomplete"
    SCHEDULE_VISITS_FAILED = "schedule_visits_failed"
    SCHEDULE_VISITS_OUTDATED = "schedule_visits_outdated"
    SCHEDULES_CHANGED = "schedules_changed"
    SCHEDULES_PAUSED_BY_FAILURE = "schedules_paused_by_failure"
    SCHEDULES_VISITED = "schedules_visited"
    SEND_FAILURES = "send_failures"
    SHARDS_HANDED_OVER = "shards_handed_over"
    SKEW_MS = "skew_ms"
    SWEEP_FAILURES = "sweep_failures"
    TICKS = "ticks"
    TIME_TO_CLAIM_MS = "time_to_claim_ms"
    TIME_TO_FINISH_MS = "time_to_finish_ms"
    WATERMARK_LAG_S = "watermark_lag_s"
    WATERMARK_REFUSED = "watermark_refused"


class TracingNotInstalled(HourhandError):
    """Tracing was asked for, and the X-Ray SDK is not installed."""

    code = "tracing_not_installed"


class PowertoolsTelemetry:
    """Implements `hourhand.ports.Telemetry`. Safe to use from several threads.

    ``service`` (``api``, ``scheduler``, ``worker``) is a field of every line and the dimension of
    every metric. `flush` must be called at the end of an invocation. The worker's takes handlers'
    own lines, too: their logger, `hourhand.handlers.JOB_LOGGER`, is below its.
    """

    def __init__(
        self, service: str, *, level: int = logging.INFO, stream: TextIO | None = None
    ) -> None:
        """Write to ``stream``, by default standard output as it is now.

        Not as it is later: a handler may redirect or close it.
        """
        self._stream = sys.stdout if stream is None else stream
        self._lines = JobLogger(_json_logger(service, level, self._stream), {})
        self._metrics = AmazonCloudWatchEMFProvider(
            namespace=NAMESPACE, service=service, metric_set={}, dimension_set={}
        )
        self._values = 0
        self._lock = threading.Lock()

    def info(self, sentence: str, **fields: Any) -> None:
        """Log what happened as expected."""
        # The line tells the place of whoever called this.
        self._lines.info(sentence, stacklevel=2, **fields)

    def warning(self, sentence: str, **fields: Any) -> None:
        """Log what somebody should look at."""
        self._lines.warning(sentence, stacklevel=2, **fields)

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a counter."""
        self._add(metric, "Count", value)

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Record a measurement; ``unit`` is one of CloudWatch's."""
        self._add(metric, unit, value)

    def flush(self) -> None:
        """Write out the metrics that are held."""
        with self._lock:
            self._write_metrics()

    def _add(self, metric: str, unit: str, value: float) -> None:
        with self._lock:
            self._metrics.add_metric(name=metric, unit=unit, value=value)
            self._values += 1
            if self._values >= MAX_VALUES:
                self._write_metrics()

    def _write_metrics(self) -> None:
        if self._values == 0:
            return
        line = json.dumps(self._metrics.serialize_metric_set(), separators=(",", ":"))
        self._metrics.clear_metrics()
        self._values = 0
        # A handler may have closed our stream; CloudWatch reads the other one, too.
        stream = sys.__stderr__ if self._stream.closed else self._stream
        if stream is not None:
            stream.write(line + "\n")
            stream.flush()


def start_tracing(service: str) -> None:
    """Trace every call to AWS with X-Ray.

    Only on request: the SDK costs half a second of each cold start. Does nothing outside Lambda.
    Raises `TracingNotInstalled`.
    """
    try:
        from aws_lambda_powertools import Tracer  # noqa: PLC0415

        # It imports the SDK only when it is made.
        Tracer(service=service, auto_patch=True, patch_modules=["botocore"])
    except ImportError as error:
        raise TracingNotInstalled(
            "HOURHAND_TRACING is set, and aws-xray-sdk is not installed: "
            "pack it with your handlers, or unset it."
        ) from error


def _json_logger(service: str, level: int, stream: TextIO) -> logging.Logger:
    """Return the logger of this process, writing JSON to ``stream`` and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        LambdaPowertoolsFormatter(
            service=service, utc=True, use_rfc3339=True, serialize_stacktrace=False
        )
    )
    logger = logging.getLogger(f"hourhand.{service}")
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(level)
    return logger
