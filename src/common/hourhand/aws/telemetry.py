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
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, TextIO

from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter
from aws_lambda_powertools.metrics.provider.cloudwatch_emf.cloudwatch import (
    AmazonCloudWatchEMFProvider,
)

from hourhand.domain.errors import HourhandError
from hourhand.job_logger import JobLogger
from hourhand.settings import INSTALLATION

NAMESPACE = "Hourhand"
MAX_VALUES = 90
"""Values in one line of metrics: CloudWatch takes 100 names, and 100 values of each."""


class Metric(StrEnum):
    """Everything that is measured. The only dimension is ``service``: others cost by the value."""

    ATTEMPTS_LOST = "attempts_lost"
    ATTEMPTS_STARTED = "attempts_started"
    ATTEMPTS_TO_BE_RETRIED = "attempts_to_be_retried"
    CHILDREN_NOT_STARTED = "children_not_started"
    COMMITS_REFUSED = "commits_refused"
    DEAD_JOBS = "dead_jobs"
    DEAD_LETTERS = "dead_letters"
    DUPLICATES_DROPPED = "duplicates_dropped"
    DUPLICATES_HIDDEN = "duplicates_hidden"
    ELECTION_MS = "election_ms"
    ELECTIONS_FOLLOWED = "elections_followed"
    ELECTIONS_WON = "elections_won"
    HAND_OFF_MS = "hand_off_ms"
    HAND_OFFS = "hand_offs"
    HANDLERS_PAUSED = "handlers_paused"
    HANDLERS_STUCK = "handlers_stuck"
    HANDLERS_UNKNOWN = "handlers_unknown"
    IDEMPOTENT_REPLAYS = "idempotent_replays"
    ITEMS_NEWER = "items_newer"
    JOBS_DEAD = "jobs_dead"
    JOBS_DISCARDED = "jobs_discarded"
    JOBS_DISPATCHED = "jobs_dispatched"
    JOBS_DISPATCHED_AGAIN = "jobs_dispatched_again"
    JOBS_EXPIRED = "jobs_expired"
    JOBS_PARKED = "jobs_parked"
    JOBS_REDRIVEN = "jobs_redriven"
    JOBS_SKIPPED = "jobs_skipped"
    JOBS_SUBMITTED = "jobs_submitted"
    JOBS_WOKEN = "jobs_woken"
    LATENESS_MS = "lateness_ms"
    LEASE_HELD_MS = "lease_held_ms"
    LEASES_LOST = "leases_lost"
    MARKS_REFUSED = "marks_refused"
    MESSAGES_FAILED = "messages_failed"
    MESSAGES_FOREIGN = "messages_foreign"
    NOT_BEGUN_FOR_TIME = "not_begun_for_time"
    OCCURRENCES_ADOPTED = "occurrences_adopted"
    OCCURRENCES_MADE = "occurrences_made"
    OCCURRENCES_MISSED = "occurrences_missed"
    OCCURRENCES_SKIPPED = "occurrences_skipped"
    OCCURRENCES_WITHDRAWN = "occurrences_withdrawn"
    OLDEST_DUE_AGE_S = "oldest_due_age_s"
    OPTIONAL_REQUESTS_FAILED = "optional_requests_failed"
    RECHECKS_LEFT = "rechecks_left"
    RELEASES_FAILED = "releases_failed"
    RUNS_RESTARTED = "runs_restarted"
    RUNS_SUSPENDED = "runs_suspended"
    RUNS_WOKEN = "runs_woken"
    SCHEDULE_SWEEPS_INCOMPLETE = "schedule_sweeps_incomplete"
    SCHEDULE_VISITS_FAILED = "schedule_visits_failed"
    SCHEDULE_VISITS_OUTDATED = "schedule_visits_outdated"
    SCHEDULES_CHANGED = "schedules_changed"
    SCHEDULES_PAUSED_BY_FAILURE = "schedules_paused_by_failure"
    SCHEDULES_VISITED = "schedules_visited"
    SEND_FAILURES = "send_failures"
    SHARDS_HANDED_OVER = "shards_handed_over"
    SKEW_MS = "skew_ms"
    SLOTS_GRANTED = "slots_granted"
    STARTS_RESERVED = "starts_reserved"
    SWEEP_FAILURES = "sweep_failures"
    TICKS = "ticks"
    TIME_TO_CLAIM_MS = "time_to_claim_ms"
    TIME_TO_FINISH_MS = "time_to_finish_ms"
    WATERMARK_LAG_S = "watermark_lag_s"
    WATERMARK_REFUSED = "watermark_refused"


