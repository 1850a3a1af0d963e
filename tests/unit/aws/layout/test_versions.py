"""What a newer version wrote is not read and not changed, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import hot_key
from hourhand.aws.layout.schedules import (
    WALK_KEY,
    backfill_key,
    calendar_key,
    definition_key,
    event_key,
    page_key,
    schedule_key,
)
from hourhand.aws.layout.side_item_names import LETTERS
from hourhand.aws.layout.side_items import text_key
from hourhand.aws.layout.versions import Kind, found_in, version_of
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.aws.side_item_store import DynamoSideItemStore
from hourhand.aws.table_schema import resource_name
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.job import Attempt
from hourhand.domain.jobs.pauses import HandlerPause, HandlerPauses
from hourhand.domain.jobs.transitions import heartbeat
from hourhand.domain.limits.overrides import LimitOverride, LimitOverrides
from hourhand.domain.schedules.schedule import Walk
from hourhand.domain.side_items import SideItemUpdate, SideKey
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.ticks.resweep import ResweepRequest
from hourhand.domain.ticks.watermark import Watermark
from hourhand.memory import START, RecordingTelemetry
from hourhand.ports import Found
from hourhand.ports.control_store import Lease, TickRecord
from tests.contract.schedule_makers import event_of
from tests.unit.aws.conftest import Installation
from tests.unit.aws.test_schedule_store import BACKFILL, CALENDAR, DEFINITION, SCHEDULE, page_of
from tests.world.factories import make_job, make_record

LATER = START + timedelta(days=1)
MINUTE = timedelta(minutes=1)


class Stores:
    """Every store over one installation."""

    def __init__(self, made: Installation) -> None:
        client, names = made.dynamodb, made.settings
        self.client = client
        self.telemetry = RecordingTelemetry()
        told: dict[str, Any] = {"sleep": lambda _: None, "telemetry": self.telemetry}
        self.jobs = DynamoJobStore(client, names.jobs_table, **told)
        self.side_items = DynamoSideItemStore(client, names.jobs_table)
        self.schedules = DynamoScheduleStore(client, names.schedules_table, **told)
        self.calendars = DynamoCalendarStore(client, names.schedules_table, **told)
        self.keys = DynamoIdempotencyStore(client, names.idempotency_table)
        self.control = DynamoControlStore(client, names.control_table)

    def acquire(self) -> object:
        return self.control.acquire_lease(
            "leader", "me", now=START, until=START + MINUTE, margin=MINUTE
        )


Act = Callable[[Stores], object]
ReadMany = Callable[[Stores], Found[Any, Any]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An item of a kind: how it is made, every way to read it, and every way to write it.

    Reads raise `WrittenByNewer`, but for those of many. A write may raise it, or be refused as by
    any other writer.
    """

    table: str
    key: dict[str, Any]
    make: Act
    reads: tuple[Act, ...]
    writes: tuple[Act, ...]
    reads_of_many: tuple[ReadMany, ...] = ()


JOB = make_job(id="job-1")
RECORD = make_record(key="k", job_id="job-1", token=1)
PAGE = page_of(1)
EVENT = event_of(START, 1)
FAILURE = Attempt(number=1, token=1, worker="w", started_at=START, finished_at=START)
RESWEEP = ResweepRequest("asked", START, START)
WATERMARK = Watermark(low=1)
PAUSES = HandlerPauses(revision=1, pauses={"greet": HandlerPause(since=START)})
OVERRIDES = LimitOverrides(revision=1, limits={"stripe": LimitOverride(max=3)})
MAP = ShardMap((*ShardMap().versions, ShardMapVersion(5, 4)))
TICK = TickRecord(at=START, holder="me", epoch=1)
DAY = timedelta(days=1)
LEASE = Lease(name="leader", holder="me", epoch=1, until=START + MINUTE, acquired_at=START)


