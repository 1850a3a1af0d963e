"""A version is raised in two releases: the first reads it, the second writes it.

They are played here by a second version of every kind. That of a job keeps the end of a lease
under another attribute, so that an update in the wrong version would be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import pytest

from hourhand.aws import job_store
from hourhand.aws.batches import Answered, Verdict
from hourhand.aws.failures import ConditionRefused
from hourhand.aws.layout.values import Item
from hourhand.aws.layout.versions import KNOWN, MAX_VERSION_TRIES, WRITTEN, Kind, in_its_version
from hourhand.aws.transitions import update_arguments
from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.transitions import Transition, heartbeat
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.ports.control_store import Lease
from hourhand.ports.job_store import Applied, Refused
from tests.unit.aws.conftest import Installation
from tests.unit.aws.layout.test_versions import (
    CASES,
    LATER,
    WATERMARK,
    Stores,
    item_of,
    set_version,
)
from tests.world.factories import make_job

RUNNING = make_job(id="job-1", status=JobStatus.RUNNING)
RENEWAL = heartbeat(RUNNING, lease_until=LATER, progress=None)
GROWN = ShardMap((*ShardMap().versions, ShardMapVersion(5, 4)))
CASE = CASES[Kind.JOB]


def release(patch: pytest.MonkeyPatch, *, knows: int, writes: int) -> None:
    """Be a release that has these versions of every kind."""
    for kind in Kind:
        patch.setitem(cast("dict[Kind, int]", KNOWN), kind, knows)
        patch.setitem(cast("dict[Kind, int]", WRITTEN), kind, writes)


def arguments_of_either(move: Transition, version: int | None = None) -> Mapping[str, Any]:
    arguments = update_arguments(move, version)
    update = arguments["UpdateExpression"]
    assert update.startswith("SET e = "), "only the end of the lease has another name"
    return arguments if version == 1 else {**arguments, "UpdateExpression": f"SET e{update[4:]}"}


@pytest.fixture
def stores(installation: Installation, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """Return the stores of the first of the two releases."""
    release(monkeypatch, knows=2, writes=1)
    monkeypatch.setattr(job_store, "update_arguments", arguments_of_either)
    return Stores(installation)


def test_a_version_is_written_by_the_release_that_knows_it_first_or_by_the_next() -> None:
    assert all(WRITTEN[kind] <= KNOWN[kind] <= WRITTEN[kind] + 1 for kind in Kind)


def test_the_first_release_reads_the_second_version_and_makes_the_first(stores: Stores) -> None:
    for case in CASES.values():
        case.make(stores)
        assert item_of(stores, case)["v"] == {"N": "1"}
        set_version(stores, case, 2)
        for read in case.reads:
            read(stores)
        set_version(stores, case, 3)
        for read in case.reads:
            with pytest.raises(WrittenByNewer, match="knows 2"):
                read(stores)
        set_version(stores, case, 2)


def test_the_second_release_makes_the_second(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    release(monkeypatch, knows=2, writes=2)
    for case in CASES.values():
        case.make(stores)
        assert item_of(stores, case)["v"] == {"N": "2"}


@pytest.mark.parametrize(
    "kind",
    [
        Kind.SCHEDULE,
        Kind.DEFINITION,
        Kind.JOURNAL_PAGE,
        Kind.BACKFILL,
        Kind.CALENDAR,
        Kind.WALK,
        Kind.IDEMPOTENCY,
        Kind.LEASE,
        Kind.TICK,
        Kind.RESWEEP,
    ],
)
def test_a_write_of_a_whole_record_tells_its_own_version(stores: Stores, kind: Kind) -> None:
    case = CASES[kind]
    case.make(stores)
    before = set_version(stores, case, 2)
    case.writes[0](stores)
    after = item_of(stores, case)
    assert (before["v"], after["v"]) == ({"N": "2"}, {"N": "1"})


# --- updates of some attributes -------------------------------------------------------------------


def changed_by_renewal(stores: Stores, version: int) -> set[str]:
    """Renew the lease of a job that has ``version`` by then; return what changed."""
    stores.jobs.put(RUNNING)
    before = set_version(stores, CASE, version)
    assert isinstance(stores.jobs.transition(RENEWAL), Applied)
    after = item_of(stores, CASE)
    assert after["v"] == before["v"]
    return {name for name in {*before, *after} if before.get(name) != after.get(name)}


@pytest.mark.parametrize("writes", [1, 2])
@pytest.mark.parametrize(("version", "changed"), [(1, {"e"}), (2, {"ee"})])
def test_a_move_is_made_in_the_version_that_its_job_has_by_then(
    stores: Stores,
    monkeypatch: pytest.MonkeyPatch,
    writes: int,
    version: int,
    changed: set[str],
) -> None:
    """The version that it was read in does not matter: it may change before the write."""
    release(monkeypatch, knows=2, writes=writes)
    assert changed_by_renewal(stores, version) == changed


def test_a_move_on_a_newer_job_is_not_made(stores: Stores) -> None:
    stores.jobs.put(RUNNING)
    before = set_version(stores, CASE, 3)
    with pytest.raises(WrittenByNewer):
        stores.jobs.transition(RENEWAL)
    assert item_of(stores, CASE) == before


def test_a_move_that_does_not_hold_is_refused_in_either_version(stores: Stores) -> None:
    stores.jobs.put(RUNNING)
    lost = heartbeat(replace(RUNNING, token=9), lease_until=LATER, progress=None)
    for version in (1, 2):
        set_version(stores, CASE, version)
        answer = stores.jobs.transition(lost)
        assert isinstance(answer, Refused)
        assert answer.current == RUNNING


def test_a_member_of_a_batch_that_another_version_refused_is_made_by_itself(
    stores: Stores, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores.jobs.put(RUNNING)
    item = set_version(stores, CASE, 2)
    refused = [Answered(Verdict.REFUSED, item)]
    monkeypatch.setattr(job_store, "write_in_batches", lambda *_: refused)
    name = installation.settings.jobs_table
    batches = job_store.DynamoJobStore(installation.dynamodb, name, batch_marks=True)
    assert batches.transition_many([RENEWAL]) == [True]
    assert "ee" in item_of(stores, CASE)


@pytest.mark.parametrize("writes", [1, 2])
@pytest.mark.parametrize("version", [1, 2])
def test_shard_map_and_watermark_keep_the_version_that_they_share(
    stores: Stores, monkeypatch: pytest.MonkeyPatch, version: int, writes: int
) -> None:
    release(monkeypatch, knows=2, writes=writes)
    case = CASES[Kind.SWEEP]
    case.make(stores)
    set_version(stores, case, version)
    assert stores.control.write_shard_map(GROWN, expected_version=1)
    later = replace(WATERMARK, low=2, shard_map_version=2)
    assert stores.control.write_watermark(later, previous=WATERMARK)
    assert item_of(stores, case)["v"] == {"N": str(version)}


def test_a_lease_that_got_another_version_is_renewed_as_a_whole(stores: Stores) -> None:
    case = CASES[Kind.LEASE]
    lease = cast("Lease", stores.acquire())
    set_version(stores, case, 2)
    renewed = stores.control.renew_lease(lease, LATER)
    assert renewed == stores.control.read_lease("leader")
    assert item_of(stores, case)["v"] == {"N": "1"}
    set_version(stores, case, 2)
    assert stores.control.release_lease(replace(lease, until=LATER))
    assert set(item_of(stores, case)) == {"p", "v", "epoch"}


def test_an_item_that_changes_its_version_at_every_try_is_given_up(stores: Stores) -> None:
    tried: list[int] = []

    def update(version: int) -> ConditionRefused:
        tried.append(version)
        return ConditionRefused({"v": {"N": str(3 - version)}})

    with pytest.raises(Unavailable, match="The job changed its version during every try"):
        in_its_version(Kind.JOB, update)
    assert tried == [1, 2, 1]
    assert len(tried) == MAX_VERSION_TRIES


@pytest.mark.parametrize("item", [None, {"v": {"N": "1"}}, {}, {"v": {"N": "3"}}])
def test_a_refusal_by_no_other_version_is_not_tried_again(
    stores: Stores, item: Item | None
) -> None:
    refusals = [ConditionRefused(item)]
    update: Callable[[int], Any] = lambda _: refusals.pop()  # noqa: E731 (used once)
    assert in_its_version(Kind.JOB, update) == ConditionRefused(item)
