"""The shards of a limit above 20: how its slots are divided, and where a job looks for one.

Shares are filled from the first shard on. Workers that see two values of ``max`` at once, while a
number changes, so never admit more jobs than the larger of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from hourhand.domain.ids import digest10

MAX_SLOT_SHARDS_BYTES = 8
"""What the shards of three limits, and of the limit of a group, take of a job's item."""

SLOTS_A_SHARD = 20
"""So many holders fit in one record below 1,024 bytes: each write costs one unit."""


def shard_count(limit_max: int) -> int:
    """Return how many shards a limit of ``limit_max`` slots has; one even without a slot."""
    return max(1, -(-limit_max // SLOTS_A_SHARD))


def share_of(shard: int, limit_max: int) -> int:
    """Return how many slots a shard has; 0 for one that no longer exists."""
    return min(max(limit_max - shard * SLOTS_A_SHARD, 0), SLOTS_A_SHARD)


def shards_to_try(job_id: str, limit_max: int) -> tuple[int, ...]:
    """Return the one or two shards at which a job asks first, drawn by its id.

    Two slots are drawn of all, so a shard with a smaller share is drawn less often.
    """
    if shard_count(limit_max) == 1:
        return (0,)
    draw = int.from_bytes(digest10("shard", job_id))
    high, low = divmod(draw, limit_max)
    first, second = low // SLOTS_A_SHARD, high % limit_max // SLOTS_A_SHARD
    return (first,) if first == second else (first, second)


def other_shard(job_id: str, generation: int, shard: int, limit_max: int) -> int | None:
    """Return the shard whose queue a job asks that ends and finds none on its own; drawn.

    ``None``: there is no other one.
    """
    count = shard_count(limit_max)
    if count == 1:
        return None
    drawn = int.from_bytes(digest10("other shard", job_id, str(generation))) % (count - 1)
    return drawn if drawn < shard else drawn + 1


def pack_shards(shards: Mapping[int, int]) -> bytes | None:
    """Return in which shard a job holds its slot of each limit, by the limit's position.

    ``None`` where no limit of the job has several: two bytes for each that has.
    """
    return bytes(byte for pair in sorted(shards.items()) for byte in pair) or None


def unpack_shards(packed: bytes | None) -> Mapping[int, int]:
    """Read what `pack_shards` wrote."""
    packed = packed or b""
    return dict(zip(packed[::2], packed[1::2], strict=True))
