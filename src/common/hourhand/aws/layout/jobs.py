"""A job as a DynamoDB item and back: short attributes, and only what differs from the default.

The tables of codecs below drive both directions and the compiler of conditions. A default is
pinned here: an absent attribute keeps its meaning even if the model's default changes one day.

Beside them an item holds:

| attribute | what |
|---|---|
| ``p``, ``s`` | the key: the job's id and `HOT_ITEM` |
| ``v`` | the version of this layout, see `hourhand.aws.layout.versions` |
| ``b``, ``k`` | ``due_at`` and ``shard``: the place in the ``run_at`` index |
| ``l``, ``c`` | ``created_at``: the place in the ``listing`` index |
| ``d`` | the place in the ``dead`` index, with ``c``; only in the state DEAD: among the unresolved
  jobs, or among those that were discarded |
| ``x``, ``y`` | ``keep_until``: seconds for TTL, rounded up, and the milliseconds that added |
| ``tr`` | ``trace_id``, unless it is the one that belongs to the job's id |
| ``ov`` | ``overlap``, see `hourhand.aws.layout.overlap_text` |
| ``op``, ``oi`` | ``previous_occurrence``, ``interval_start``: a text says how long before ``oc`` |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from typing import Any

from hourhand.aws.layout.overlap_text import overlap_text, read_overlap
from hourhand.aws.layout.values import (
    Codec,
    Item,
    Value,
    always,
    binary,
    by_field,
    distance_text,
    flag,
    keep_until_attributes,
    number,
    read_base36,
    read_binary,
    read_distance,
    read_flag,
    read_float,
    read_int,
    read_keep_until,
    read_text,
    read_time,
    text,
    time,
)
from hourhand.aws.layout.versions import Kind, require_known, version_value
from hourhand.aws.table_schema import LISTING_SHARDS
from hourhand.domain.groups.overlap import Overlap
from hourhand.domain.ids import listing_tie, trace_id_for
from hourhand.domain.jobs.history import base36, pack_event, unpack_event
from hourhand.domain.jobs.job import (
    POOL,
    Content,
    HistoryEvent,
    Job,
    JobStatus,
    Lease,
    OnLost,
    Priority,
    Progress,
)
from hourhand.domain.jobs.parents import CHUNK, ParentLink
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.jobs.waiting import ChosenLimit, Reservation, ReservedStart, WaitKind, WaitsFor
from hourhand.domain.limits.declarations import MAX_LIMITS
from hourhand.domain.limits.unique_keys import UNIQUE_DIGEST_CHARACTERS
from hourhand.domain.ticks.buckets import Entry, shard_of
from hourhand.domain.times import from_ms, to_ms

HOT_ITEM = "J"

_MS_A_DAY = 86_400_000

_WAIT_LETTERS = {
    WaitKind.SLOT: "s",
    WaitKind.TIME: "t",
    WaitKind.SIGNAL: "g",
    WaitKind.CALLBACK: "c",
    WaitKind.CHILDREN: "h",
}
_WAIT_KINDS = {letter: kind for kind, letter in _WAIT_LETTERS.items()}


def content_value(content: Content) -> Value:
    """Return a payload or result: ``=`` its text, or its size and ``+`` item or ``@`` key."""
    if content.text is not None:
        return {"S": "=" + content.text}
    if content.item is not None:
        return {"S": f"+{content.size_bytes}:{content.item}"}
    return {"S": f"@{content.size_bytes}:{content.key}"}


def read_content(value: Value) -> Content:
    """Read what `content_value` wrote."""
    kind, rest = value["S"][0], value["S"][1:]
    if kind == "=":
        return Content(size_bytes=len(rest.encode()), text=rest)
    size, _, place = rest.partition(":")
    if kind == "+":
        return Content(size_bytes=int(size), item=place)
    return Content(size_bytes=int(size), key=place)


def _progress_value(progress: Progress) -> Value:
    return {"S": json.dumps([progress.done, progress.total, progress.message])}


def _read_progress(value: Value) -> Progress:
    done, total, message = json.loads(value["S"])
    return Progress(done=done, total=total, message=message)


def _tags_value(tags: Mapping[str, str]) -> Value:
    return {"M": {key: {"S": tag} for key, tag in tags.items()}}


def _read_tags(value: Value) -> dict[str, str]:
    return {key: tag["S"] for key, tag in value["M"].items()}


def waits_for_value(waits_for: WaitsFor) -> Value:
    """Return what a job waits for: a letter, and the name; of a slot its limit, shard and rank."""
    letter = _WAIT_LETTERS[waits_for.kind]
    if waits_for.kind is not WaitKind.SLOT:
        return {"S": letter + waits_for.name}
    rank = base36(waits_for.rank)
    return {"S": f"{letter}{waits_for.limit}.{waits_for.shard}.{rank}"}


def read_waits_for(value: Value) -> WaitsFor:
    """Read what `waits_for_value` wrote."""
    letter, rest = value["S"][0], value["S"][1:]
    kind = _WAIT_KINDS[letter]
    if kind is not WaitKind.SLOT:
        return WaitsFor(kind, name=rest)
    limit, shard, rank = rest.split(".")
    return WaitsFor(kind, limit, int(shard), read_base36(rank))


def _reservation_value(reservation: Reservation) -> Value:
    """Return a reserved start time as at most 12 bytes: milliseconds, and a digit for the gates."""
    paid = sum(1 << position for position in reservation.paid)
    return {"S": f"{base36(to_ms(reservation.at))}.{paid}"}


def _read_reservation(value: Value) -> Reservation:
    at, _, paid = value["S"].partition(".")
    positions = frozenset(n for n in range(MAX_LIMITS) if int(paid) >> n & 1)
    return Reservation(from_ms(read_base36(at)), positions)


def _starts_value(starts: tuple[ReservedStart, ...]) -> Value:
    texts = (f"{one.limit}.{base36(to_ms(one.at))}.{one.is_paid:d}" for one in starts)
    return {"L": [{"S": written} for written in texts]}


def _read_starts(value: Value) -> tuple[ReservedStart, ...]:
    parts = [one["S"].split(".") for one in value["L"]]
    return tuple(
        ReservedStart(limit, from_ms(read_base36(at)), paid == "1") for limit, at, paid in parts
    )


def _limits_value(limits: tuple[ChosenLimit, ...]) -> Value:
    """Return the limits that a submission named: each its name, and ``=`` the key that it gave."""
    return {"L": [{"S": one.name + (f"={one.key}" if one.key else "")} for one in limits]}


def _read_limits(value: Value) -> tuple[ChosenLimit, ...]:
    parts = [one["S"].partition("=") for one in value["L"]]
    return tuple(ChosenLimit(name, key or None) for name, _, key in parts)


def _unique_value(unique_key: tuple[str, int]) -> Value:
    digest, incarnation = unique_key
    return {"S": f"{digest}{base36(incarnation)}"}


def _read_unique(value: Value) -> tuple[str, int]:
    digest = value["S"][:UNIQUE_DIGEST_CHARACTERS]
    return digest, read_base36(value["S"][UNIQUE_DIGEST_CHARACTERS:])


def _parent_value(parent: ParentLink) -> Value:
    """Return a parent link as text. The id of a run has no stroke, and its end is a midnight."""
    flags = "a" * parent.is_abandoned + "r" * parent.reads_results
    if parent.level > 1:
        flags += str(parent.level)
    days = to_ms(parent.kept_until) // _MS_A_DAY
    parts = (
        parent.run_id,
        base36(parent.segment) if parent.segment else "",
        parent.join_key,
        base36(parent.index),
        base36(parent.chunk) if parent.chunk != CHUNK else "",
        flags,
        base36(days),
    )
    return {"S": "|".join(parts)}


def _read_parent(value: Value) -> ParentLink:
    run_id, segment, join_key, index, chunk, flags, days = value["S"].split("|")
    return ParentLink(
        run_id=run_id,
        segment=read_base36(segment or "0"),
        join_key=join_key,
        index=read_base36(index),
        chunk=read_base36(chunk) if chunk else CHUNK,
        is_abandoned="a" in flags,
        reads_results="r" in flags,
        level=int(flags.lstrip("ar") or 1),
        kept_until=from_ms(read_base36(days) * _MS_A_DAY),
    )


def events_value(events: tuple[HistoryEvent, ...]) -> Value:
    """Return packed events as a list."""
    return {"L": [{"S": pack_event(event)} for event in events]}


def _read_events(value: Value) -> tuple[HistoryEvent, ...]:
    return tuple(unpack_event(packed["S"]) for packed in value["L"])


JOB_CODECS: Mapping[str, Codec] = by_field(
    always("id", "p", text, read_text),
    always("handler", "n", text, read_text),
    always("status", "t", text, lambda value: JobStatus(value["S"])),
    always("run_at", "r", time, read_time),
    always("payload", "i", content_value, read_content),
    always("generation", "g", number, read_int),
    always("attempt", "a", number, read_int),
    always("token", "f", number, read_int),
    always("history", "h", events_value, _read_events),
    Codec("history_dropped", "hd", number, read_int, default=0),
    Codec("last_failure", "lf", text, read_text),
    Codec("enqueued_at", "q", time, read_time),
    Codec("started_at", "j", time, read_time),
    Codec("finished_at", "z", time, read_time),
    Codec("result", "o", content_value, read_content),
    Codec("priority", "pr", text, lambda value: Priority(value["S"]), default=Priority.MEDIUM),
    Codec("queue", "qu", text, lambda value: Priority(value["S"]), default=Priority.MEDIUM),
    Codec("pool", "po", text, read_text, default=POOL),
    Codec("round", "rd", number, read_int, default=1),
    Codec("lateness_ms", "la", number, read_int),
    Codec("cancel_requested_at", "ca", time, read_time),
    Codec("discarded_at", "da", time, read_time),
    Codec("discard_note", "dn", text, read_text),
    Codec("timeout_seconds", "tm", number, read_int, default=300),
    Codec("retention_seconds", "rt", number, read_int, default=7 * 86_400),
    Codec("expires_at", "xp", time, read_time),
    Codec("on_lost", "ol", text, lambda value: OnLost(value["S"]), default=OnLost.RETRY),
    Codec("idempotency_key", "ik", text, read_text),
    Codec("body_hash", "bh", text, read_text),
    Codec("tenant", "tn", text, read_text),
    Codec("tags", "tg", _tags_value, _read_tags, default={}),
    Codec("progress", "pg", _progress_value, _read_progress),
    Codec("cursor", "cu", text, read_text),
    Codec("schedule_id", "sc", text, read_text),
    Codec("schedule_revision", "sv", number, read_int),
    Codec("schedule_incarnation", "si", number, read_int, default=0),
    Codec("occurrence", "oc", time, read_time),
    Codec("limits", "lm", _limits_value, _read_limits),
    Codec("limit_keys", "ck", binary, read_binary),
    Codec("slot_shards", "sl", binary, read_binary),
    Codec("unique_key", "nk", _unique_value, _read_unique),
    Codec("debounces", "db", number, read_int),
    Codec("superseded_at", "su", time, read_time),
    Codec("pauses_schedule", "pf", flag, read_flag, default=False),
    Codec("waits_for", "wf", waits_for_value, read_waits_for),
    Codec("reservation", "rv", _reservation_value, _read_reservation),
    Codec("run_deadline", "dl", time, read_time),
    Codec("journal_ends", "je", time, read_time),
    Codec("segment", "sg", number, read_int, default=0),
    Codec("reset", "rz", text, read_text),
    Codec("compensated_round", "cp", number, read_int),
    Codec("wake_flag", "wk", flag, read_flag),
    Codec("signals", "sn", number, read_int, default=0),
    Codec("parent", "pe", _parent_value, _read_parent),
    Codec("reserved_starts", "sr", _starts_value, _read_starts, default=()),
    Codec("payload_kept_until", "pu", time, read_time),
)

RETRY_CODECS: Mapping[str, Codec] = by_field(
    always("max_attempts", "m", number, read_int),
    Codec("backoff", "rb", text, lambda v: Backoff(v["S"]), default=Backoff.EXPONENTIAL),
    Codec("base_seconds", "rs", number, read_float, default=1.0),
    Codec("max_delay_seconds", "rm", number, read_float, default=3600.0),
    Codec("jitter", "rj", text, lambda v: Jitter(v["S"]), default=Jitter.ADDITIVE),
)

LEASE_CODECS: Mapping[str, Codec] = by_field(
    Codec("claim_id", "u", text, read_text),
    Codec("owner", "w", text, read_text),
    Codec("until", "e", time, read_time),
)

VALUES: Mapping[str, tuple[type, Mapping[str, Codec]]] = {
    "retry": (RetryPolicy, RETRY_CODECS),
    "lease": (Lease, LEASE_CODECS),
}
"""Fields that are values with fields of their own, each in an attribute: their types and codecs."""

PATH_CODECS: Mapping[str, Codec] = {
    **JOB_CODECS,
    **{
        f"{name}.{inner}": codec
        for name, (_, codecs) in VALUES.items()
        for inner, codec in codecs.items()
    },
}
"""Every codec by the path of its field, as `Job.at` takes it."""

INTERVAL_ATTRIBUTES = {"previous_occurrence": "op", "interval_start": "oi"}
"""Instants of a schedule's job that are kept by their distance from its nominal time."""

