"""The invariants of what leaders write: their leases, and the watermark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.ticks.watermark import Watermark, falls

APART = timedelta(seconds=2)
"""As much as the clocks of two leaders may differ."""


def judge_leases(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    writer: str,
    now: datetime,
    skews: Mapping[str, timedelta] | None,
) -> Iterator[str]:
    """Yield what a write on the leases broke; ``now`` is the true time.

    ``writer``: the holder in whose name it was made. ``skews``: how far the clocks of holders
    are ahead; ``None`` where clocks are so far off that a lease may be taken early.
    """
    for name, old in before.items():
        new = after[name]
        if old == new:
            continue
        if new.epoch < old.epoch:
            yield f"the epoch of the lease {name} fell"
        if old.lease is None or old.lease.holder == writer:
            continue
        if new.lease is None or new.epoch == old.epoch:
            yield f"{writer} wrote on the lease {name}, which {old.lease.holder} holds"
        elif skews is not None:
            shown = now + skews.get(old.lease.holder, timedelta(0))
            if shown <= old.lease.until:
                yield f"{writer} took the lease {name} while {old.lease.holder} had it in force"


def judge_watermark(before: Watermark | None, after: Watermark | None) -> Iterator[str]:
    """Yield where a write on the watermark took back what was seen since."""
    if before is None or before == after:
        return
    if after is None or falls(before, after):
        yield "the watermark fell"
        return
    if after.shard_map_version < before.shard_map_version:
        yield "the watermark went back to an older shard map"
    seen, known = after.candidate_at, before.candidate_at
    if seen is not None and known is not None and seen < known - APART:
        yield "an older look at the candidate replaced a newer one"
    for bucket in before.open.keys() & after.open.keys():
        if after.open[bucket].read_at < before.open[bucket].read_at - APART:
            yield "an older look at an open bucket replaced a newer one"
