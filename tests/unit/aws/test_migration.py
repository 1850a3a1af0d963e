"""Items of older layouts are rewritten while everything runs; who works on one goes first."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.items import hot_key
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.migration import (
    FAILED,
    MAX_TOLD_FAILURES,
    MAX_TRIES,
    MIGRATED,
    RACED,
    WALKED,
    WOULD_MIGRATE,
    Found,
    Migration,
    Tally,
)
from hourhand.aws.migration_cursor import (
    Cursor,
    WalkedTable,
    cursor_text,
    first_cursor,
    read_cursor,
)
from hourhand.aws.migration_steps import STEPS, Standing, Step, Steps, key_attributes, kind_of
from hourhand.aws.table_schema import CONTROL, IDEMPOTENCY, JOBS, SCHEDULES, resource_name
from hourhand.aws.values import Item, number, text
from hourhand.aws.versions import WRITTEN, Kind
from hourhand.domain.buckets import ShardMap, ShardMapVersion
from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.model import JobStatus
from hourhand.domain.moves import request_cancel
from hourhand.domain.watermark import Watermark
from hourhand.ports import Applied
from hourhand.testing import START, FakeClock, make_job
from tests.unit.aws.conftest import Installation, Stubbed

NAMES = {table.name: resource_name("hourhand", table.name) for table in WALKED}
TWO = {**WRITTEN, Kind.JOB: 3, Kind.IDEMPOTENCY: 2}


def rename_handler(item: Item) -> Item:
    """Keep the handler under another attribute: a step that adds and removes."""
    return {**{k: v for k, v in item.items() if k != "n"}, "nn": item["n"]}


def shout(item: Item) -> Item:
    return {**item, "nn": text(item["nn"]["S"].upper())}


PLACES = [WalkedTable(NAMES[table.name], key_attributes(table)) for table in WALKED]
JOB_STEPS = (Step(Kind.JOB, 2, shout), Step(Kind.JOB, 1, rename_handler))
KEY_STEP = Step(Kind.IDEMPOTENCY, 1, lambda item: {**item, "seen": {"BOOL": True}})
ALL_STEPS = Steps([*JOB_STEPS, KEY_STEP], TWO)


class Rig:
    """An installation with some items, and migrations over it."""

    def __init__(self, made: Installation) -> None:
        self.client = made.dynamodb
        self.store = DynamoJobStore(made.dynamodb, NAMES["jobs"])
        self.clock = FakeClock()

    def put_jobs(self, count: int) -> None:
        for number_ in range(count):
            assert isinstance(self.store.put(make_job(id=f"job-{number_}")), Applied)

    def put(self, table: str, **item: Any) -> None:
        self.client.put_item(TableName=NAMES[table], Item=item)

    def items(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.scan(TableName=NAMES[table])["Items"]
        return found

    def migration(
        self, steps: Steps = ALL_STEPS, *, is_dry: bool = False, client: Any = None, **more: Any
    ) -> Migration:
        return Migration(
            client=client or self.client,
            tables=NAMES,
            clock=self.clock,
            is_dry=is_dry,
            units_per_second=more.get("units_per_second", 1e9),
            steps=steps,
        )

    def run(self, steps: Steps = ALL_STEPS, **options: Any) -> Tally:
        return last(self.migration(steps, **options).walk(Cursor()))


def last(walk: Iterator[Tally]) -> Tally:
    tally = Tally()
    for tally in walk:  # noqa: B007 (the last one is wanted)
        pass
    return tally


@pytest.fixture
def rig(installation: Installation) -> Rig:
    return Rig(installation)


# --- what is done ---


def test_older_items_go_through_every_step_in_order_and_others_stay(rig: Rig) -> None:
    rig.put_jobs(3)
    rig.store.put_text("job-0", "payload", "1", START)
    rig.put("idempotency", p=text("k"), j=text("job-0"))
    texts = [item for item in rig.items("jobs") if item["s"] != text("J")]
    tally = rig.run()
    jobs = [item for item in rig.items("jobs") if item["s"] == text("J")]
    assert {(j["v"]["N"], j["nn"]["S"], "n" in j) for j in jobs} == {("3", "GREET", False)}
    assert rig.items("idempotency") == [
        {"p": text("k"), "j": text("job-0"), "seen": {"BOOL": True}, "v": number(2)}
    ]
    assert [item for item in rig.items("jobs") if item["s"] != text("J")] == texts
    assert tally.found == {
        Found("job", 1, MIGRATED): 3,
        Found("text", 1, "current"): 1,
        Found("idempotency record", 1, MIGRATED): 1,
    }
    assert tally.cursor is None
    assert rig.run().count(MIGRATED, RACED) == 0, "twice is once"


def test_a_dry_run_counts_what_it_would_do_and_writes_nothing(rig: Rig) -> None:
    rig.put_jobs(2)
    before = rig.items("jobs")
    tally = rig.run(is_dry=True)
    assert rig.items("jobs") == before
    assert tally.found == {Found("job", 1, WOULD_MIGRATE): 2}
    assert tally.write_units == 0


def test_what_is_newer_unknown_or_without_a_step_is_told_and_left(rig: Rig) -> None:
    rig.put("jobs", p=text("a"), s=text("J"), v=number(9))
    rig.put("jobs", p=text("b"), s=text("Z#?"))
    rig.put("control", p=text("of a later release"))
    rig.put("idempotency", p=text("k"))
    before = [rig.items(name) for name in NAMES]
    tally = rig.run(Steps([], TWO))
    assert [rig.items(name) for name in NAMES] == before
    assert tally.found == {
        Found("job", 9, Standing.NEWER): 1,
        Found("unknown in jobs", 1, Standing.UNKNOWN): 1,
        Found("unknown in control", 1, Standing.UNKNOWN): 1,
        Found("idempotency record", 1, Standing.NO_STEP): 1,
    }


def test_this_release_has_one_version_of_everything_and_no_step(rig: Rig) -> None:
    rig.put_jobs(1)
    assert STEPS == ()
    tally = rig.run(Steps())
    assert tally.found == {Found("job", 1, Standing.CURRENT): 1}


# --- while everything runs ---


class Meddler:
    """A client of DynamoDB before whose updates somebody else acts."""

    def __init__(self, client: Any, acts: list[Callable[[], object]]) -> None:
        self._client = client
        self._acts = acts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_item(self, **arguments: Any) -> Any:
        if self._acts:
            self._acts.pop(0)()
        return self._client.update_item(**arguments)


def cancel(rig: Rig) -> None:
    job = rig.store.get("job-0")
    assert job is not None
    move = request_cancel(job, now=START, actor="a", reason="")
    assert isinstance(rig.store.transition(move), Applied)


def test_what_somebody_wrote_meanwhile_is_kept_and_migrated_with_the_rest(rig: Rig) -> None:
    rig.store.put(make_job(id="job-0", status=JobStatus.RUNNING))
    tally = rig.run(client=Meddler(rig.client, [lambda: cancel(rig)]))
    (item,) = rig.items("jobs")
    assert tally.found == {Found("job", 1, MIGRATED): 1}
    assert item["nn"] == text("GREET")
    assert "ca" in item, "the request to cancel survived"


def test_an_item_that_changes_under_every_try_is_told_as_raced(rig: Rig) -> None:
    rig.put_jobs(1)

    def touch(number_: int) -> Callable[[], object]:
        return lambda: rig.client.update_item(
            TableName=NAMES["jobs"],
            Key=hot_key("job-0"),
            UpdateExpression="SET h = :h",
            ExpressionAttributeValues={":h": {"L": [text(str(number_))]}},
        )

    acts = [touch(n) for n in range(MAX_TRIES)]
    tally = rig.run(client=Meddler(rig.client, acts))
    assert tally.found == {Found("job", 1, RACED): 1}
    assert rig.items("jobs")[0]["v"] == number(1)
    assert rig.run().found == {Found("job", 1, MIGRATED): 1}


def test_an_item_that_is_deleted_meanwhile_does_not_come_back(rig: Rig) -> None:
    rig.put_jobs(1)

    def delete() -> None:
        rig.client.delete_item(TableName=NAMES["jobs"], Key=hot_key("job-0"))

    tally = rig.run(client=Meddler(rig.client, [delete]))
    assert tally.found == {Found("job", 1, RACED): 1}
    assert rig.items("jobs") == []


def test_an_item_that_another_migrated_first_is_done_with(rig: Rig) -> None:
    rig.put_jobs(1)
    tally = rig.run(client=Meddler(rig.client, [rig.run]))
    assert tally.found == {Found("job", 1, Standing.CURRENT): 1}
    assert rig.items("jobs")[0]["nn"] == text("GREET")


def test_an_attribute_that_appeared_is_not_overwritten(rig: Rig) -> None:
    rig.put("idempotency", p=text("k"))

    def appear() -> None:
        rig.put("idempotency", p=text("k"), seen={"BOOL": False})

    # The first try is refused; the second sees the attribute, and the step decides.
    rig.run(client=Meddler(rig.client, [appear]))
    (item,) = rig.items("idempotency")
    assert item["v"] == number(2)


def rewrite_map(item: Item) -> Item:
    """Keep the shard map in another form."""
    if "shard_map" not in item:
        return item
    return {**item, "shard_map": text("second:" + item["shard_map"]["S"])}


def test_an_attribute_that_appears_is_not_left_in_the_older_form(rig: Rig) -> None:
    """An operator makes the first other shard map between the scan and the rewrite."""
    store = DynamoControlStore(rig.client, NAMES["control"])
    store.write_watermark(Watermark(low=1), previous=None)
    grown = ShardMap((*ShardMap().versions, ShardMapVersion(5, 4)))
    steps = Steps([Step(Kind.SWEEP, 1, rewrite_map)], {**WRITTEN, Kind.SWEEP: 2})
    act = lambda: store.write_shard_map(grown, expected_version=1)  # noqa: E731 (used once)
    tally = rig.run(steps, client=Meddler(rig.client, [act]))
    (item,) = rig.items("control")
    assert tally.found == {Found("sweep", 1, MIGRATED): 1}
    assert item["shard_map"]["S"].startswith("second:")


def test_a_release_that_reads_a_version_but_does_not_write_it_yet_makes_none(rig: Rig) -> None:
    rig.put("jobs", p=text("a"), s=text("J"), v=number(1))
    rig.put("jobs", p=text("b"), s=text("J"), v=number(2))
    before = rig.items("jobs")
    tally = rig.run(Steps([], WRITTEN, {**WRITTEN, Kind.JOB: 2}))
    assert rig.items("jobs") == before
    assert tally.found == {Found("job", 1, Standing.CURRENT): 1, Found("job", 2, "current"): 1}


@pytest.mark.parametrize("version", [text("x"), number(1.5), {"BOOL": True}])
def test_an_item_without_a_readable_version_is_named_and_keeps_no_other_waiting(
    rig: Rig, version: Any
) -> None:
    rig.put_jobs(1)
    rig.put("jobs", p=text("odd"), s=text("J"), v=version)
    tally = rig.run()
    assert tally.found == {Found("job", None, Standing.UNREADABLE): 1, Found("job", 1, MIGRATED): 1}
    (failure,) = tally.failures
    assert failure.startswith("hourhand-jobs p={'S': 'odd'}, s={'S': 'J'}: the attribute v must")


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize("error", [ValueError("no such form"), KeyError("n"), TooLarge("It is.")])
def test_an_item_that_a_step_cannot_take_is_named_and_keeps_no_other_waiting(
    rig: Rig, error: Exception, is_dry: bool
) -> None:
    rig.put_jobs(MAX_TOLD_FAILURES + 2)

    def change(item: Item) -> Item:
        if item["p"] == text("job-0"):
            return item
        raise error

    tally = rig.run(Steps([Step(Kind.JOB, 1, change)], {**WRITTEN, Kind.JOB: 2}), is_dry=is_dry)
    assert tally.count(FAILED) == MAX_TOLD_FAILURES + 1
    assert tally.count(MIGRATED, WOULD_MIGRATE) == 1
    assert len(tally.failures) == MAX_TOLD_FAILURES
    assert all(type(error).__name__ in failure for failure in tally.failures)


# --- going on ---


def test_a_walk_goes_on_from_any_page_and_misses_nothing(rig: Rig) -> None:
    rig.put_jobs(210)
    walk = rig.migration().walk(Cursor())
    first = next(walk)
    assert first.cursor is not None
    assert first.count(MIGRATED) == 200
    place = read_cursor(cursor_text(first.cursor, PLACES), PLACES)
    assert place == first.cursor
    rest = last(rig.migration().walk(place))
    assert rest.count(MIGRATED) == 10
    assert rest.cursor is None


def test_segments_share_every_table_out(rig: Rig) -> None:
    rig.put_jobs(30)
    tallies = [last(rig.migration().walk(first_cursor(k, 3))) for k in range(3)]
    assert sum(tally.count(MIGRATED) for tally in tallies) == 30
    assert rig.run().count(MIGRATED) == 0


def test_units_are_bounded_on_average(stubbed: Callable[[str], Stubbed]) -> None:
    stub, clock = stubbed("dynamodb"), FakeClock()
    for _ in WALKED:
        stub.script.add_response("scan", {"Items": [], "ConsumedCapacity": {"CapacityUnits": 12.5}})
    migration = Migration(
        client=stub.client, tables=NAMES, clock=clock, is_dry=True, units_per_second=5
    )
    tally = last(migration.walk(Cursor()))
    assert tally.read_units == 50
    assert clock.now() - START == timedelta(seconds=10)


def encoded(*place: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


A_KEY = {"p": text("a"), "s": text("J")}


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "?",
        "e30",
        "²",
        cursor_text(Cursor(segment=3, segments=2), PLACES),
        encoded(0, 0, 1, None),
        encoded("hourhand-jobs", 0.5, 1, None),
        encoded("hourhand-jobs", 0, True, None),
        encoded("hourhand-jobs", 0, 1, "a"),
        encoded("hourhand-jobs", 0, 1, {"p": text("a")}),
        encoded("hourhand-jobs", 0, 1, {**A_KEY, "x": text("a")}),
        encoded("hourhand-jobs", 0, 1, {**A_KEY, "s": "J"}),
        encoded("hourhand-jobs", 0, 1, {**A_KEY, "s": {"S": 5}}),
        encoded("hourhand-jobs", 0, 1, {**A_KEY, "s": number(5)}),
        encoded("hourhand-control", 0, 1, A_KEY),
    ],
)
def test_a_cursor_that_this_command_did_not_print_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(cursor, PLACES)


def test_a_cursor_of_another_installation_is_refused() -> None:
    others = [replace(place, name=f"other-{place.name}") for place in PLACES]
    with pytest.raises(InvalidInput) as raised:
        read_cursor(cursor_text(Cursor(position=A_KEY), others), PLACES)
    assert raised.value.errors[0].message.startswith("is a place in the table other-hourhand-jobs")


# --- the steps themselves ---


def test_two_steps_of_one_version_are_refused() -> None:
    with pytest.raises(ValueError, match="two steps begin at version 1 of job"):
        Steps([JOB_STEPS[1], JOB_STEPS[1]], TWO)


@pytest.mark.parametrize("version", [0, 3])
def test_a_step_that_leads_nowhere_is_refused(version: int) -> None:
    with pytest.raises(ValueError, match=f"no step may begin at version {version} of job"):
        Steps([Step(Kind.JOB, version, shout)], TWO)


def test_a_step_may_not_move_an_item() -> None:
    steps = Steps([Step(Kind.IDEMPOTENCY, 1, lambda item: {**item, "p": text("other")})], TWO)
    with pytest.raises(ValueError, match="changed the key attribute p of a idempotency record"):
        steps.migrate(IDEMPOTENCY, Kind.IDEMPOTENCY, {"p": text("k")})


@pytest.mark.parametrize("table", [JOBS, SCHEDULES, CONTROL])
def test_a_key_of_no_known_kind_is_none(table: Any) -> None:
    assert kind_of(table, {"p": text("?"), "s": text("?")}) is None