FIXED_FIELDS = frozenset({"id", "schedule_id", "occurrence"})
"""Fields that never change, so that others are kept by what they differ from them."""

_READERS = {c.attribute: (*path.rpartition(".")[::2], c.read) for path, c in PATH_CODECS.items()}
_ALWAYS_STORED = frozenset(c.attribute for c in JOB_CODECS.values() if c.is_always_stored)
_DEFAULTS = {
    "": {
        **{field.name: None for field in fields(Job) if field.name != "created_at"},
        **{c.field: c.default for c in JOB_CODECS.values()},
    },
    **{name: {c.field: c.default for c in codecs.values()} for name, (_, codecs) in VALUES.items()},
}


def hot_key(job_id: str) -> dict[str, Value]:
    """Return the key of a job's hot item."""
    return {"p": text(job_id), "s": text(HOT_ITEM)}


def job_id_of(item: Item) -> str:
    """Return the job that an item belongs to."""
    return read_text(item["p"])


def bucket_partition(bucket: int, shard: int) -> str:
    """Return the partition of the ``run_at`` index that holds one shard of a bucket."""
    return f"{bucket}.{shard}"


def entry_attributes(entry: Entry) -> dict[str, Value]:
    """Return a place in the ``run_at`` index."""
    return {"b": text(bucket_partition(entry.bucket, entry.shard)), "k": time(entry.due_at)}


