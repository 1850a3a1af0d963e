"""Fair order between tenants: which rank a job gets that waits for a limit with ``order="fair"``.

Ranks are virtual times. The slots record keeps that of the last waiter that got a slot; each tenant
keeps when its next job would start if it had its share alone. So the jobs of a tenant that has many
stand further apart than those of one that has few: start-time fair queuing, with equal weights.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from hourhand.domain.conditions import Absent, Compares, either
from hourhand.domain.ids import short_digest
from hourhand.domain.side_items import LIMIT_PREFIX, SideItem, SideItemUpdate, SideKey

STRIDE = 1_000
"""How far the jobs of one tenant stand apart, in virtual time."""

SHARES_KEPT = timedelta(days=90)
"""How long the share of a tenant is kept after its last write."""

_NEXT = "next"


def share_key(digest16: str, tenant: str | None) -> SideKey:
    """Return the key of a tenant's share of a limit; jobs without a tenant have one, too."""
    presence = "0" if tenant is None else "1"
    return SideKey(f"{LIMIT_PREFIX}{digest16}.f", short_digest("share", presence, tenant or ""))


def share_write(
    key: SideKey, item: SideItem | None, virtual_time: int, now: datetime
) -> SideItemUpdate:
    """Return the write by which a job of a tenant gets the tenant's next place."""
    keep_until = now + SHARES_KEPT
    following = item.number(_NEXT) if item is not None else None
    if following is None or following <= virtual_time:
        return SideItemUpdate(
            key=key,
            expect=(either(Absent(_NEXT), Compares(_NEXT, "<=", virtual_time)),),
            sets={_NEXT: virtual_time + STRIDE},
            keep_until=keep_until,
        )
    return SideItemUpdate(
        key=key,
        expect=(Compares(_NEXT, ">", virtual_time),),
        adds={_NEXT: STRIDE},
        keep_until=keep_until,
    )


def rank_given(after: SideItem) -> int:
    """Return the rank of the job whose write left this share."""
    return (after.number(_NEXT) or STRIDE) - STRIDE
