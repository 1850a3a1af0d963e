"""What the control table keeps as JSON: its text must stay as it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.ticks.unmarked_dispatch import SentWindow
from hourhand.domain.ticks.watermark import OpenBucket, Resweep, Watermark
from hourhand.json_dataclasses import read_record, record_text
from hourhand.memory import START
from hourhand.ports.control_store import TickRecord

LATER = START + timedelta(milliseconds=1)

RECORDS = [
    (ShardMap(), "[[[0,1]]]"),
    (ShardMap((ShardMapVersion(0, 1), ShardMapVersion(5, 4))), "[[[0,1],[5,4]]]"),
    (Watermark(low=7), '{"low":7,"open":{},"shard_map_version":1}'),
    (
        Watermark(
            low=7,
            candidate=9,
            candidate_at=START,
            open={10: OpenBucket(START), 9: OpenBucket(START, LATER)},
            deep_next=0,
            shard_map_version=2,
            resweep=Resweep("r-1", 1, 2),
        ),
        '{"candidate":9,"candidate_at":1767603600000,"deep_next":0,"low":7,'
        '"open":{"9":[1767603600000,1767603600001],"10":[1767603600000,null]},'
        '"resweep":["r-1",1,2],"shard_map_version":2}',
    ),
    (
        TickRecord(
            at=START,
            holder="h",
            epoch=3,
            oldest_due_seconds={Priority.HIGH: 1.5},
            sent=SentWindow(START, LATER, LATER),
            botocore="1.40.0",
        ),
        '{"at":1767603600000,"botocore":"1.40.0","epoch":3,"holder":"h",'
        '"oldest_due_seconds":{"high":1.5},"open_buckets":0,'
        '"sent":[1767603600000,1767603600001,1767603600001],"skew_ms":0}',
    ),
]


@pytest.mark.parametrize(("record", "text"), RECORDS)
def test_a_record_has_this_text_and_is_read_from_it(record: Any, text: str) -> None:
    assert record_text(type(record), record) == text
    assert read_record(type(record), text) == record