def listing_partition(listing_shard: int) -> str:
    """Return one partition of the ``listing`` index."""
    return f"jobs.{listing_shard}"


def dead_partition(listing_shard: int) -> str:
    """Return one partition of the ``dead`` index: of DEAD jobs that are unresolved."""
    return f"dead.{listing_shard}"


def discarded_partition(listing_shard: int) -> str:
    """Return one partition of the ``dead`` index: of DEAD jobs that were discarded."""
    return f"discarded.{listing_shard}"


def listing_shard_of(job_id: str) -> int:
    """Return in which shard of the ``listing`` and ``dead`` indexes a job is."""
    return shard_of(job_id, LISTING_SHARDS)


def dead_attribute(job_id: str, *, is_discarded: bool = False) -> Value:
    """Return the place of a dead job in the ``dead`` index."""
    partition = discarded_partition if is_discarded else dead_partition
    return text(partition(listing_shard_of(job_id)))


def listing_sort_key(created_ms: int, tie: str) -> str:
    """Return the sort key of the listing: its order is that of `ListingPosition`."""
    return f"{created_ms:013d}.{tie}"


def _trace_attribute(job_id: str, trace_id: str | None) -> Value | None:
    if trace_id is None:
        return {"NULL": True}
    return text(trace_id) if trace_id != trace_id_for(job_id) else None


