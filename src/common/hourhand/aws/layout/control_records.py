"""The records of the control table as JSON: read and changed as wholes, so kept as wholes."""

from __future__ import annotations

import json

from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.ticks.unmarked_dispatch import SentWindow
from hourhand.domain.ticks.watermark import OpenBucket, Resweep, Watermark
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.control_store import TickRecord


def shard_map_to_json(shard_map: ShardMap) -> str:
    """Return the versions as pairs of first bucket and count, oldest first."""
    return canonical_json([[v.from_bucket, v.count] for v in shard_map.versions])


def shard_map_from_json(record: str) -> ShardMap:
    """Read what `shard_map_to_json` wrote."""
    return ShardMap(tuple(ShardMapVersion(first, count) for first, count in json.loads(record)))


def watermark_to_json(state: Watermark) -> str:
    """Return the whole state, the same text for equal states.

    Open buckets are triples: bucket, last read, empty since (both in ms).
    """
    opened = [
        [bucket, to_ms(was.read_at), to_ms(was.empty_since) if was.empty_since else None]
        for bucket, was in sorted(state.open.items())
    ]
    return canonical_json(
        {
            "low": state.low,
            "candidate": state.candidate,
            "candidate_ms": to_ms(state.candidate_at) if state.candidate_at else None,
            "open": opened,
            "deep_next": state.deep_next,
            "map_version": state.shard_map_version,
            **({"resweep": _resweep_parts(state.resweep)} if state.resweep is not None else {}),
        },
    )


def _resweep_parts(resweep: Resweep) -> list[str | int]:
    return [resweep.id, resweep.since, resweep.until]


def watermark_from_json(record: str) -> Watermark:
    """Read what `watermark_to_json` wrote."""
    state = json.loads(record)
    candidate_ms = state["candidate_ms"]
    return Watermark(
        low=state["low"],
        candidate=state["candidate"],
        candidate_at=from_ms(candidate_ms) if candidate_ms is not None else None,
        open={
            bucket: OpenBucket(from_ms(read_ms), from_ms(empty_ms) if empty_ms else None)
            for bucket, read_ms, empty_ms in state["open"]
        },
        deep_next=state["deep_next"],
        shard_map_version=state["map_version"],
        resweep=Resweep(*state["resweep"]) if "resweep" in state else None,
    )


def tick_to_json(record: TickRecord) -> str:
    """Return what a tick found."""
    return canonical_json(
        {
            "at_ms": to_ms(record.at),
            "holder": record.holder,
            "epoch": record.epoch,
            "oldest_due_seconds": dict(record.oldest_due_seconds),
            "open_buckets": record.open_buckets,
            "skew_ms": record.skew_ms,
            **({"sent_ms": _window_ms(record.sent)} if record.sent is not None else {}),
            **({"botocore": record.botocore} if record.botocore else {}),
        },
    )


def _window_ms(window: SentWindow) -> list[int]:
    return [to_ms(window.swept_at), to_ms(window.stood_by), to_ms(window.due_until)]


def tick_from_json(record: str) -> TickRecord:
    """Read what `tick_to_json` wrote."""
    found = json.loads(record)
    return TickRecord(
        at=from_ms(found["at_ms"]),
        holder=found["holder"],
        epoch=found["epoch"],
        oldest_due_seconds={Priority(p): s for p, s in found["oldest_due_seconds"].items()},
        open_buckets=found["open_buckets"],
        skew_ms=found["skew_ms"],
        sent=SentWindow(*map(from_ms, found["sent_ms"])) if "sent_ms" in found else None,
        botocore=found.get("botocore", ""),
    )
