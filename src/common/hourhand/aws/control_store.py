"""The control table in DynamoDB: leases, shard map, watermark, the last tick, callers.

| ``p`` | attributes |
|---|---|
| ``lease.<name>`` | ``epoch``; while it is held also ``holder``, ``until_ms``, ``acquired_ms`` and, where it was taken over, ``taken_from`` |
| ``sweep`` | ``shard_map`` (JSON) and ``map_version``, both absent in a new installation; ``watermark`` (JSON) and ``watermark_hash``, absent before the first tick |
| ``tick`` | ``tick`` (JSON); nothing else is ever put |
| ``resweep`` | ``id``, ``since_ms``, ``requested_ms``; absent before the first request |
| ``pauses`` | ``pauses`` (JSON) and ``revision``; absent before the first pause of a handler |
| ``limits`` | ``overrides`` (JSON) and ``revision``; absent before the first override of a limit |
| ``id-key`` | ``secret``: 32 random bytes, of which derived ids are made; written once |
| ``caller.<key>`` | ``caller``: the identity of a caller, which events name by the key; written once |

Shard map and watermark share one item, because a watermark may only be written while the shard
map has the version that its sweep read: one condition covers both, without a transaction, and a
map that grows in between makes the write of the watermark fail. Each write sets its own
attributes only, so that neither overwrites the other, and both in the version that the item has.

Each has ``v`` as well, see `hourhand.aws.layout.versions`. A scheduler that meets a newer lease, shard
map or watermark does not lead; a component that meets a newer shard map files no job.

The watermark has no revision number of its own: the condition compares a hash of the whole record
that the writer read. Two records with one hash are equal, so nothing is lost by it.
"""  # noqa: E501 (a table)

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from time import sleep as sleep_seconds
from typing import TYPE_CHECKING, Any

import botocore

from hourhand.aws.failures import ConditionRefused
from hourhand.aws.layout.values import Item, Value, number, read_text, read_time, text, time
from hourhand.aws.layout.versions import (
    NOT_NEWER,
    Kind,
    found_in,
    in_its_version,
    is_version,
    known_value,
    require_known,
    version_value,
)
from hourhand.aws.records import Records
from hourhand.aws.table_schema import (
    CALLER_KEYS,
    ID_KEY,
    LIMITS_KEY,
    PAUSES_KEY,
    RESWEEP_KEY,
)
from hourhand.domain.errors import Unavailable
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.pauses import NO_PAUSES, HandlerPauses
from hourhand.domain.limits.overrides import NO_OVERRIDES, LimitOverrides
from hourhand.domain.ticks.buckets import ShardMap
from hourhand.domain.ticks.leases import may_be_taken
from hourhand.domain.ticks.resweep import ResweepRequest
from hourhand.domain.ticks.watermark import Watermark, falls
from hourhand.json_dataclasses import read_record, record_text
from hourhand.ports.control_store import Lease, LeaseHeld, TickRecord

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

MAX_ACQUIRE_TRIES = 3
"""Writes to take a lease that changed since it was read."""

_SWEEP = "sweep"
_TICK = "tick"
_FIRST_MAP = 1