def _overlap_attribute(overlap: Overlap | None, schedule_id: str | None) -> Value | None:
    return text(overlap_text(overlap, schedule_id)) if overlap is not None else None


def _interval_attribute(instant: datetime | None, nominal: datetime | None) -> Value | None:
    """Return an instant, as its distance from the nominal time where that is known."""
    if instant is None:
        return None
    if nominal is None:
        return time(instant)
    return text(distance_text(to_ms(nominal) - to_ms(instant)))


def _read_interval(value: Value, nominal: datetime | None) -> datetime:
    if "N" in value or nominal is None:
        return read_time(value)
    return from_ms(to_ms(nominal) - read_distance(read_text(value)))


def field_attributes(job_id: str, field: str, value: Any) -> dict[str, Value | None]:
    """Return the attributes in which a job's new value of ``field`` is kept (``None``: absent).

    Raises `ValueError` for a field that never changes or changes only with others.
    """
    if field == "keep_until":
        return keep_until_attributes(value)
    if field == "trace_id":
        return {"tr": _trace_attribute(job_id, value)}
    if field == "overlap":
        return {"ov": _overlap_attribute(value, None)}
    if field in INTERVAL_ATTRIBUTES:
        return {INTERVAL_ATTRIBUTES[field]: _interval_attribute(value, None)}
    if field in VALUES:
        return _value_attributes(field, value)
    codec = PATH_CODECS.get(field)
    if codec is None or field in FIXED_FIELDS:
        raise ValueError(f"{field} cannot be written by itself")
    return {codec.attribute: codec.stored(value)}


