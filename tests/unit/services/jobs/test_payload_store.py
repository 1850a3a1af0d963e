"""Where payloads and results are kept: inline, beside the job, or in the bucket."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.errors import TooLarge
from hourhand.domain.jobs.job import MAX_CONTENT_BYTES, Content, JobStatus
from hourhand.memory import START
from hourhand.services.jobs.payload_store import (
    INLINE_PAYLOAD_BYTES,
    INLINE_RESULT_BYTES,
    ITEM_BYTES,
    PayloadStore,
    fits_inline,
    object_keys,
)
from tests.world.factories import make_job
from tests.world.world import World

UNTIL = START + timedelta(days=1)


@pytest.fixture
def keeper(world: World) -> PayloadStore:
    return PayloadStore(world.store, world.objects)


def test_what_is_small_lies_in_the_job_itself(keeper: PayloadStore, world: World) -> None:
    for keep, size in (
        (keeper.keep_payload, INLINE_PAYLOAD_BYTES),
        (keeper.keep_result, INLINE_RESULT_BYTES),
    ):
        text = "x" * size
        content = keep("job-1", text, UNTIL)
        assert content == Content(size_bytes=size, text=text)
        assert keeper.read("job-1", content) == text
        assert keep("job-1", text + "x", UNTIL).text is None
    assert fits_inline("x" * INLINE_PAYLOAD_BYTES)
    assert not fits_inline("ü" * INLINE_PAYLOAD_BYTES)


def test_what_is_larger_lies_beside_the_job_for_as_long_as_asked(
    keeper: PayloadStore, world: World
) -> None:
    text = "x" * ITEM_BYTES
    content = keeper.keep_payload("job-1", text, UNTIL)
    assert content.item is not None
    assert (content.size_bytes, content.text, content.key) == (ITEM_BYTES, None, None)
    assert keeper.read("job-1", content) == text
    assert world.store.kept_texts("job-1")[content.item].keep_until == UNTIL


def test_what_is_largest_lies_in_the_bucket(keeper: PayloadStore, world: World) -> None:
    text = "x" * MAX_CONTENT_BYTES
    content = keeper.keep_result("job-1", text, UNTIL)
    assert content.key is not None
    assert (content.size_bytes, content.text, content.item) == (MAX_CONTENT_BYTES, None, None)
    assert keeper.read("job-1", content) == text
    assert world.objects.keys() == {content.key}


@pytest.mark.parametrize("field", ["payload", "result"])
def test_what_is_larger_still_is_refused_naming_the_field(keeper: PayloadStore, field: str) -> None:
    with pytest.raises(TooLarge) as refused:
        getattr(keeper, f"keep_{field}")("job-1", "x" * (MAX_CONTENT_BYTES + 1), UNTIL)
    assert [error.field for error in refused.value.errors] == [field]


@pytest.mark.parametrize("size", [1000, ITEM_BYTES + 1])
def test_another_text_under_the_same_id_never_overwrites_the_first(
    keeper: PayloadStore, size: int
) -> None:
    first = keeper.keep_payload("job-1", "x" * size, UNTIL)
    second = keeper.keep_payload("job-1", "y" * size, UNTIL)
    assert keeper.read("job-1", first) == "x" * size
    assert keeper.read("job-1", second) == "y" * size


def test_what_is_gone_reads_as_nothing(keeper: PayloadStore) -> None:
    assert keeper.read("job-1", Content(size_bytes=1, item="payload.x")) is None
    assert keeper.read("job-1", Content(size_bytes=1, key="payload/x")) is None


def test_the_objects_of_a_job_expire_with_it_and_live_again_with_it(
    keeper: PayloadStore, world: World
) -> None:
    payload = keeper.keep_payload("job-1", "x" * (ITEM_BYTES + 1), UNTIL)
    result = keeper.keep_result("job-1", "y" * (ITEM_BYTES + 1), UNTIL)
    job = make_job(status=JobStatus.SUCCEEDED, payload=payload, result=result)
    assert {*object_keys(job)} == world.objects.keys()
    keeper.mark_finished(job, UNTIL)
    assert world.objects.finished() == dict.fromkeys(object_keys(job), UNTIL)
    keeper.mark_live(job)
    assert not world.objects.finished()


def test_a_job_without_objects_has_none_to_mark() -> None:
    assert object_keys(make_job()) == ()