def make_text(stores: Stores) -> None:
    stores.jobs.put(JOB)
    stores.jobs.put_text("job-1", "payload", "1", START)


def make_failure(stores: Stores) -> None:
    stores.jobs.put(JOB)
    stores.jobs.put_failure("job-1", FAILURE, START)


SIDE_KEYS = {
    Kind.SLOTS: SideKey("l.digest.0", "G"),
    Kind.WAITER: SideKey("l.digest.0", "w.0000000000001.job-1"),
    Kind.FAIR_SHARE: SideKey("l.digest.f", "tenant"),
    Kind.RATE: SideKey("m.digest.0", "M"),
    Kind.UNIQUE_KEY: SideKey("n.digest", "N"),
    Kind.STEP: SideKey("job-1", "R#scharge"),
    Kind.WAIT: SideKey("job-1", "R#wapproved"),
    Kind.CALLBACK: SideKey("job-1", "R#kpaid"),
    Kind.CURSOR: SideKey("job-1", "R#trows"),
    Kind.CHANGE: SideKey("job-1", "R#vtwo-couriers"),
    Kind.RESET: SideKey("job-1", "R#znonce"),
    Kind.JOIN: SideKey("job-1", "R#cabc.0000"),
    Kind.DECISIONS: SideKey("job-1", "R#g"),
    Kind.VALUE: SideKey("job-1", "V#charge#1"),
    Kind.SIGNAL: SideKey("job-1", "S#approved#1"),
    Kind.QUOTA: SideKey("q.digest", "l"),
}


def side_item_case(key: SideKey) -> Case:
    """Return the case of a side item: all kinds are read and written by the same code."""
    name = next(iter(LETTERS[key.kind]))
    put = SideItemUpdate(key=key, adds={name: 1}, keep_until=LATER)
    return Case(
        table="jobs",
        key={"p": {"S": key.partition}, "s": {"S": key.sort}},
        make=lambda s: s.side_items.write_item(put),
        reads=(
            lambda s: s.side_items.read_item(key),
            lambda s: s.side_items.query_items(key.partition, prefix=key.sort, limit=1),
        ),
        writes=(
            lambda s: s.side_items.write_item(put),
            lambda s: s.side_items.write_item(SideItemUpdate(key=key, removes=(name,))),
            lambda s: s.side_items.write_item(SideItemUpdate(key=key, deletes=True)),
        ),
    )