class DynamoControlStore:
    """Implements the port `ControlStore` on one table."""

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        *,
        sleep: Callable[[float], None] = sleep_seconds,
    ) -> None:
        """Call nothing yet. ``sleep`` waits between the tries of a batch, in seconds."""
        self._records = Records(client, table_name)
        self._sleep = sleep

    # --- leases ---

    def acquire_lease(
        self, name: str, holder: str, *, now: datetime, until: datetime, margin: timedelta
    ) -> Lease | LeaseHeld:
        """Take a lease that may be taken; see the port `ControlStore`.

        Raises `Unavailable` where others change it again and again.
        """
        item = self._read(_lease_key(name), Kind.LEASE)
        for _ in range(MAX_ACQUIRE_TRIES):
            held = _lease_of(name, item)
            if held is not None and held.holder == holder:
                # Also after a lost answer of our own: the lease is ours, under its epoch.
                lease = replace(held, until=until)
            elif held is None or may_be_taken(held.until, now=now, until=until, margin=margin):
                lease = Lease(
                    name=name,
                    holder=holder,
                    epoch=_epoch_of(item) + 1,
                    until=until,
                    acquired_at=now,
                    taken_from=held.holder if held is not None else None,
                )
            else:
                return LeaseHeld(held.holder, held.epoch, held.until)
            refused = self._take(lease, item)
            if refused is None:
                return lease
            item = refused.item or self._read(_lease_key(name), Kind.LEASE)
            if item is not None:
                require_known(Kind.LEASE, item, name)
        raise Unavailable(f"The lease {name} changed during every try to take it; try again.")

    def renew_lease(self, lease: Lease, until: datetime) -> Lease | None:
        """Extend it, if holder and epoch still stand; ``None``: it is lost."""
        renewed = replace(lease, until=until)
        answer = self._update(
            Kind.LEASE,
            _lease_key(lease.name),
            _set_lease(renewed),
            "holder = :holder AND epoch = :epoch",
            _lease_attributes(renewed),
        )
        return None if isinstance(answer, ConditionRefused) else renewed

    def release_lease(self, lease: Lease) -> bool:
        """Give it up, if holder and epoch still stand. The epoch is kept for the next holder."""
        answer = self._update(
            Kind.LEASE,
            _lease_key(lease.name),
            "SET v = :v REMOVE holder, until_ms, acquired_ms, taken_from",
            "holder = :holder AND epoch = :epoch",
            _identity(lease),
        )
        return not isinstance(answer, ConditionRefused)

    def read_lease(self, name: str) -> Lease | None:
        """Read the present lease; ``None`` if it was never taken, or was given up."""
        return _lease_of(name, self._read(_lease_key(name), Kind.LEASE))

    def _take(self, lease: Lease, seen: Item | None) -> ConditionRefused | None:
        """Write ``lease`` if the record is still as it was ``seen``."""
        values = _lease_attributes(lease)
        if seen is None:
            condition = "attribute_not_exists(p)"
        elif "holder" not in seen:
            condition = "attribute_not_exists(holder) AND epoch = :seen_epoch"
            values[":seen_epoch"] = seen["epoch"]
        else:
            condition = "holder = :seen_holder AND epoch = :seen_epoch AND until_ms = :seen_until"
            values[":seen_holder"], values[":seen_epoch"] = seen["holder"], seen["epoch"]
            values[":seen_until"] = seen["until_ms"]
        key, update = _lease_key(lease.name), _set_lease(lease)
        answer = self._update(Kind.LEASE, key, update, condition, values)
        return answer if isinstance(answer, ConditionRefused) else None

    # --- shard map and watermark ---

    def read_shard_map(self) -> ShardMap:
        """Read the shard map, strongly consistent; a new installation has one shard."""
        item = self._read(_SWEEP, Kind.SWEEP)
        if item is None or "shard_map" not in item:
            return ShardMap()
        return read_record(ShardMap, read_text(item["shard_map"]))

    def write_shard_map(self, shard_map: ShardMap, *, expected_version: int) -> bool:
        """Store a map with one more version, if it was not changed since. Whether it was stored."""
        if shard_map.version != expected_version + 1:
            return False
        return self._update_half(
            "shard_map = :map, map_version = :map_version",
            _map_has_version(expected_version),
            {
                ":map": text(record_text(ShardMap, shard_map)),
                ":map_version": number(shard_map.version),
                ":expected": number(expected_version),
            },
        )

    def read_watermark(self) -> Watermark | None:
        """Read the state of the sweep, strongly consistent."""
        item = self._read(_SWEEP, Kind.SWEEP)
        if item is None or "watermark" not in item:
            return None
        return read_record(Watermark, read_text(item["watermark"]))

    def write_watermark(self, state: Watermark, *, previous: Watermark | None) -> bool:
        """Store it, if the record is still ``previous`` and the shard map has its version."""
        record = record_text(Watermark, state)
        values = {
            ":record": text(record),
            ":hash": text(content_hash(record)),
            ":expected": number(state.shard_map_version),
        }
        if previous is None:
            is_as_read = "attribute_not_exists(watermark_hash)"
        elif falls(previous, state):
            return False
        else:
            is_as_read = "watermark_hash = :previous"
            values[":previous"] = text(content_hash(record_text(Watermark, previous)))
        return self._update_half(
            "watermark = :record, watermark_hash = :hash",
            f"{is_as_read} AND {_map_has_version(state.shard_map_version)}",
            values,
        )

    def _update_half(self, sets: str, condition: str, values: Mapping[str, Value]) -> bool:
        """Write shard map or watermark, in the version of the item that both share."""

        def update(version: int) -> Any | ConditionRefused:
            has_version = f"(attribute_not_exists(p) OR {is_version(version)})"
            return self._write(
                _SWEEP,
                f"SET v = :version, {sets}",
                f"{condition} AND {has_version}",
                {**values, ":version": number(version)},
            )

        return not isinstance(in_its_version(Kind.SWEEP, update), ConditionRefused)

    # --- requests for a resweep ---

    def read_resweep(self, *, may_lag: bool = False) -> ResweepRequest | None:
        """Read the last request for a resweep, strongly consistent unless it ``may_lag``."""
        item = self._read(RESWEEP_KEY, Kind.RESWEEP, may_lag=may_lag)
        if item is None:
            return None
        since, requested_at = read_time(item["since_ms"]), read_time(item["requested_ms"])
        return ResweepRequest(read_text(item["id"]), since, requested_at)

    def write_resweep(self, request: ResweepRequest, *, previous: ResweepRequest | None) -> bool:
        """Store a request, if the last one is still ``previous``. Whether it was stored."""
        values = {
            ":id": text(request.id),
            ":since": time(request.since),
            ":requested": time(request.requested_at),
        }
        if previous is not None:
            values[":previous"] = text(previous.id)
        answer = self._update(
            Kind.RESWEEP,
            RESWEEP_KEY,
            "SET v = :v, id = :id, since_ms = :since, requested_ms = :requested",
            "attribute_not_exists(p)" if previous is None else "id = :previous",
            values,
        )
        return not isinstance(answer, ConditionRefused)

    # --- pauses of handlers ---

    def read_pauses(self) -> HandlerPauses:
        """Read the pauses of handlers, strongly consistent; none of revision 0 at first."""
        item = self._read(PAUSES_KEY, Kind.PAUSES)
        return read_record(HandlerPauses, read_text(item["pauses"])) if item else NO_PAUSES

    def write_pauses(self, pauses: HandlerPauses, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``. Whether it was stored."""
        record = record_text(HandlerPauses, pauses)
        return self._write_revision(
            Kind.PAUSES, PAUSES_KEY, "pauses", record, pauses.revision, previous
        )

    # --- overrides of limits ---

    def read_overrides(self) -> LimitOverrides:
        """Read the overrides of limits, strongly consistent; none of revision 0 at first."""
        item = self._read(LIMITS_KEY, Kind.OVERRIDES)
        return read_record(LimitOverrides, read_text(item["overrides"])) if item else NO_OVERRIDES

    def write_overrides(self, overrides: LimitOverrides, *, previous: int) -> bool:
        """Store them, if the record still has the revision ``previous``. Whether it was stored."""
        record = record_text(LimitOverrides, overrides)
        return self._write_revision(
            Kind.OVERRIDES, LIMITS_KEY, "overrides", record, overrides.revision, previous
        )

    def _write_revision(
        self, kind: Kind, key: str, name: str, record: str, revision: int, previous: int
    ) -> bool:
        """Store a record as a whole in the place of its revision ``previous``."""
        values = {":record": text(record), ":revision": number(revision)}
        if previous:
            values[":previous"] = number(previous)
        answer = self._update(
            kind,
            key,
            f"SET v = :v, {name} = :record, revision = :revision",
            "revision = :previous" if previous else "attribute_not_exists(p)",
            values,
        )
        return not isinstance(answer, ConditionRefused)

    # --- the last tick ---

    def read_tick(self) -> TickRecord | None:
        """Read what the last tick found."""
        item = self._read(_TICK, Kind.TICK)
        return read_record(TickRecord, read_text(item["tick"])) if item is not None else None

    def write_tick(self, record: TickRecord) -> None:
        """Store what this tick found, unless a newer version recorded a tick of its own.

        This is the table's only PutItem, and the last write of a tick that led but for its lease:
        by DynamoDB's own metric, an alarm counts the ticks that led to their end.
        """
        item = {
            "p": text(_TICK),
            "v": version_value(Kind.TICK),
            "tick": text(record_text(TickRecord, replace(record, botocore=botocore.__version__))),
        }
        self._records.write(
            "PutItem",
            Item=item,
            ConditionExpression=NOT_NEWER,
            ExpressionAttributeValues={":known": known_value(Kind.TICK)},
        )

    # --- the secret of derived ids ---

    def read_secret(self) -> bytes | None:
        """Read the installation's secret; ``None`` before it is created."""
        item = self._read(ID_KEY, Kind.ID_KEY)
        return bytes(item["secret"]["B"]) if item is not None else None

    def create_secret(self, secret: bytes) -> bytes:
        """Store the installation's secret if there is none; return the one that stands.

        Raises `Unavailable` where it stands in the way of the write and cannot be read.
        """
        answer = self._update(
            Kind.ID_KEY,
            ID_KEY,
            "SET v = :v, secret = :secret",
            "attribute_not_exists(secret)",
            {":secret": {"B": secret}},
        )
        if not isinstance(answer, ConditionRefused):
            return secret
        standing = self.read_secret()
        if standing is None:
            raise Unavailable("The installation's secret was there and is now missing; try again.")
        return standing

    # --- callers ---

    def keep_caller(self, key: str, identity: str) -> str:
        """Store the identity of a caller under ``key`` if there is none; return what stands.

        It is read first, which costs less than a write that is refused: each process of the API
        asks once for each of its callers.
        """
        name = CALLER_KEYS + key
        standing = self._read(name, Kind.CALLER, may_lag=True)
        if standing is not None:
            return read_text(standing["caller"])
        answer = self._update(
            Kind.CALLER,
            name,
            "SET v = :v, caller = :caller",
            "attribute_not_exists(p)",
            {":caller": text(identity)},
        )
        if not isinstance(answer, ConditionRefused):
            return identity
        standing = answer.item or self._read(name, Kind.CALLER)
        if standing is None:
            raise Unavailable("The record of this caller was there and is now missing; try again.")
        require_known(Kind.CALLER, standing, name)
        return read_text(standing["caller"])

    def read_callers(self, keys: Sequence[str]) -> Mapping[str, str]:
        """Read identities by their keys; keys without one, or of a newer form, are left out."""
        names = [{"p": text(CALLER_KEYS + key)} for key in dict.fromkeys(keys)]
        items = self._records.read_many(names, self._sleep)
        return found_in(Kind.CALLER, items, _caller_key_of, _identity_in, None)

    # --- parts ---

    def _read(self, key: str, kind: Kind, *, may_lag: bool = False) -> Item | None:
        item = self._records.read({"p": text(key)}, is_consistent=not may_lag)
        if item is not None:
            require_known(kind, item, key)
        return item

    def _update(
        self,
        kind: Kind,
        key: str,
        update: str,
        condition: str,
        values: Mapping[str, Value],
    ) -> Any | ConditionRefused:
        """Write a record as a whole, over one of any version that is known."""
        return self._write(
            key,
            update,
            f"{condition} AND {NOT_NEWER}",
            {**values, ":known": known_value(kind), ":v": version_value(kind)},
        )

    def _write(
        self, key: str, update: str, condition: str, values: Mapping[str, Value]
    ) -> Any | ConditionRefused:
        return self._records.write(
            "UpdateItem",
            Key={"p": text(key)},
            UpdateExpression=update,
            ConditionExpression=condition,
            ExpressionAttributeValues=dict(values),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )


def _caller_key_of(item: Item) -> str:
    return read_text(item["p"]).removeprefix(CALLER_KEYS)


def _identity_in(item: Item) -> str:
    return read_text(item["caller"])


def _lease_key(name: str) -> str:
    return f"lease.{name}"


def _lease_attributes(lease: Lease) -> dict[str, Value]:
    values = {
        ":holder": text(lease.holder),
        ":epoch": number(lease.epoch),
        ":until": time(lease.until),
        ":acquired": time(lease.acquired_at),
    }
    if lease.taken_from is not None:
        values[":taken_from"] = text(lease.taken_from)
    return values


def _set_lease(lease: Lease) -> str:
    """Return the update that writes a lease as a whole."""
    update = "SET v = :v, holder = :holder, epoch = :epoch, until_ms = :until, "
    update += "acquired_ms = :acquired"
    has_loser = lease.taken_from is not None
    return update + (", taken_from = :taken_from" if has_loser else " REMOVE taken_from")


def _lease_of(name: str, item: Item | None) -> Lease | None:
    if item is None or "holder" not in item:
        return None
    return Lease(
        name=name,
        holder=read_text(item["holder"]),
        epoch=_epoch_of(item),
        until=read_time(item["until_ms"]),
        acquired_at=read_time(item["acquired_ms"]),
        taken_from=read_text(item["taken_from"]) if "taken_from" in item else None,
    )


def _epoch_of(item: Item | None) -> int:
    return int(item["epoch"]["N"]) if item is not None else 0


def _identity(lease: Lease) -> dict[str, Value]:
    return {":holder": text(lease.holder), ":epoch": number(lease.epoch)}


def _map_has_version(version: int) -> str:
    """Return the condition on ``:expected``; a map that was never written is the first."""
    if version == _FIRST_MAP:
        return "(attribute_not_exists(map_version) OR map_version = :expected)"
    return "map_version = :expected"
