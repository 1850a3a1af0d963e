"""The limits of one job: each with the digest of its key, in the order in which all jobs take them.

A job stores only what its own fields do not give: a digest for each limit whose key is in its
payload, and for the limit whose key a submission chose (`StoredKeys`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.groups.overlap import NO_LIMIT, Overlap, OverlapPolicy
from hourhand.domain.ids import DIGEST10_BYTES, digest10, digest_text
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import ChosenLimit, WaitKind
from hourhand.domain.limits.declarations import (
    MAX_LIMITS,
    MIN_COST,
    Concurrency,
    Holds,
    Limit,
    OnFull,
    Rate,
    limit_ids,
    limit_names,
)
from hourhand.domain.limits.keys import KeyFields, KeyPath, KeySource, key_digest, parse_key_path

OVERLAP_POSITION = MAX_LIMITS
"""The position of the limit of a job's group, behind those of its handler."""

_ON_FULL = {
    OverlapPolicy.SKIP: OnFull.SKIP,
    OverlapPolicy.ALLOW: OnFull.SKIP,
    OverlapPolicy.BUFFER_ONE: OnFull.WAIT,
    OverlapPolicy.BUFFER_ALL: OnFull.WAIT,
    OverlapPolicy.CANCEL_OTHER: OnFull.CANCEL_RUNNING,
}

_HEADER_BYTES = 2

MAX_STORED_KEYS_BYTES = _HEADER_BYTES + MAX_LIMITS * DIGEST10_BYTES
"""32 bytes: what all stored keys take of a job's item."""


@dataclass(frozen=True, slots=True)
class NamedLimit:
    """A limit as the jobs of a handler, or one that named it, have it.

    ``id``: as `limit_ids` says. ``key``: its own key path, or the one that a submission gave in its
    place.
    """

    id: str
    name: str
    limit: Limit
    key: str

    @property
    def path(self) -> KeyPath:
        """The ``key`` as it was parsed."""
        return parse_key_path(self.key)

    @property
    def divides(self) -> bool:
        """Whether the limit comes among those with keys, in the one order of all jobs.

        Its declaration decides, whatever key a submission gave: all jobs must agree on the order.
        """
        return self.limit.path.divides


def limits_of_handler(handler: str, limits: Sequence[Limit]) -> tuple[NamedLimit, ...]:
    """Return the limits of a handler's jobs, in the order of the decorator."""
    ids, names = limit_ids(handler, limits), limit_names(handler, limits)
    named = zip(ids, names, limits, strict=True)
    return tuple(NamedLimit(each, name, limit, limit.key) for each, name, limit in named)


def shared_limits(handlers: Iterable[Sequence[Limit]]) -> Mapping[str, Limit]:
    """Return the limits that have a name of their own, of all handlers, in the order of names."""
    found = {limit.name: limit for limits in handlers for limit in limits if limit.name is not None}
    return dict(sorted(found.items()))


