"""The bucket: private, and it forgets what is finished."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hourhand.aws.table_schema import BUCKET, DAYS_TAG, FINISHED, STATE_TAG
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import BUCKET_OUTPUT, Deployment
from hourhand.cli.doctor.findings import REDEPLOY, Finding, Look, failed, ok, warning

CHECK = "bucket"

_BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


def bucket_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at."""
    yield Look(CHECK, partial(_privacy, aws, deployment))
    yield Look(CHECK, partial(_lifecycle, aws, deployment))


def _privacy(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.output(BUCKET_OUTPUT)
    answer = aws.ask(
        "s3",
        "GetPublicAccessBlock",
        f"bucket {name}",
        expected={"NoSuchPublicAccessBlockConfiguration"},
        Bucket=name,
    )
    yield judge_privacy(answer.get("PublicAccessBlockConfiguration", {}))


def _lifecycle(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    name = deployment.output(BUCKET_OUTPUT)
    answer = aws.ask(
        "s3",
        "GetBucketLifecycleConfiguration",
        f"bucket {name}",
        expected={"NoSuchLifecycleConfiguration"},
        Bucket=name,
    )
    yield judge_lifecycle(answer.get("Rules", []))


def judge_privacy(blocks: Mapping[str, bool]) -> Finding:
    """Judge whether public access is blocked in every way."""
    open_ways = [block for block in _BLOCKS if not blocks.get(block, False)]
    if not open_ways:
        return ok(CHECK, "private")
    return failed(
        CHECK,
        f"public access is not blocked: {', '.join(open_ways)} is off",
        REDEPLOY,
    )


def judge_lifecycle(rules: Sequence[Mapping[str, Any]]) -> Finding:
    """Judge whether finished payloads are deleted, each kind after its days."""
    found = {_days(rule) for rule in rules if rule.get("Status") == "Enabled"}
    missing = [str(days) for days in BUCKET.expiry_days if days not in found]
    if not missing:
        return ok(CHECK, f"{len(BUCKET.expiry_days)} rules delete what is finished")
    return warning(
        CHECK,
        f"no rule deletes what is finished after {', '.join(missing)} days",
        f"Else the bucket only grows. {REDEPLOY}",
    )


def _days(rule: Mapping[str, Any]) -> int | None:
    """Return after how many days the rule deletes what is finished and tagged with them."""
    tags = {
        tag["Key"]: tag["Value"] for tag in rule.get("Filter", {}).get("And", {}).get("Tags", [])
    }
    days: int | None = rule.get("Expiration", {}).get("Days")
    return days if tags == {STATE_TAG: FINISHED, DAYS_TAG: str(days)} else None
