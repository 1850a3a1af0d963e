"""A file is read from S3 and its result is written beside it, as often as the job runs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import boto3
import pytest
from moto import mock_aws

from examples.s3_files import File, sum_file, upload_sample
from hourhand.testing import FakeHourhand

MAY = File("uploads", "may.csv")


@pytest.fixture(autouse=True)
def _s3() -> Iterator[None]:
    with mock_aws():
        yield


def test_the_sum_of_a_file_is_written_beside_it(hourhand_jobs: FakeHourhand) -> None:
    upload_sample.submit(MAY)
    job = sum_file.submit(MAY)
    hourhand_jobs.run_due(raise_errors=True)

    total = {"rows": 2, "cents": 2499}
    assert hourhand_jobs.get(job).result == {"key": "may.csv.total.json", **total}
    stored = boto3.client("s3").get_object(Bucket="uploads", Key="may.csv.total.json")
    assert json.loads(stored["Body"].read()) == total


def test_a_second_run_leaves_one_result(hourhand_jobs: FakeHourhand) -> None:
    upload_sample.submit(MAY)
    upload_sample.submit(MAY)
    results = [sum_file.submit(MAY) for _ in range(2)]
    hourhand_jobs.run_due(raise_errors=True)

    assert hourhand_jobs.get(results[0]).result == hourhand_jobs.get(results[1]).result
    listed = boto3.client("s3").list_objects_v2(Bucket="uploads")
    assert [one["Key"] for one in listed["Contents"]] == ["may.csv", "may.csv.total.json"]


def test_a_file_that_is_missing_is_not_tried_again(hourhand_jobs: FakeHourhand) -> None:
    upload_sample.submit(MAY)
    job = sum_file.submit(File("uploads", "june.csv"))
    hourhand_jobs.run_due()

    assert hourhand_jobs.get(job).status == "DEAD"
    assert len(hourhand_jobs.get(job).attempts) == 1
