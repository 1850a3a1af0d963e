"""The leases of the control table: their names, and when one may be taken from its holder."""

from __future__ import annotations

from datetime import datetime, timedelta

LEADER = "leader"
"""The lease of the leader."""


def shard_lease_name(shard: int) -> str:
    """Return the name of the lease that guards one shard handed to a further invocation."""
    return f"shard.{shard}"


def may_be_taken(
    held_until: datetime, *, now: datetime, until: datetime, margin: timedelta
) -> bool:
    """Whether a lease that ends at ``held_until`` may be taken by one that would end at ``until``.

    It may once it expired by more than ``margin``. It may, too, if it lasts longer than one's own
    would, by more than ``margin``: no clock that is right made it so long, and if its holder died,
    no component could take it for as long as that clock was ahead.
    """
    is_expired = held_until < now - margin
    is_too_long = held_until > until + margin
    return is_expired or is_too_long
