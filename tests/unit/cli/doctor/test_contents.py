from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.doctor.contents import bucket_looks, judge_lifecycle, judge_privacy
from hourhand.cli.doctor.findings import Status
from tests.unit.cli.doctor.conftest import installation
from tests.unit.cli.doctor.fakes import DEPLOYMENT, client_error, fake_aws, found, statuses

CLOSED = dict.fromkeys(
    ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"), True
)


@pytest.fixture(scope="module")
def rules() -> list[dict[str, Any]]:
    """Return S3's description of the rules of a bucket that is made from its definition."""
    with installation() as made:
        answer = made.s3.get_bucket_lifecycle_configuration(Bucket=made.settings.bucket)
    rules: list[dict[str, Any]] = answer["Rules"]
    return rules


@pytest.mark.parametrize("way", sorted(CLOSED))
def test_public_access_must_be_blocked_in_every_way(way: str) -> None:
    assert statuses([judge_privacy(CLOSED)]) == [Status.OK]
    finding = judge_privacy(CLOSED | {way: False})
    assert statuses([finding]) == [Status.FAILED]
    assert way in finding.seen


def test_a_bucket_made_from_its_definition_forgets(rules: list[dict[str, Any]]) -> None:
    # A rule of somebody else beside ours is no trouble.
    others = {"ID": "uploads", "Status": "Enabled", "Filter": {"Prefix": ""}}
    assert statuses([judge_lifecycle([others, *rules])]) == [Status.OK]


@pytest.mark.parametrize("change", [{"Status": "Disabled"}, {"Expiration": {"Days": 3}}])
def test_a_rule_that_does_not_delete_is_named_by_its_days(
    rules: list[dict[str, Any]], change: dict[str, Any]
) -> None:
    finding = judge_lifecycle([rules[0] | change, *rules[1:]])
    assert statuses([finding]) == [Status.WARNING]
    assert finding.seen == "no rule deletes what is finished after 1 days"


def test_a_bucket_without_any_rule_or_block_is_told_of_both() -> None:
    script = {
        "s3.get_public_access_block": client_error("NoSuchPublicAccessBlockConfiguration"),
        "s3.get_bucket_lifecycle_configuration": client_error("NoSuchLifecycleConfiguration"),
    }
    findings = found(bucket_looks(fake_aws(script), DEPLOYMENT))
    assert statuses(findings) == [Status.FAILED, Status.WARNING]
