from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping
from dataclasses import MISSING, FrozenInstanceError, fields, replace
from datetime import timedelta
from importlib.resources import files
from typing import Any

import pytest

from hourhand.aws.layout.jobs import (
    FIXED_FIELDS,
    INTERVAL_ATTRIBUTES,
    JOB_CODECS,
    PATH_CODECS,
    VALUES,
    field_attributes,
    job_from_item,
    job_to_item,
)
from hourhand.aws.layout.schedules import (
    BACKFILL_CODECS,
    CALENDAR_CODECS,
    SCHEDULE_CODECS,
    WALK_CODECS,
)
from hourhand.aws.layout.values import Codec
from hourhand.aws.table_schema import JOBS, SCHEDULES
from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.ids import trace_id_for
from hourhand.domain.jobs.job import Content, Job, JobStatus, OnLost, Priority, Progress
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.times import to_ms
from hourhand.memory import START
from tests.world.factories import make_event, make_job

RECORD_CODECS = (SCHEDULE_CODECS, BACKFILL_CODECS, CALENDAR_CODECS, WALK_CODECS)
KEPT_ELSEWHERE = {
    *("created_at", "due_at", "shard", "keep_until", "trace_id", "overlap"),
    *INTERVAL_ATTRIBUTES,
}
"""Fields that share attributes or are kept by their difference: see the table in `items`."""


def test_every_field_of_a_job_has_its_place_in_the_item() -> None:
    assert {f.name for f in fields(Job)} == set(JOB_CODECS) | set(VALUES) | KEPT_ELSEWHERE
    for kind, codecs in VALUES.values():
        assert {f.name for f in fields(kind)} == set(codecs)


def test_no_two_fields_share_an_attribute() -> None:
    codecs = PATH_CODECS.values()
    taken = [codec.attribute for codec in codecs] + ["s", "v", "b", "k", "l", "c", "d", "x", "y"]
    taken += ["tr", "ov", *INTERVAL_ATTRIBUTES.values()]
    assert len(taken) == len(set(taken))


def test_no_attribute_is_a_reserved_word_of_dynamodb() -> None:
    listed = files("moto.dynamodb.parsing").joinpath("reserved_keywords.txt").read_text()
    reserved = {word.strip().lower() for word in listed.splitlines()}
    used = {codec.attribute for codec in PATH_CODECS.values()}
    used |= {key.attribute for key in JOBS.keys} | {"v", "x", "y", "tr", "ov"}
    used |= set(INTERVAL_ATTRIBUTES.values())
    used |= {key.attribute for key in SCHEDULES.keys}
    used |= {codec.attribute for codecs in RECORD_CODECS for codec in codecs.values()}
    used |= {"holder", "epoch", "until_ms", "acquired_ms", "taken_from", "tick"}
    used |= {"id", "since_ms", "requested_ms"}
    used |= {"shard_map", "map_version", "watermark", "watermark_hash"}
    assert len(reserved) > 500
    assert not used & reserved


@pytest.mark.parametrize(("model", "codecs"), [(Job, JOB_CODECS), *VALUES.values()])
def test_an_absent_attribute_means_what_the_model_means_by_default(
    model: type, codecs: Mapping[str, Codec]
) -> None:
    """Change a default of the model and this fails: stored items would change their meaning."""
    for model_field in fields(model):
        codec = codecs.get(model_field.name)
        if codec is None or codec.is_always_stored:
            continue
        if model_field.default_factory is not MISSING:
            assert codec.default == model_field.default_factory()
        elif model_field.default is not MISSING:
            assert codec.default == model_field.default, model_field.name


def test_a_job_that_was_read_is_like_any_other() -> None:
    job = job_from_item(job_to_item(make_job()))
    assert vars(job).keys() == {each.name for each in fields(Job)}
    pickled = pickle.loads(pickle.dumps(job))  # noqa: S301 (it is our own)
    assert pickled == copy.deepcopy(job) == replace(job) == make_job()
    with pytest.raises(FrozenInstanceError):
        job.attempt = 2  # type: ignore[misc]