def _value_attributes(name: str, value: Any) -> dict[str, Value | None]:
    codecs = VALUES[name][1].values()
    if value is None:
        return dict.fromkeys(codec.attribute for codec in codecs)
    return {codec.attribute: codec.stored(getattr(value, codec.field)) for codec in codecs}


def job_to_item(job: Job) -> dict[str, Value]:
    """Return the hot item of ``job``."""
    item: dict[str, Value | None] = {**hot_key(job.id), "v": version_value(Kind.JOB)}
    for codec in JOB_CODECS.values():
        item[codec.attribute] = codec.stored(getattr(job, codec.field))
    for name in VALUES:
        item.update(_value_attributes(name, getattr(job, name)))
    for field in ("keep_until", "trace_id"):
        item.update(field_attributes(job.id, field, getattr(job, field)))
    item["ov"] = _overlap_attribute(job.overlap, job.schedule_id)
    for field, attribute in INTERVAL_ATTRIBUTES.items():
        item[attribute] = _interval_attribute(getattr(job, field), job.occurrence)
    listing_shard = listing_shard_of(job.id)
    # Children are found through their run: out of the listing, a put costs a unit less.
    if job.parent is None:
        item["l"] = text(listing_partition(listing_shard))
    item["c"] = text(listing_sort_key(to_ms(job.created_at), listing_tie(job.id)))
    if job.status is JobStatus.DEAD:
        item["d"] = dead_attribute(job.id, is_discarded=not job.is_unresolved)
    if job.due_at is not None and job.shard is not None:
        item.update(entry_attributes(Entry(job.due_at, job.shard)))
    return {attribute: value for attribute, value in item.items() if value is not None}


def job_from_item(item: Item) -> Job:
    """Read a hot item; attributes that are not known are passed over.

    Raises `WrittenByNewer`, and `KeyError` for an item that is no job.
    """
    require_known(Kind.JOB, item, job_id_of(item))
    if not item.keys() >= _ALWAYS_STORED:
        raise KeyError(*(_ALWAYS_STORED - item.keys()))
    values: dict[str, dict[str, Any]] = {}
    for attribute, value in item.items():
        reader = _READERS.get(attribute)
        if reader is not None:
            name, field, read = reader
            if name not in values:
                values[name] = _DEFAULTS[name].copy()
            values[name][field] = read(value)
    found = values.pop("")
    created_ms = item["c"]["S"].partition(".")[0]
    if "b" in item:
        found["due_at"] = read_time(item["k"])
        found["shard"] = int(item["b"]["S"].partition(".")[2])
    found["keep_until"] = read_keep_until(item)
    if "ov" in item:
        found["overlap"] = read_overlap(read_text(item["ov"]), found["schedule_id"])
    for field, attribute in INTERVAL_ATTRIBUTES.items():
        if attribute in item:
            found[field] = _read_interval(item[attribute], found["occurrence"])
    trace = item.get("tr")
    found["trace_id"] = trace.get("S") if trace else trace_id_for(found["id"])
    found["created_at"] = from_ms(int(created_ms))
    for name, inner in values.items():
        found[name] = VALUES[name][0](**inner)
    return _job_of(found)


def _job_of(found: Mapping[str, Any]) -> Job:
    """Return the job of ``found``, which has every field.

    ``Job(...)`` sets one after the other past the guard of a frozen class: a third of what it
    takes to read an item, for which a sweep waits a thousand times a page.
    """
    job = object.__new__(Job)
    job.__dict__.update(found)
    return job
