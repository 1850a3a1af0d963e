"""The limits of one job: its keys, what it stores of them, and the one order of all jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.limits.declarations import (
    LIMIT_NAME,
    MAX_LIMITS,
    Concurrency,
    Holds,
    Limit,
    OnFull,
    Rate,
)
from hourhand.domain.limits.job_limits import (
    MAX_STORED_KEYS_BYTES,
    JobLimit,
    NamedLimit,
    StoredKeys,
    keys_after_change,
    keys_to_store,
    limits_of,
    limits_of_handler,
    overlap_limit,
    position_of_chosen_key,
    unpack_keys,
)
from hourhand.domain.limits.keys import KeyFields, key_digest

ACCOUNT = Concurrency(2, key="payload.account")
TENANT = Concurrency(5, key="tenant")
ALL = Concurrency(200)


def named(limits: Sequence[Limit]) -> tuple[NamedLimit, ...]:
    return limits_of_handler("sync", limits)


def fields(payload: Any = None, tenant: str | None = None) -> KeyFields:
    return KeyFields(tenant=tenant, tags={}, payload=lambda: payload)


def found(
    limits: tuple[Limit, ...], job: KeyFields, stored: bytes | None = None
) -> dict[str, JobLimit]:
    return {one.name: one for one in limits_of(named(limits), job, stored)}


def test_a_job_takes_its_limits_in_one_order_those_that_divide_first() -> None:
    job = fields({"account": 7}, "acme")
    orders = [
        [one.digest for one in limits_of(named(limits), job, None)]
        for limits in [
            (Concurrency(9, name="z"), Concurrency(9, name="a", key="tenant")),
            (Concurrency(9, name="a", key="tenant"), Concurrency(9, name="z")),
        ]
    ]
    assert orders[0] == orders[1]
    assert [one.divides for one in limits_of(named((ALL, ACCOUNT)), job, None)] == [True, False]
    several = [Concurrency(9, name=name, key="tenant") for name in ("a", "b", "c")]
    digests = [one.digest for one in limits_of(named(several), job, None)]
    assert digests == sorted(digests)


def test_a_job_stores_only_keys_that_its_other_fields_do_not_give() -> None:
    job = fields({"account": 7}, "acme")
    assert keys_to_store(named(()), job) is None
    assert keys_to_store(named((TENANT, ALL)), job) is None
    stored = keys_to_store(named((ALL, ACCOUNT, Rate(1, per=1, key="payload.b"))), job)
    assert stored is not None
    assert len(stored) == 22
    assert unpack_keys(stored).digests == (
        (1, key_digest("sync:concurrency:payload.account", 7)),
        (2, key_digest("sync:rate:payload.b", None)),
    )
    three = (ACCOUNT, ACCOUNT, ACCOUNT)
    assert len(keys_to_store(named(three), job) or b"") == MAX_STORED_KEYS_BYTES == 32


def test_stored_keys_are_taken_without_reading_the_payload() -> None:
    def unread() -> Any:
        raise AssertionError("the payload was read")

    stored = keys_to_store(named((ACCOUNT, ALL)), fields({"account": 7}))
    job = KeyFields(tenant=None, tags={}, payload=unread)
    limit = found((ACCOUNT, ALL), job, stored)["sync.1"]
    assert (limit.digest, limit.text) == (key_digest("sync:concurrency:payload.account", 7), None)
    assert limit.digest16 == found((ACCOUNT,), fields({"account": 7}))["sync.1"].digest16
    assert len(limit.digest16) == 16


def test_a_job_from_before_a_deployment_is_judged_by_its_payload() -> None:
    job = fields({"account": 7, "b": 8})
    stored = keys_to_store(named((Concurrency(1, key="payload.b"),)), job)
    assert found((ACCOUNT,), job, stored)["sync.1"].digest == key_digest(
        "sync:concurrency:payload.account", 7
    )
    assert found((ACCOUNT,), job)["sync.1"].text == "7"


def test_a_chosen_key_replaces_that_of_the_first_concurrency_limit_that_divides() -> None:
    limits = (Rate(1, per=1, key="tenant"), ALL, TENANT)
    job = fields(tenant="acme")
    stored = keys_to_store(named(limits), job, "vip")
    by_name = found(limits, job, stored)
    assert by_name["sync.3"].digest == key_digest("sync:concurrency:tenant", "vip")
    assert by_name["sync.1"].digest == key_digest("sync:rate:tenant", "acme")
    by_payload = found((ACCOUNT,), fields({"account": "vip"}))
    by_choice = found((ACCOUNT,), fields(), keys_to_store(named((ACCOUNT,)), fields(), "vip"))
    assert by_payload["sync.1"].digest == by_choice["sync.1"].digest


def test_a_change_of_the_payload_gives_new_keys_except_for_a_chosen_one() -> None:
    limits = (ACCOUNT, Concurrency(1, key="payload.b"))
    before, after = fields({"account": 1, "b": 2}), fields({"account": 3, "b": 4})
    plain = keys_to_store(named(limits), before)
    assert keys_after_change(named(limits), after, plain) == keys_to_store(named(limits), after)
    chosen = keys_to_store(named(limits), before, "vip")
    assert keys_after_change(named(limits), after, chosen) == keys_to_store(
        named(limits), after, "vip"
    )
    other = keys_to_store(named((ALL, ACCOUNT)), before, "vip")
    assert keys_after_change(named(limits), after, other) == keys_to_store(named(limits), after)
    assert keys_after_change(named(()), after, chosen) is None
    assert keys_after_change(named((TENANT,)), after, None) is None


@pytest.mark.parametrize(
    ("limits", "position"),
    [
        ((), None),
        ((ALL, Concurrency(1, key="word")), None),
        ((Rate(1, per=1, key="tenant"),), None),
        ((ALL, TENANT, ACCOUNT), 1),
    ],
)
def test_only_a_concurrency_limit_that_divides_takes_a_chosen_key(
    limits: tuple[Limit, ...], position: int | None
) -> None:
    assert position_of_chosen_key(named(limits)) == position


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"\x01",
        b"\x00\x00",
        b"\x01\x00short",
        b"\x08\x00" + b"x" * 10,
        b"\x11\x00" + b"x" * 10,
        b"\x1b\x00" + b"x" * 20,
        b"\x41\x00" + b"x" * 10,
    ],
)
def test_other_bytes_are_no_stored_keys(packed: bytes) -> None:
    with pytest.raises(ValueError, match="are no stored keys"):
        unpack_keys(packed)


def test_packed_keys_are_read_back() -> None:
    keys = StoredKeys(((0, b"a" * 10), (2, b"c" * 10)), 77)
    assert unpack_keys(keys.packed()) == keys
    chosen = StoredKeys(keys.digests, 77, 2)
    assert unpack_keys(chosen.packed()) == chosen
    assert (keys.at(2), keys.at(1)) == (b"c" * 10, None)


@pytest.mark.parametrize(
    ("policy", "on_full", "max_waiting"),
    [
        (OverlapPolicy.SKIP, OnFull.SKIP, None),
        (OverlapPolicy.ALLOW, OnFull.SKIP, None),
        (OverlapPolicy.BUFFER_ONE, OnFull.WAIT, 1),
        (OverlapPolicy.BUFFER_ALL, OnFull.WAIT, 7),
        (OverlapPolicy.CANCEL_OTHER, OnFull.CANCEL_RUNNING, None),
    ],
)
def test_the_overlap_of_a_group_is_a_limit_under_which_a_job_holds_its_slot_to_its_end(
    policy: OverlapPolicy, on_full: OnFull, max_waiting: int | None
) -> None:
    overlap = Overlap(group="nightly", policy=policy, max_running=3, buffer_limit=7)
    limit = overlap_limit(overlap)
    assert limit.limit == Concurrency(3, on_full=on_full, max_waiting=max_waiting, holds=Holds.JOB)
    assert limit.overlap == overlap


def test_each_group_has_slots_of_its_own_whatever_its_jobs_say() -> None:
    groups = [
        overlap_limit(Overlap(group=group, policy=policy, max_running=most)).digest
        for group in ("nightly", "nightly.b1", "hourly")
        for policy in (OverlapPolicy.SKIP, OverlapPolicy.BUFFER_ALL)
        for most in (1, 2)
    ]
    assert len(set(groups)) == 3


def test_the_limit_of_a_group_is_none_that_a_handler_can_name() -> None:
    limit = overlap_limit(Overlap(group="nightly"))
    assert not LIMIT_NAME.fullmatch(limit.name)
    assert limit.position == MAX_LIMITS