CASES: dict[Kind, Case] = {
    **{kind: side_item_case(key) for kind, key in SIDE_KEYS.items()},
    Kind.JOB: Case(
        table="jobs",
        key=hot_key("job-1"),
        make=lambda s: s.jobs.put(JOB),
        reads=(
            lambda s: s.jobs.get("job-1"),
            lambda s: s.jobs.get_details("job-1"),
        ),
        reads_of_many=(lambda s: s.jobs.get_many(["job-1", "job-2"]),),
        writes=(
            lambda s: s.jobs.put(JOB),
            lambda s: s.jobs.transition(heartbeat(JOB, lease_until=LATER, progress=None)),
        ),
    ),
    Kind.TEXT: Case(
        table="jobs",
        key=text_key("job-1", "payload"),
        make=make_text,
        reads=(
            lambda s: s.jobs.get_text("job-1", "payload"),
            lambda s: s.jobs.get_details("job-1"),
        ),
        writes=(
            lambda s: s.jobs.put_text("job-1", "payload", "1", LATER),
            lambda s: s.jobs.extend_text("job-1", "payload", LATER),
        ),
    ),
    Kind.FAILURE: Case(
        table="jobs",
        key={"p": {"S": "job-1"}, "s": {"S": "E#000001"}},
        make=make_failure,
        reads=(lambda s: s.jobs.get_details("job-1"),),
        writes=(lambda s: s.jobs.put_failure("job-1", FAILURE, LATER),),
    ),
    Kind.SCHEDULE: Case(
        table="schedules",
        key=schedule_key("nightly"),
        make=lambda s: s.schedules.write(SCHEDULE, previous=None),
        reads=(lambda s: s.schedules.get("nightly"),),
        reads_of_many=(lambda s: s.schedules.get_many(["nightly"]),),
        writes=(
            lambda s: s.schedules.write(replace(SCHEDULE, sequence=3), previous=2),
            lambda s: s.schedules.write(SCHEDULE, previous=None),
        ),
    ),
    Kind.DEFINITION: Case(
        table="schedules",
        key=definition_key("nightly", "d1"),
        make=lambda s: s.schedules.put_definition("nightly", "d1", DEFINITION),
        reads=(lambda s: s.schedules.get_definition("nightly", "d1"),),
        reads_of_many=(lambda s: s.schedules.get_definitions([("nightly", "d1")]),),
        writes=(
            lambda s: s.schedules.put_definition("nightly", "d1", DEFINITION),
            lambda s: s.schedules.retire_definition("nightly", "d1", LATER),
        ),
    ),
    Kind.JOURNAL_PAGE: Case(
        table="schedules",
        key=page_key("nightly", PAGE),
        make=lambda s: s.schedules.put_journal_page("nightly", PAGE),
        reads=(lambda s: s.schedules.read_journal("nightly", before=None, limit=5),),
        writes=(
            lambda s: s.schedules.put_journal_page("nightly", PAGE),
            lambda s: s.schedules.delete_journal_pages("nightly", [PAGE]),
        ),
    ),
    Kind.BACKFILL: Case(
        table="schedules",
        key=backfill_key("nightly", "b1"),
        make=lambda s: s.schedules.write_backfill(BACKFILL, previous=None),
        reads=(lambda s: s.schedules.get_backfill("nightly", "b1"),),
        writes=(
            lambda s: s.schedules.write_backfill(
                replace(BACKFILL, sequence=3, write_id="w"), previous=2
            ),
        ),
    ),
    Kind.SCHEDULE_EVENT: Case(
        table="schedules",
        key={"p": {"S": "s.nightly"}, "s": event_key("nightly", EVENT)["s"]},
        make=lambda s: s.schedules.put_event("nightly", EVENT),
        reads=(lambda s: s.schedules.read_events("nightly", before=None, limit=5),),
        writes=(lambda s: s.schedules.put_event("nightly", EVENT),),
    ),
    Kind.CALENDAR: Case(
        table="schedules",
        key=calendar_key("holidays"),
        make=lambda s: s.calendars.put_calendar(CALENDAR, previous=None),
        reads=(lambda s: s.calendars.get_calendar("holidays"),),
        reads_of_many=(lambda s: s.calendars.get_calendars(["holidays"]),),
        writes=(
            lambda s: s.calendars.put_calendar(replace(CALENDAR, revision=3), previous=2),
            lambda s: s.calendars.delete_calendar("holidays", previous=2),
        ),
    ),
    Kind.WALK: Case(
        table="schedules",
        key=dict(WALK_KEY),
        make=lambda s: s.schedules.write_walk(Walk(sequence=1, write_id="w"), previous=0),
        reads=(lambda s: s.schedules.get_walk(),),
        writes=(lambda s: s.schedules.write_walk(Walk(sequence=2, write_id="x"), previous=1),),
    ),
    Kind.IDEMPOTENCY: Case(
        table="idempotency",
        key={"p": {"S": "k"}},
        make=lambda s: s.keys.begin(RECORD, now=START),
        reads=(lambda s: s.keys.begin(replace(RECORD, job_id="job-2"), now=START),),
        writes=(
            # The same attempt's, and one that is over: both could be claimed else.
            lambda s: s.keys.begin(RECORD, now=START),
            lambda s: s.keys.begin(RECORD, now=START + 1000 * DAY),
            lambda s: s.keys.finish(replace(RECORD, is_done=True)),
        ),
    ),
    Kind.LEASE: Case(
        table="control",
        key={"p": {"S": "lease.leader"}},
        make=Stores.acquire,
        reads=(lambda s: s.control.read_lease("leader"), Stores.acquire),
        writes=(
            lambda s: s.control.renew_lease(LEASE, LATER),
            lambda s: s.control.release_lease(LEASE),
        ),
    ),
    Kind.SWEEP: Case(
        table="control",
        key={"p": {"S": "sweep"}},
        make=lambda s: s.control.write_watermark(WATERMARK, previous=None),
        reads=(
            lambda s: s.control.read_watermark(),
            lambda s: s.control.read_shard_map(),
        ),
        writes=(
            lambda s: s.control.write_watermark(replace(WATERMARK, low=2), previous=WATERMARK),
            lambda s: s.control.write_shard_map(MAP, expected_version=1),
        ),
    ),
    Kind.TICK: Case(
        table="control",
        key={"p": {"S": "tick"}},
        make=lambda s: s.control.write_tick(TICK),
        reads=(lambda s: s.control.read_tick(),),
        writes=(lambda s: s.control.write_tick(replace(TICK, epoch=2)),),
    ),
    Kind.RESWEEP: Case(
        table="control",
        key={"p": {"S": "resweep"}},
        make=lambda s: s.control.write_resweep(RESWEEP, previous=None),
        reads=(lambda s: s.control.read_resweep(),),
        writes=(
            lambda s: s.control.write_resweep(replace(RESWEEP, id="another"), previous=RESWEEP),
        ),
    ),
    Kind.ID_KEY: Case(
        table="control",
        key={"p": {"S": "id-key"}},
        make=lambda s: s.control.create_secret(bytes(32)),
        reads=(lambda s: s.control.read_secret(),),
        writes=(lambda s: s.control.create_secret(bytes(range(32))),),
    ),
    Kind.PAUSES: Case(
        table="control",
        key={"p": {"S": "pauses"}},
        make=lambda s: s.control.write_pauses(PAUSES, previous=0),
        reads=(lambda s: s.control.read_pauses(),),
        writes=(lambda s: s.control.write_pauses(replace(PAUSES, revision=2), previous=1),),
    ),
    Kind.OVERRIDES: Case(
        table="control",
        key={"p": {"S": "limits"}},
        make=lambda s: s.control.write_overrides(OVERRIDES, previous=0),
        reads=(lambda s: s.control.read_overrides(),),
        writes=(lambda s: s.control.write_overrides(replace(OVERRIDES, revision=2), previous=1),),
    ),
    Kind.CALLER: Case(
        table="control",
        key={"p": {"S": "caller.@key"}},
        make=lambda s: s.control.keep_caller("@key", "alice"),
        reads=(lambda s: s.control.keep_caller("@key", "alice"),),
        writes=(lambda s: s.control.keep_caller("@key", "bob"),),
    ),
}


