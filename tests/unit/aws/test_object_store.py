from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.object_store import S3ObjectStore, expiry_days
from hourhand.aws.table_schema import BUCKET
from hourhand.domain.errors import Unavailable
from hourhand.memory import START
from tests.unit.aws.conftest import Installation

DAY = timedelta(days=1)


@pytest.fixture
def store(installation: Installation) -> S3ObjectStore:
    return S3ObjectStore(installation.s3, installation.settings.bucket, now=lambda: START)


def tags_of(installation: Installation, key: str) -> dict[str, str]:
    answer = installation.s3.get_object_tagging(Bucket=installation.settings.bucket, Key=key)
    return {tag["Key"]: tag["Value"] for tag in answer["TagSet"]}


def rules_of(installation: Installation) -> list[dict[str, Any]]:
    bucket = installation.settings.bucket
    rules = installation.s3.get_bucket_lifecycle_configuration(Bucket=bucket)["Rules"]
    return list(rules)


def test_an_object_of_a_job_to_come_matches_no_rule(
    store: S3ObjectStore, installation: Installation
) -> None:
    store.put("payload/j/1", "{}")
    assert tags_of(installation, "payload/j/1") == {"state": "live"}


def test_a_finished_object_expires_by_the_rule_that_covers_its_retention_unless_redriven(
    store: S3ObjectStore, installation: Installation
) -> None:
    store.put("payload/j/1", "{}")
    store.mark_finished("payload/j/1", START + 7 * DAY)
    tags = tags_of(installation, "payload/j/1")
    assert tags == {"state": "finished", "days": "8"}
    [rule] = [
        rule
        for rule in rules_of(installation)
        if {t["Key"]: t["Value"] for t in rule["Filter"]["And"]["Tags"]} == tags
    ]
    assert (rule["Status"], rule["Expiration"]["Days"]) == ("Enabled", 8)
    store.mark_live("payload/j/1")
    assert tags_of(installation, "payload/j/1") == {"state": "live"}


def test_marking_keeps_what_the_object_is(store: S3ObjectStore, installation: Installation) -> None:
    store.put("payload/j/1", '"ü"')
    store.mark_finished("payload/j/1", START)
    bucket = installation.settings.bucket
    found = installation.s3.get_object(Bucket=bucket, Key="payload/j/1")
    assert found["ContentType"] == "application/json"
    assert found["Body"].read() == '"ü"'.encode()


@pytest.mark.parametrize(
    ("rest", "days"),
    [
        (-DAY, 1),
        (DAY, 1),
        (DAY + timedelta(seconds=1), 2),
        (30 * DAY, 32),
        (4096 * DAY, 4096),
        (4097 * DAY, None),
    ],
)
def test_the_rest_of_a_retention_is_rounded_up(rest: timedelta, days: int | None) -> None:
    assert expiry_days(rest) == days


def test_an_object_kept_longer_than_every_rule_is_kept_for_ever(
    store: S3ObjectStore, installation: Installation
) -> None:
    store.put("payload/j/1", "{}")
    store.mark_finished("payload/j/1", START + 5000 * DAY)
    assert tags_of(installation, "payload/j/1") == {"state": "finished"}


def test_every_number_of_days_has_its_rule(installation: Installation) -> None:
    days = [rule["Expiration"]["Days"] for rule in rules_of(installation)]
    assert tuple(sorted(days)) == BUCKET.expiry_days


def test_a_bucket_that_is_not_there_is_no_object_that_is_gone(installation: Installation) -> None:
    elsewhere = S3ObjectStore(installation.s3, "no-such-bucket")
    with pytest.raises(Unavailable, match="GetObject on bucket no-such-bucket"):
        elsewhere.get("payload/j/1")
