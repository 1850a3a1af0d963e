"""A resweep: an operator lets the sweep read buckets again that it had closed.

After a restore of the tables the watermark may stand above buckets in which restored jobs are
filed. A resweep lowers the watermark to a time: from there on every bucket is read again and is
closed by the same rule as ever (`hourhand.domain.ticks.watermark`). The request is a record of its
own, so that only the leader writes the watermark: the next tick takes the request up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.ticks.buckets import bucket_of, bucket_start
from hourhand.domain.ticks.watermark import OpenBucket, Resweep, Watermark

MAX_RESWEEP = timedelta(days=40)
"""How far back a resweep may begin: the 35 days of DynamoDB's point-in-time recovery, and five more
for the restore itself and for jobs that were overdue at the restored time."""


@dataclass(frozen=True, slots=True)
class ResweepRequest:
    """What an operator asked for: read again every bucket from that of ``since``."""

    id: str
    since: datetime
    requested_at: datetime


class ResweepState(StrEnum):
    """How far a resweep is. ``REQUESTED``: the next tick takes it up."""

    NONE = "none"
    REQUESTED = "requested"
    RUNNING = "running"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class ResweepProgress:
    """How far the last resweep is.

    Every bucket from ``since`` to before ``watermark`` was read again. It is done once the
    watermark is at ``until``, where it stood before.
    """

    state: ResweepState
    since: datetime | None = None
    requested_at: datetime | None = None
    watermark: datetime | None = None
    until: datetime | None = None


def require_since(since: datetime, now: datetime) -> None:
    """Raise `InvalidInput` for a resweep that begins in the future or too long ago."""
    if since > now:
        message = "must not be in the future"
    elif since < now - MAX_RESWEEP:
        message = (
            f"must be at most {MAX_RESWEEP.days} days ago: point-in-time recovery restores no "
            "table of more than 35 days ago"
        )
    else:
        return
    raise InvalidInput("The resweep is not valid.", errors=(FieldError("since", message),))


def is_pending(request: ResweepRequest, state: Watermark | None) -> bool:
    """Whether no tick has taken the request up."""
    return state is None or state.resweep is None or state.resweep.id != request.id


def next_request(
    current: ResweepRequest | None,
    state: Watermark | None,
    *,
    since: datetime,
    now: datetime,
    request_id: str,
) -> ResweepRequest:
    """Return the request to store: ``current`` itself if it covers ``since`` already."""
    if current is not None:
        if is_pending(current, state):
            covers = current.since <= since
        else:
            covers = state is not None and _will_read(state, since)
        if covers:
            return current
    return ResweepRequest(request_id, since, now)


def _will_read(state: Watermark, since: datetime) -> bool:
    """Whether a resweep under way has every bucket from ``since`` still before it."""
    return state.low < state.resweeps_until and state.low <= bucket_of(since)


def take_up(state: Watermark, request: ResweepRequest | None) -> Watermark:
    """Return the state with which a tick goes on; ``state`` itself if there is nothing new.

    What was seen before the request proves nothing any more: each bucket must be seen empty twice
    after it, to be closed.
    """
    if request is None or not is_pending(request, state):
        return state
    since = bucket_of(request.since)
    return replace(
        state,
        low=min(state.low, since),
        candidate=None,
        candidate_at=None,
        open={bucket: OpenBucket(was.read_at) for bucket, was in state.open.items()},
        resweep=Resweep(request.id, since, until=state.resweeps_until),
    )


def progress_of(request: ResweepRequest | None, state: Watermark | None) -> ResweepProgress:
    """Return how far the last requested resweep is."""
    if request is None:
        return ResweepProgress(ResweepState.NONE)
    watermark = bucket_start(state.low) if state is not None else None
    if state is None or state.resweep is None or is_pending(request, state):
        return ResweepProgress(
            ResweepState.REQUESTED, request.since, request.requested_at, watermark
        )
    return ResweepProgress(
        ResweepState.RUNNING if state.low < state.resweep.until else ResweepState.DONE,
        request.since,
        request.requested_at,
        watermark,
        bucket_start(state.resweep.until),
    )