@pytest.mark.parametrize("attribute", ["p", "n", "t", "r", "i", "g", "a", "f", "h", "c"])
def test_an_item_without_what_every_job_has_is_no_job(attribute: str) -> None:
    item = job_to_item(make_job())
    del item[attribute]
    with pytest.raises(KeyError):
        job_from_item(item)


def test_a_job_with_every_policy_of_its_own_is_read_as_it_was_written() -> None:
    job = make_job(
        priority=Priority.LOW,
        queue=Priority.HIGH,
        generation=7,
        round=3,
        timeout_seconds=1,
        retention_seconds=0,
        expires_at=START + timedelta(days=1),
        on_lost=OnLost.DEAD,
        retry=RetryPolicy(
            max_attempts=25,
            backoff=Backoff.SIDEKIQ,
            base_seconds=0.25,
            max_delay_seconds=1e6,
            jitter=Jitter.NONE,
        ),
        idempotency_key="ключ \U0001f511",
        body_hash="h" * 32,
        tenant="acme",
        tags={"order": "7", "": ""},
        progress=Progress(done=1.5, total=None, message="half"),
        history=(make_event(), make_event(reason="a.b.c: ü")),
        history_dropped=4,
        schedule_id="daily",
        schedule_revision=3,
        occurrence=START,
        previous_occurrence=START - timedelta(days=2),
        interval_start=START - timedelta(days=1),
        overlap=Overlap(group="daily", policy=OverlapPolicy.BUFFER_ALL, max_running=2),
        pauses_schedule=True,
        trace_id="0af7651916cd43dd8448eb211c80319c",
        payload_kept_until=START + timedelta(days=97),
        cancel_requested_at=START,
    )
    assert job_from_item(job_to_item(job)) == job


def test_a_plain_job_stores_nothing_that_is_as_by_default() -> None:
    job = make_job(status=JobStatus.PENDING, trace_id=trace_id_for("job-1"))
    expected = {"p", "s", "v", "n", "t", "r", "i", "g", "a", "f", "h", "m", "l", "c", "b", "k"}
    assert set(job_to_item(job)) == expected


@pytest.mark.parametrize(
    ("content", "stored"),
    [
        (Content(size_bytes=4, text="null"), "=null"),
        (Content(size_bytes=5_000, item="payload.a1"), "+5000:payload.a1"),
        (Content(size_bytes=2_000_000, key="payload/j:1/a1"), "@2000000:payload/j:1/a1"),
    ],
)
def test_a_payload_says_in_one_text_where_it_is(content: Content, stored: str) -> None:
    item = job_to_item(make_job(payload=content))
    assert item["i"] == {"S": stored}
    assert job_from_item(item).payload == content


@pytest.mark.parametrize("milliseconds", [0, 1, 999])
def test_the_end_of_a_record_is_exact_and_ttl_never_early(milliseconds: int) -> None:
    keep_until = START + timedelta(milliseconds=milliseconds)
    job = make_job(status=JobStatus.SUCCEEDED, keep_until=keep_until)
    item = job_to_item(job)
    assert int(item["x"]["N"]) * 1000 >= to_ms(keep_until)
    assert job_from_item(item).keep_until == keep_until


def test_the_trace_id_of_a_job_s_own_is_not_stored() -> None:
    own = make_job(trace_id=trace_id_for("job-1"))
    assert "tr" not in job_to_item(own)
    assert job_from_item(job_to_item(own)).trace_id == trace_id_for("job-1")
    none = replace(own, trace_id=None)
    assert job_from_item(job_to_item(none)).trace_id is None


