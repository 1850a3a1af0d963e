"""Ids and keys: no two inputs share one, and none can smuggle in a separator."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from hourhand.domain.ids import (
    JOB_ID,
    OWN_ID,
    canonical_json,
    content_hash,
    idempotency_record_key,
    job_id_for_key,
    length_prefixed,
    listing_tie,
    message_group,
    occurrence_job_id,
    random_job_id,
    trace_id_for,
)
from hourhand.memory import FAKE_SECRET
from tests.unit.domain.job_samples import NOW

PAIRS = [
    (None, "key"),
    ("", "key"),
    ("t", "key"),
    ("tk", "ey"),
    ("t:", "key"),
    ("0", "key"),
    ("1", "key"),
    ("t", "3:key"),
    ("1:t", "key"),
    ("t\0", "key"),
    ("T", "key"),
    ("t", "key "),
]


def test_parts_carry_their_length_in_bytes() -> None:
    assert length_prefixed("ab", "", "ü") == "2:ab0:2:ü".encode()
    assert length_prefixed() == b""


def test_every_tenant_and_key_has_an_id_of_its_own() -> None:
    assert len({job_id_for_key(FAKE_SECRET, *pair) for pair in PAIRS}) == len(PAIRS)
    assert len({idempotency_record_key(*pair) for pair in PAIRS}) == len(PAIRS)


def test_the_same_tenant_and_key_have_the_same_id_for_ever() -> None:
    # Reckoned by other tools: a release that changed it would run every repeated key anew.
    assert job_id_for_key(FAKE_SECRET, "acme", "order-1") == "k.vgt42dvuc43yxajyqzokx6o36eeutqyv"
    assert idempotency_record_key("acme", "order-1") == "f3aapr72mgep6piubkvka6u2ralwn7jq"


@pytest.mark.parametrize("own", ["a", "A-b_9", "x" * 100])
def test_what_a_caller_may_choose_is_a_job_id(own: str) -> None:
    assert OWN_ID.fullmatch(own)
    assert JOB_ID.fullmatch(own)


@pytest.mark.parametrize("own", ["", "x" * 101, "a.b", "a b", "a/b", "a\n", "é", "k." + "a" * 32])
def test_what_a_caller_may_not_choose(own: str) -> None:
    assert not OWN_ID.fullmatch(own)


def test_a_random_id_is_nine_characters_of_time_and_twelve_of_chance() -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert random_job_id(epoch, 0) == random_job_id(epoch, 1 << 60) == "0" * 21, "of 60 bits"
    assert random_job_id(epoch + timedelta(milliseconds=33), 31) == "000000011" + "00000000000z"


def test_no_two_tenants_share_a_message_group_and_none_is_for_jobs_without() -> None:
    tenants = ["", "acme", "t.acme", "default", "p.default", "pool.default", "h.x", "ü", "a\n"]
    tenants += ["a" * 100, "a" * 101]
    groups = {message_group(tenant) or "" for tenant in tenants}
    assert len(groups) == len(tenants)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{1,128}", group) for group in groups), "by SQS"
    assert message_group(None) is None


def test_a_trace_id_is_w3c_and_the_jobs_own() -> None:
    assert re.fullmatch(r"[0-9a-f]{32}", trace_id_for("job-1"))
    assert trace_id_for("job-1") == trace_id_for("job-1") != trace_id_for("job-2")


# --- JSON ---


def test_equal_values_have_one_text() -> None:
    assert canonical_json({"b": [1, 2.5, None], "a": "ü"}) == '{"a":"ü","b":[1,2.5,null]}'
    assert canonical_json({"a": 1, "b": 2}) == canonical_json({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), [float("nan")]])
def test_what_json_has_no_number_for_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(value)


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", NOW, {("a",): 1}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(TypeError):
        canonical_json(value)


@pytest.mark.parametrize(
    "text", [r'"\ud800"', r'{"\udfff":"a\udc00b"}', r'["\\ud800"]', r'"\ud83d\udd70"']
)
def test_half_a_surrogate_pair_can_be_stored_as_utf_8_and_read_back(text: str) -> None:
    value = json.loads(text)
    canonical = canonical_json(value)
    assert json.loads(canonical.encode()) == value
    assert canonical_json(json.loads(canonical)) == canonical


@pytest.mark.parametrize("number", [0xFFFE, 0xFFFF])
def test_what_a_queue_rejects_stays_escaped(number: int) -> None:
    value = {f"a{chr(number)}": [chr(number), chr(number - 2), chr(0x10000)]}
    canonical = canonical_json(value)
    assert chr(number) not in canonical
    assert chr(number - 2) in canonical
    assert json.loads(canonical) == value


# --- hashes ---


def test_content_is_told_apart_by_its_parts() -> None:
    hashes = {content_hash("ab"), content_hash("a", "b"), content_hash("", "ab"), content_hash()}
    assert len(hashes) == 4
    assert all(re.fullmatch(r"[a-z2-7]{32}", text) for text in hashes)


def test_a_listing_names_no_job() -> None:
    tie = listing_tie("job-1")
    assert re.fullmatch(r"[a-z2-7]{10}", tie)
    assert "job" not in tie
    assert listing_tie("job-2") != tie


def test_no_id_follows_without_the_secret() -> None:
    other = bytes(32)
    assert job_id_for_key(FAKE_SECRET, "t", "k") != job_id_for_key(other, "t", "k")
    assert occurrence_job_id(FAKE_SECRET, "s", NOW) != occurrence_job_id(other, "s", NOW)