def limits_chosen(
    chosen: Sequence[ChosenLimit], shared: Mapping[str, Limit]
) -> tuple[NamedLimit, ...]:
    """Return the limits that a submission named. One that no handler declares does not exist."""
    return tuple(
        NamedLimit(one.name, one.name, shared[one.name], one.key or shared[one.name].key)
        for one in chosen
        if one.name in shared
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobLimit:
    """A limit of a job, with its key.

    ``id``: as `limit_ids` says. ``position``: its place among the limits of the handler or
    submission, from 0. ``digest`` identifies the limit and the key. ``divides``: whether it comes
    before the limits that have a single key. ``text``: the key as it is shown; ``None`` where the
    limit has a single key, or where only the digest is stored. ``overlap``: the limit is that of a
    schedule's or backfill's jobs, as the job states it.
    """

    id: str
    name: str
    position: int
    limit: Limit
    digest: bytes
    divides: bool
    text: str | None = None
    overlap: Overlap | None = None

    @property
    def digest16(self) -> str:
        """The digest as the 16 characters that stand in keys of items."""
        return digest_text(self.digest)

    @property
    def place(self) -> tuple[bool, bool, bytes]:
        """Where the limit comes in the one order in which every job takes its limits.

        That of a group comes first: a job that waits for an older one holds nothing that the older
        one needs. Then come limits that divide: their queues are narrow, and a job keeps the slots
        that it has while it waits. One order for all jobs means that no two wait for each other.
        """
        return self.overlap is None, not self.divides, self.digest

    def place_in_queue(self, job: Job) -> tuple[int, int] | None:
        """Return shard and rank of a job's waiter record; ``None``: it is not parked for this."""
        waits = job.waits_for
        if waits is None or waits.kind is not WaitKind.SLOT or waits.limit != str(self.position):
            return None
        return waits.shard, waits.rank


@dataclass(frozen=True, slots=True)
class StoredKeys:
    """The digests that a job stores, by the position of their limit, from 0.

    ``fingerprint`` identifies the declarations by which the digests were made: after a deployment
    that changed them, their positions mean nothing. ``chosen``: the position of the key that the
    submission chose, which no change of the payload replaces.
    """

    digests: tuple[tuple[int, bytes], ...]
    fingerprint: int
    chosen: int | None = None

    def at(self, position: int) -> bytes | None:
        """Return the stored digest of the limit at a position."""
        return dict(self.digests).get(position)

    def packed(self) -> bytes:
        """Return them as at most 32 bytes: two of a header, then the digests.

        The first byte has a bit for each position, and above them a bit for the chosen one.
        """
        marks = sum(1 << position for position, _ in self.digests)
        if self.chosen is not None:
            marks |= 1 << MAX_LIMITS + self.chosen
        header = bytes((marks, self.fingerprint))
        return header + b"".join(digest for _, digest in self.digests)


def unpack_keys(packed: bytes) -> StoredKeys:
    """Read what `StoredKeys.packed` wrote. Raises `ValueError` for anything else."""
    marks = packed[0] if packed else 0
    positions = [n for n in range(MAX_LIMITS) if marks >> n & 1]
    chosen = [n for n in positions if marks >> MAX_LIMITS + n & 1]
    known = sum(1 << n for n in positions) + sum(1 << MAX_LIMITS + n for n in chosen)
    is_whole = len(packed) == _HEADER_BYTES + len(positions) * DIGEST10_BYTES
    if not is_whole or not positions or len(chosen) > 1 or marks != known:
        raise ValueError(f"{packed!r} are no stored keys")
    starts = range(_HEADER_BYTES, len(packed), DIGEST10_BYTES)
    digests = tuple(packed[start : start + DIGEST10_BYTES] for start in starts)
    found = tuple(zip(positions, digests, strict=True))
    return StoredKeys(found, packed[1], chosen[0] if chosen else None)


def position_of_chosen_key(limits: Sequence[NamedLimit]) -> int | None:
    """Return which limit a ``concurrency_key`` is for: the first `Concurrency` that divides.

    ``None``: there is none, so a submission cannot choose a key.
    """
    for position, named in enumerate(limits):
        if isinstance(named.limit, Concurrency) and named.divides:
            return position
    return None


def keys_to_store(
    limits: Sequence[NamedLimit], job: KeyFields, chosen_key: str | None = None
) -> bytes | None:
    """Return the keys that a job must store; ``None`` where its own fields give them all.

    ``chosen_key``: the ``concurrency_key`` of the submission. Its caller has checked that a limit
    can take it (`position_of_chosen_key`).
    """
    chosen = position_of_chosen_key(limits) if chosen_key is not None else None
    digest = None
    if chosen is not None:
        digest = key_digest(limits[chosen].id, chosen_key)
    return _pack(limits, job, chosen, digest)


def keys_after_change(
    limits: Sequence[NamedLimit], job: KeyFields, stored: bytes | None
) -> bytes | None:
    """Return what a job must store after a change of its payload. A chosen key stays."""
    keys = unpack_keys(stored) if stored is not None else None
    if keys is None or keys.chosen is None or keys.fingerprint != _fingerprint(limits):
        return _pack(limits, job, None, None)
    return _pack(limits, job, keys.chosen, keys.at(keys.chosen))


def _pack(
    limits: Sequence[NamedLimit],
    job: KeyFields,
    chosen: int | None,
    chosen_digest: bytes | None,
) -> bytes | None:
    digests = []
    for position, named in enumerate(limits):
        path = named.path
        if position == chosen and chosen_digest is not None:
            digests.append((position, chosen_digest))
        elif path.source is KeySource.PAYLOAD:
            digests.append((position, key_digest(named.id, path.value_of(job))))
    if not digests:
        return None
    return StoredKeys(tuple(digests), _fingerprint(limits), chosen).packed()


def limits_of(
    limits: Sequence[NamedLimit], job: KeyFields, stored: bytes | None
) -> tuple[JobLimit, ...]:
    """Return the limits of a job in the one order of the installation.

    A key in the payload is read from the payload only where the job stores no digest for it:
    it was submitted before a deployment added the limit.
    """
    keys = unpack_keys(stored) if stored is not None else None
    if keys is not None and keys.fingerprint != _fingerprint(limits):
        keys = None
    found = []
    for position, named in enumerate(limits):
        digest, path = keys.at(position) if keys is not None else None, named.path
        text: str | None = None
        if digest is None:
            value: Any = path.value_of(job)
            digest, text = path.digest(named.id, value), path.text(value)
        found.append(
            JobLimit(
                id=named.id,
                name=named.name,
                position=position,
                limit=named.limit,
                digest=digest,
                divides=named.divides,
                text=text,
            )
        )
    return in_order(found)


def in_order(limits: Iterable[JobLimit]) -> tuple[JobLimit, ...]:
    """Return limits in the order in which every job takes them."""
    return tuple(sorted(limits, key=lambda one: one.place))


def waits_for_group(job: Job) -> bool:
    """Whether a job is parked for a slot of its group."""
    waits = job.waits_for
    return (
        waits is not None and waits.kind is WaitKind.SLOT and waits.limit == str(OVERLAP_POSITION)
    )


def overlap_limit(overlap: Overlap) -> JobLimit:
    """Return the concurrency limit that bounds how many jobs of a group run at once.

    Its number is the job's own: no override changes it. Its name is none that a handler can give.
    """
    buffered = overlap.buffer_limit if overlap.buffer_limit < NO_LIMIT else None
    max_waiting = {OverlapPolicy.BUFFER_ONE: 1, OverlapPolicy.BUFFER_ALL: buffered}.get(
        overlap.policy
    )
    name = f"overlap:{overlap.group}"
    return JobLimit(
        id=name,
        name=name,
        position=OVERLAP_POSITION,
        limit=Concurrency(
            overlap.max_running,
            on_full=_ON_FULL[overlap.policy],
            max_waiting=max_waiting,
            holds=Holds.JOB,
        ),
        digest=digest10("overlap", overlap.group),
        divides=True,
        overlap=overlap,
    )


def cost_of(rate: Rate, job: KeyFields) -> float:
    """Return how many starts a job counts for; 1 where the payload states no positive number."""
    cost = rate.cost
    if isinstance(cost, str):
        cost = parse_key_path(cost, "cost").value_of(job)
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not cost > 0:
            return 1
    return max(cost, MIN_COST)


def require_costs(limits: Sequence[NamedLimit], job: KeyFields) -> None:
    """Refuse a payload by which a job counts for more starts than a rate has in its period.

    One such job would let all others of its key wait for longer than that. Raises `InvalidInput`.
    """
    for named in limits:
        rate = named.limit
        if not isinstance(rate, Rate) or not isinstance(rate.cost, str):
            continue
        if cost_of(rate, job) > rate.count:
            message = f"must be at most {rate.count:,}, the count of the rate limit {named.name}"
            raise InvalidInput(
                f"The job counts for too many starts: {rate.cost} {message}.",
                errors=(FieldError(rate.cost, message),),
            )


def _fingerprint(limits: Sequence[NamedLimit]) -> int:
    """Return one byte that distinguishes the keys of these limits from those of others."""
    declared = [part for named in limits for part in (named.id, named.key)]
    return digest10("keys", *declared)[0]