@pytest.mark.parametrize(("group", "stored"), [("daily", "O1.100"), ("daily.b7", "O1.100+b7")])
def test_the_group_that_is_the_schedule_takes_no_room(group: str, stored: str) -> None:
    overlap = Overlap(group=group, policy=OverlapPolicy.BUFFER_ONE)
    job = make_job(schedule_id="daily", overlap=overlap, trace_id=None)
    assert job_to_item(job)["ov"] == {"S": stored}
    assert job_from_item(job_to_item(job)) == job


def test_an_overlap_that_is_written_by_itself_names_its_group() -> None:
    """A move knows the job's id and the new overlap, not the schedule."""
    overlap = Overlap(group="daily", policy=OverlapPolicy.SKIP)
    job = make_job(schedule_id="daily", overlap=overlap, trace_id=None)
    [stored] = field_attributes(job.id, "overlap", overlap).values()
    assert stored == {"S": "S1.100:daily"}
    assert job_from_item({**job_to_item(job), "ov": stored}) == job
    assert field_attributes(job.id, "overlap", None) == {"ov": None}


@pytest.mark.parametrize(
    ("before", "stored"),
    [(timedelta(days=1), "1uo0"), (timedelta(0), "0"), (timedelta(milliseconds=-1_250), "-1.250")],
)
@pytest.mark.parametrize("name", INTERVAL_ATTRIBUTES)
def test_what_came_before_a_nominal_time_is_kept_by_its_distance(
    name: str, before: timedelta, stored: str
) -> None:
    fields: dict[str, Any] = {"schedule_id": "daily", "occurrence": START, name: START - before}
    job = make_job(trace_id=None, **fields)
    assert job_to_item(job)[INTERVAL_ATTRIBUTES[name]] == {"S": stored}
    assert job_from_item(job_to_item(job)) == job


@pytest.mark.parametrize("name", INTERVAL_ATTRIBUTES)
def test_what_came_before_is_an_instant_where_no_nominal_time_is_known(name: str) -> None:
    """A move knows the new value, not the job's nominal time; an older item had it so, too."""
    instant = START - timedelta(days=1)
    job = make_job(occurrence=START, trace_id=None, **{name: instant})
    written = field_attributes(job.id, name, instant)
    assert written == {INTERVAL_ATTRIBUTES[name]: {"N": str(to_ms(instant))}}
    moved: dict[str, Any] = {**job_to_item(job), **written}
    assert job_from_item(moved) == job
    assert field_attributes(job.id, name, None) == {INTERVAL_ATTRIBUTES[name]: None}
    without = make_job(occurrence=None, trace_id=None, **{name: instant})
    assert job_from_item(job_to_item(without)) == without


@pytest.mark.parametrize("status", JobStatus)
def test_only_dead_jobs_are_in_the_index_of_the_dead_and_what_is_owed_in_a_bucket(
    status: JobStatus,
) -> None:
    job = make_job(status=status, trace_id=trace_id_for("job-1"))
    item = job_to_item(job)
    assert ("d" in item) is (status is JobStatus.DEAD)
    assert ({"b", "k"} <= set(item)) is (job.due_at is not None)
    assert job_from_item(item) == job


def test_attributes_of_a_later_release_are_passed_over() -> None:
    job = make_job(trace_id=None)
    later: dict[str, Any] = {**job_to_item(job), "new": {"S": "?"}}
    assert job_from_item(later) == job


def test_a_job_of_a_newer_version_is_not_read_by_what_this_one_knows() -> None:
    newer = {**job_to_item(make_job()), "v": {"N": "2"}}
    with pytest.raises(WrittenByNewer, match="The job job-1 has version 2 of its layout"):
        job_from_item(newer)


@pytest.mark.parametrize(
    "name", [*sorted(FIXED_FIELDS), "created_at", "due_at", "shard", "nonsense"]
)
def test_a_field_that_never_changes_alone_cannot_be_written_alone(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} cannot be written by itself"):
        field_attributes("job-1", name, "anything")