_OF_JOBS = {
    Metric.DEAD_LETTERS,
    Metric.HANDLERS_UNKNOWN,
    Metric.ITEMS_NEWER,
    Metric.JOBS_REDRIVEN,
    Metric.OCCURRENCES_SKIPPED,
    Metric.OCCURRENCES_WITHDRAWN,
    Metric.OPTIONAL_REQUESTS_FAILED,
    Metric.RELEASES_FAILED,
    Metric.RUNS_WOKEN,
    Metric.SEND_FAILURES,
    Metric.SLOTS_GRANTED,
}
_OF_SCHEDULES = {
    Metric.OCCURRENCES_ADOPTED,
    Metric.OCCURRENCES_MADE,
    Metric.OCCURRENCES_MISSED,
    Metric.SCHEDULE_VISITS_OUTDATED,
    Metric.SCHEDULES_CHANGED,
    Metric.SCHEDULES_PAUSED_BY_FAILURE,
}
_OF_RECOVERY = {Metric.ATTEMPTS_LOST, Metric.JOBS_EXPIRED}

MEASURED_BY: Mapping[str, frozenset[Metric]] = {
    "api": frozenset(
        {Metric.JOBS_DISCARDED, Metric.JOBS_SUBMITTED, Metric.JOBS_WOKEN} | _OF_JOBS | _OF_SCHEDULES
    ),
    "scheduler": frozenset(
        {
            Metric.DEAD_JOBS,
            Metric.ELECTION_MS,
            Metric.ELECTIONS_FOLLOWED,
            Metric.ELECTIONS_WON,
            Metric.HAND_OFF_MS,
            Metric.HAND_OFFS,
            Metric.HANDLERS_PAUSED,
            Metric.JOBS_DISPATCHED,
            Metric.JOBS_DISPATCHED_AGAIN,
            Metric.JOBS_WOKEN,
            Metric.LEASE_HELD_MS,
            Metric.LEASES_LOST,
            Metric.MARKS_REFUSED,
            Metric.RECHECKS_LEFT,
            Metric.OLDEST_DUE_AGE_S,
            Metric.SCHEDULE_SWEEPS_INCOMPLETE,
            Metric.SCHEDULE_VISITS_FAILED,
            Metric.SCHEDULES_VISITED,
            Metric.SHARDS_HANDED_OVER,
            Metric.SKEW_MS,
            Metric.SWEEP_FAILURES,
            Metric.TICKS,
            Metric.WATERMARK_LAG_S,
            Metric.WATERMARK_REFUSED,
        }
        | _OF_JOBS
        | _OF_SCHEDULES
        | _OF_RECOVERY
    ),
    "worker": frozenset(
        {
            Metric.ATTEMPTS_STARTED,
            Metric.ATTEMPTS_TO_BE_RETRIED,
            Metric.CHILDREN_NOT_STARTED,
            Metric.COMMITS_REFUSED,
            Metric.DUPLICATES_DROPPED,
            Metric.DUPLICATES_HIDDEN,
            Metric.HANDLERS_STUCK,
            Metric.IDEMPOTENT_REPLAYS,
            Metric.JOBS_DEAD,
            Metric.JOBS_PARKED,
            Metric.JOBS_SKIPPED,
            Metric.LATENESS_MS,
            Metric.MESSAGES_FAILED,
            Metric.MESSAGES_FOREIGN,
            Metric.RUNS_RESTARTED,
            Metric.RUNS_SUSPENDED,
            Metric.STARTS_RESERVED,
            Metric.NOT_BEGUN_FOR_TIME,
            Metric.TIME_TO_CLAIM_MS,
            Metric.TIME_TO_FINISH_MS,
        }
        | _OF_JOBS
        | _OF_RECOVERY
    ),
}
"""Which function measures what: for dashboards and alarms, which ask by ``service``.

A duplicate rate is `Metric.DUPLICATES_DROPPED` to `Metric.ATTEMPTS_STARTED`, both the worker's.
`Metric.TICKS` comes once with each tick that led. So do the gauges `Metric.DEAD_JOBS` (exact up to
1,000), `Metric.OLDEST_DUE_AGE_S` and `Metric.WATERMARK_LAG_S`, unless they are zero. The gauge
`Metric.SKEW_MS` comes with every invocation of the scheduler whose probe was answered, unless it is
zero.
"""