@pytest.fixture
def stores(installation: Installation) -> Stores:
    return Stores(installation)


def item_of(stores: Stores, case: Case) -> dict[str, Any]:
    name = resource_name("hourhand", case.table)
    item: dict[str, Any] = stores.client.get_item(TableName=name, Key=case.key)["Item"]
    return item


def set_version(stores: Stores, case: Case, version: int | None) -> dict[str, Any]:
    """Give the item a version, or none; return it."""
    change: dict[str, Any] = {"UpdateExpression": "REMOVE v"}
    if version is not None:
        change["UpdateExpression"] = "SET v = :v"
        change["ExpressionAttributeValues"] = {":v": {"N": str(version)}}
    name = resource_name("hourhand", case.table)
    stores.client.update_item(TableName=name, Key=case.key, **change)
    return item_of(stores, case)


def test_every_kind_has_a_case() -> None:
    assert set(CASES) == set(Kind)


@pytest.mark.parametrize("kind", Kind)
def test_every_item_has_the_version_of_its_layout(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    assert item_of(stores, case)["v"] == {"N": "1"}


@pytest.mark.parametrize("kind", Kind)
def test_no_read_returns_an_item_of_a_newer_version(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    for read in case.reads:
        set_version(stores, case, 1)
        read(stores)
        set_version(stores, case, 2)
        with pytest.raises(WrittenByNewer) as raised:
            read(stores)
        assert raised.value.ids
        assert "knows 1: it is left to a newer one" in raised.value.detail


MANY = [kind for kind in Kind if CASES[kind].reads_of_many]


@pytest.mark.parametrize("kind", MANY)
def test_a_read_of_many_names_counts_and_logs_what_is_newer(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    (read,) = case.reads_of_many
    known = read(stores)
    assert (len(known), known.newer, stores.telemetry.logs) == (1, frozenset(), [])
    known.require_all_known()
    set_version(stores, case, 2)
    found = read(stores)
    assert found == {}
    with pytest.raises(WrittenByNewer, match="knows 1: it is left to a newer one") as raised:
        found.require_all_known()
    assert found.newer == raised.value.ids
    (name,) = found.newer
    (line,) = stores.telemetry.warnings
    assert line.fields == {"reason": raised.value.detail, "ids": [name]}
    assert stores.telemetry.total("items_newer") == 1


@pytest.mark.parametrize("kind", Kind)
def test_no_write_changes_an_item_of_a_newer_version(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    before = set_version(stores, case, 2)
    for write in case.writes:
        with suppress(WrittenByNewer):
            write(stores)
        assert item_of(stores, case) == before


# A job and what is in the schedules table had a version from the start.
@pytest.mark.parametrize("kind", [k for k in Kind if k is not Kind.JOB])
def test_an_item_without_a_version_is_one_of_the_first(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    before = set_version(stores, case, None)
    assert version_of(before) == 1
    for read in (*case.reads, *case.reads_of_many):
        read(stores)
    for write in case.writes:
        write(stores)


def test_of_many_those_are_named_that_are_newer() -> None:
    items = [{"p": {"S": name}, "v": {"N": version}} for name, version in ("a1", "b2", "c3")]

    def id_of(item: Any) -> str:
        return str(item["p"]["S"])

    found = found_in(Kind.JOB, items, id_of, id_of, None)
    assert found == {"a": "a"}
    assert found.newer == {"b", "c"}
    with pytest.raises(WrittenByNewer, match="The job b and 1 more has version 3"):
        found.require_all_known()


def test_an_update_leaves_the_version_of_a_shared_item_as_it_is(stores: Stores) -> None:
    """Shard map and watermark are written one by one: one alone must not speak for both."""
    case = CASES[Kind.SWEEP]
    stores.control.write_shard_map(MAP, expected_version=1)
    before = set_version(stores, case, 0)
    stores.control.write_watermark(replace(WATERMARK, shard_map_version=2), previous=None)
    after = item_of(stores, case)
    assert (before["v"], after["v"]) == ({"N": "0"}, {"N": "0"})


@pytest.mark.parametrize(
    "kind",
    [
        *(Kind.SCHEDULE, Kind.BACKFILL, Kind.CALENDAR, Kind.WALK, Kind.LEASE),
        *SIDE_KEYS,
    ],
)
def test_what_a_later_release_added_survives_a_write(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    name = resource_name("hourhand", case.table)
    stores.client.update_item(
        TableName=name,
        Key=case.key,
        UpdateExpression="SET added = :a",
        ExpressionAttributeValues={":a": {"S": "later"}},
    )
    before = item_of(stores, case)
    if kind is Kind.LEASE:
        stores.control.acquire_lease(
            "leader", "other", now=LATER, until=LATER + MINUTE, margin=MINUTE
        )
    else:
        case.writes[0](stores)
    after = item_of(stores, case)
    assert after["added"] == {"S": "later"}
    assert after != before
