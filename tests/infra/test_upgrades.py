"""An upgrade replaces no table, queue, bucket or key.

The templates are compared with what `tests/infra/stateful.json` says is deployed; `stateful.py`
tells how to change that on purpose.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from tests.infra.stacks import Deployment, Deployments
from tests.infra.stateful import REPLACING, VARIANTS, losses, read_snapshot, stateful


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_upgrade_loses_nothing(deployments: Deployments, variant: str) -> None:
    before = read_snapshot()[variant]
    assert losses(before, stateful(deployments.of(**VARIANTS[variant]))) == []


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_new_is_written_down_too(deployments: Deployments, variant: str) -> None:
    now = stateful(deployments.of(**VARIANTS[variant]))
    assert read_snapshot()[variant] == now, "Run python -m tests.infra.stateful, as it says."


def test_options_that_can_be_switched_later_lose_nothing(deployments: Deployments) -> None:
    before = stateful(deployments.of())
    for context in (
        {"customer_key": True},
        {"protect_data": True},
        {"snap_start": True},
        {"provisioned_concurrency": 3},
        {"provisioned_pollers": True, "worker_concurrency": 200},
        {"enforce_tls": False},
    ):
        assert losses(before, stateful(deployments.of(**context))) == [], context


def test_the_bucket_is_not_replaced_by_an_upgrade_of_its_encryption(
    dev: Deployment, deployments: Deployments
) -> None:
    assert set(dev.of_type("AWS::S3::Bucket")) == set(
        deployments.of(customer_key=True).of_type("AWS::S3::Bucket")
    )


def test_every_kind_that_holds_something_is_watched(dev: Deployment) -> None:
    holding = {
        resource["Type"]
        for resource in dev.template["Resources"].values()
        # CloudFormation keeps it, or deletes it with all that is in it.
        if "DeletionPolicy" in resource
    }
    assert holding - set(REPLACING) == {"AWS::Logs::LogGroup", "AWS::Lambda::Version"}


CHANGES: list[tuple[str, Any, str]] = [
    ("TableName", "other", "would be replaced by an empty one: its TableName changed."),
    ("KeySchema", [], "would be replaced by an empty one: its KeySchema changed."),
    ("GlobalSecondaryIndexes", [], "of its GlobalSecondaryIndexes."),
    ("AttributeDefinitions", [], "of its AttributeDefinitions."),
]


@pytest.mark.parametrize(("attribute", "value", "words"), CHANGES)
def test_a_change_that_replaces_a_table_is_found(
    dev: Deployment, attribute: str, value: Any, words: str
) -> None:
    before = stateful(dev)
    after = deepcopy(before)
    (jobs,) = [name for name in before if "JobsTable" in name]
    after[jobs]["Properties"][attribute] = value
    found = losses(before, after)
    assert found
    assert all(loss.startswith(jobs) and loss.endswith(words) for loss in found)


def test_a_resource_that_is_renamed_in_the_code_is_found(dev: Deployment) -> None:
    before = stateful(dev)
    (queue,) = [name for name in before if "HighQueue" in name]
    after = {name.replace("HighQueue", "UpperQueue"): of for name, of in before.items()}
    assert losses(before, after) == [
        f"{queue} (AWS::SQS::Queue) would be removed with all that it holds."
    ]


def test_an_index_may_be_added(dev: Deployment) -> None:
    before = stateful(dev)
    after = deepcopy(before)
    (jobs,) = [name for name in before if "JobsTable" in name]
    indexes = after[jobs]["Properties"]["GlobalSecondaryIndexes"]
    after[jobs]["Properties"]["GlobalSecondaryIndexes"] = [{"IndexName": "new"}, *indexes]
    assert losses(before, after) == []