def service_name(installation: str, function: str) -> str:
    """Return the ``service`` of a function's logs and metrics: ``hourhand-dev-worker``.

    Two deployments in one account and Region have two names, so their metrics do not mix.
    """
    return f"{installation}-{function}"


class TracingNotInstalled(HourhandError):
    """Tracing was asked for, and the X-Ray SDK is not installed."""

    code = "tracing_not_installed"


class PowertoolsTelemetry:
    """Implements the port `Telemetry`. Safe to use from several threads.

    ``service``, the `service_name` of ``installation`` and ``function`` (``api``, ``scheduler``,
    ``worker``), is a field of every line and the dimension of every metric. `flush` must be called
    at the end of an invocation. The worker's takes handlers' own lines, too: their logger,
    `hourhand.handlers.JOB_LOGGER`, is below its.
    """

    def __init__(
        self,
        function: str,
        *,
        installation: str = INSTALLATION,
        writes_metrics: bool = True,
        level: int = logging.INFO,
        stream: TextIO | None = None,
    ) -> None:
        """Write to ``stream``, by default standard output as it is now.

        Not as it is later: a handler may redirect or close it. Without ``writes_metrics`` only
        lines of the log are written: CloudWatch charges for each metric.
        """
        self._stream = sys.stdout if stream is None else stream
        service = service_name(installation, function)
        logger = _json_logger(f"hourhand.{function}", service, level, self._stream)
        self._lines = JobLogger(logger, {})
        self._writes_metrics = writes_metrics
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
        """Log what an operator should look at."""
        self._lines.warning(sentence, stacklevel=2, **fields)

    def count(self, metric: str, value: float = 1) -> None:
        """Add to a counter."""
        self._add(metric, "Count", value)

    def observe(self, metric: str, value: float, unit: str = "Milliseconds") -> None:
        """Record a measurement; ``unit`` is one of CloudWatch's."""
        self._add(metric, unit, value)

    def gauge(self, metric: str, value: float, unit: str) -> None:
        """Record how much there is of something. Zero is not written: each metric is paid for.

        Alarms and dashboard read a gauge that a tick left out as zero.
        """
        if value != 0:
            self._add(metric, unit, value)

    def flush(self) -> None:
        """Write out the metrics that are held; those that cannot be written are lost, and logged.

        Raises nothing: what was measured is done, and must not be done again for its metrics.
        """
        with self._lock:
            self._write_metrics()

    def _add(self, metric: str, unit: str, value: float) -> None:
        if not self._writes_metrics:
            return
        with self._lock:
            self._metrics.add_metric(name=metric, unit=unit, value=value)
            self._values += 1
            if self._values >= MAX_VALUES:
                self._write_metrics()

    def _write_metrics(self) -> None:
        if self._values == 0:
            return
        try:
            line = json.dumps(self._metrics.serialize_metric_set(), separators=(",", ":"))
            # A handler may have closed our stream; CloudWatch reads the other one, too.
            stream = sys.__stderr__ if self._stream.closed else self._stream
            if stream is not None:
                stream.write(line + "\n")
                stream.flush()
        except Exception as error:  # noqa: BLE001 - metrics are worth no message and no tick
            self._lines.warning("Metrics could not be written.", reason=type(error).__name__)
        finally:
            self._metrics.clear_metrics()
            self._values = 0


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


def _json_logger(name: str, service: str, level: int, stream: TextIO) -> logging.Logger:
    """Return the logger ``name``, writing JSON to ``stream`` and nowhere else."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        LambdaPowertoolsFormatter(
            service=service, utc=True, use_rfc3339=True, serialize_stacktrace=False
        )
    )
    logger = logging.getLogger(name)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logger.setLevel(level)
    return logger
