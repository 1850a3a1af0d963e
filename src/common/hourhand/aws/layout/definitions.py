"""A schedule's definition as JSON: it is written once and read as a whole.

What is absent is ``None``; every other field is always written, so that a default of the model
may change without changing what is stored. The payload is kept beside the JSON, since it is JSON
itself: escaped once more it could be twice as long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from hourhand.aws.layout.exclusions import exclusion_record, read_exclusions_and_names
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import Backoff, Jitter, OnLost, Priority
from hourhand.domain.schedules.rule import DstFold, DstGap
from hourhand.domain.schedules.schedule import (
    Keep,
    Misfire,
    MisfirePolicy,
    RetryChanges,
    ScheduleDefinition,
)
from hourhand.domain.times import from_ms, to_ms


def definition_to_json(definition: ScheduleDefinition) -> str:
    """Return all of a definition but its payload; times in ms."""
    record = {
        "expressions": list(definition.expressions),
        "is_union": definition.is_union,
        "handler": definition.handler,
        "timezone": definition.timezone,
        "anchor_ms": _ms(definition.anchor),
        "dst_gap": definition.dst_gap,
        "dst_fold": definition.dst_fold,
        "exclude": [exclusion_record(exclusion) for exclusion in definition.exclude],
        "priority": definition.priority,
        "timeout_seconds": definition.timeout_seconds,
        "retention_seconds": definition.retention_seconds,
        "on_lost": definition.on_lost,
        "retry": _retry_record(definition.retry),
        "tenant": definition.tenant,
        "tags": dict(definition.tags),
        "start_ms": _ms(definition.start_at),
        "end_ms": _ms(definition.end_at),
        "jitter_seconds": definition.jitter_seconds,
        "misfire": [definition.misfire.policy, definition.misfire.window_seconds],
        "overlap": definition.overlap,
        "max_running": definition.max_running,
        "buffer_limit": definition.buffer_limit,
        "max_occurrences": definition.max_occurrences,
        "pause_on_failure": definition.pause_on_failure,
        "keep": [definition.keep.succeeded, definition.keep.failed],
    }
    return canonical_json({name: value for name, value in record.items() if value is not None})


def definition_from_json(record: str, payload_text: str) -> ScheduleDefinition:
    """Read what `definition_to_json` wrote, with the payload that was kept beside it."""
    kept = json.loads(record)
    misfire_policy, window_seconds = kept["misfire"]
    succeeded, failed = kept["keep"]
    return ScheduleDefinition(
        **{name: kept.get(name) for name in _OPTIONAL},
        **{name: kept[name] for name in _PLAIN},
        payload_text=payload_text,
        expressions=tuple(kept["expressions"]),
        anchor=_instant(kept, "anchor_ms"),
        dst_gap=DstGap(kept["dst_gap"]),
        dst_fold=DstFold(kept["dst_fold"]),
        exclude=read_exclusions_and_names(kept["exclude"]),
        priority=Priority(kept["priority"]) if "priority" in kept else None,
        on_lost=OnLost(kept["on_lost"]) if "on_lost" in kept else None,
        retry=_retry_of(kept["retry"]) if "retry" in kept else None,
        start_at=_instant(kept, "start_ms"),
        end_at=_instant(kept, "end_ms"),
        misfire=Misfire(policy=MisfirePolicy(misfire_policy), window_seconds=window_seconds),
        overlap=OverlapPolicy(kept["overlap"]),
        keep=Keep(succeeded=succeeded, failed=failed),
    )


_PLAIN = (
    *("is_union", "handler", "timezone", "tags"),
    *("jitter_seconds", "buffer_limit", "pause_on_failure"),
)
_OPTIONAL = (
    *("timeout_seconds", "retention_seconds", "tenant"),
    *("max_running", "max_occurrences"),
)


def _retry_record(retry: RetryChanges | None) -> dict[str, Any] | None:
    if retry is None:
        return None
    stated = {
        "max_attempts": retry.max_attempts,
        "backoff": retry.backoff,
        "base_seconds": retry.base_seconds,
        "max_delay_seconds": retry.max_delay_seconds,
        "jitter": retry.jitter,
    }
    return {name: value for name, value in stated.items() if value is not None}


def _retry_of(stated: Mapping[str, Any]) -> RetryChanges:
    return RetryChanges(
        max_attempts=stated.get("max_attempts"),
        backoff=Backoff(stated["backoff"]) if "backoff" in stated else None,
        base_seconds=stated.get("base_seconds"),
        max_delay_seconds=stated.get("max_delay_seconds"),
        jitter=Jitter(stated["jitter"]) if "jitter" in stated else None,
    )


def _ms(instant: datetime | None) -> int | None:
    return to_ms(instant) if instant is not None else None


def _instant(kept: Mapping[str, Any], name: str) -> datetime | None:
    return from_ms(kept[name]) if name in kept else None
