from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from hourhand.aws.table_schema import JOBS, TABLES
from hourhand.cli.doctor.findings import Status
from hourhand.cli.doctor.tables import judge_backups, judge_expiry, judge_table, table_looks
from tests.unit.cli.doctor.conftest import installation
from tests.unit.cli.doctor.fakes import DEPLOYMENT, Answer, client_error, fake_aws, found, statuses


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    """Return DynamoDB's description of the jobs table as it is made from its definition."""
    with installation() as made:
        answer = made.dynamodb.describe_table(TableName=made.settings.jobs_table)
    table: dict[str, Any] = answer["Table"]
    return table | {"DeletionProtectionEnabled": True}


def test_a_table_made_from_its_definition_is_well(jobs: dict[str, Any]) -> None:
    assert statuses(judge_table(JOBS, jobs)) == [Status.OK]


def _without_index(table: dict[str, Any]) -> None:
    del table["GlobalSecondaryIndexes"][0]


def _other_index_key(table: dict[str, Any]) -> None:
    table["GlobalSecondaryIndexes"][0]["KeySchema"].pop()


def _index_in_the_making(table: dict[str, Any]) -> None:
    table["GlobalSecondaryIndexes"][0]["IndexStatus"] = "CREATING"


def _other_key(table: dict[str, Any]) -> None:
    table["KeySchema"].pop()


def _other_type(table: dict[str, Any]) -> None:
    for attribute in table["AttributeDefinitions"]:
        attribute["AttributeType"] = "B"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_without_index, "it has no index "),
        (_other_index_key, "the keys of index "),
        (_index_in_the_making, " is CREATING"),
        (_other_key, "its own keys differ"),
        (_other_type, "its own keys differ"),
    ],
)
def test_a_table_that_differs_is_told_by_how(
    jobs: dict[str, Any], change: Callable[[dict[str, Any]], None], named: str
) -> None:
    table = copy.deepcopy(jobs)
    change(table)
    findings = list(judge_table(JOBS, table))
    assert statuses(findings) == [Status.FAILED]
    assert named in findings[0].seen


@pytest.mark.parametrize(
    ("status", "taken"),
    [("UPDATING", Status.WARNING), ("INACCESSIBLE_ENCRYPTION_CREDENTIALS", Status.FAILED)],
)
def test_a_table_that_is_not_active_is_told(
    jobs: dict[str, Any], status: str, taken: Status
) -> None:
    assert statuses(judge_table(JOBS, jobs | {"TableStatus": status})) == [taken]


def test_a_table_that_one_call_deletes_is_a_warning(jobs: dict[str, Any]) -> None:
    unprotected = jobs | {"DeletionProtectionEnabled": False}
    assert statuses(judge_table(JOBS, unprotected)) == [Status.OK, Status.WARNING]


@pytest.mark.parametrize(
    ("described", "status"),
    [
        ({"TimeToLiveStatus": "ENABLED", "AttributeName": "x"}, Status.OK),
        ({"TimeToLiveStatus": "ENABLED", "AttributeName": "other"}, Status.WARNING),
        ({"TimeToLiveStatus": "DISABLED"}, Status.WARNING),
    ],
)
def test_expiry_must_be_on_for_its_own_attribute(described: dict[str, Any], status: Status) -> None:
    assert statuses([judge_expiry(JOBS, described)]) == [status]


@pytest.mark.parametrize(("on", "status"), [("ENABLED", Status.OK), ("DISABLED", Status.WARNING)])
def test_a_table_that_cannot_be_restored_is_a_warning(on: str, status: Status) -> None:
    described = {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": on}}
    assert statuses([judge_backups(JOBS, described)]) == [status]


def test_what_may_not_be_seen_of_a_table_hides_nothing_else() -> None:
    on = {"TimeToLiveDescription": {"TimeToLiveStatus": "ENABLED", "AttributeName": "x"}}
    recovery = {"PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "ENABLED"}}
    script: dict[str, Answer] = {
        "dynamodb.describe_table": client_error("AccessDeniedException"),
        "dynamodb.describe_time_to_live": on,
        "dynamodb.describe_continuous_backups": {"ContinuousBackupsDescription": recovery},
    }
    findings = found(table_looks(fake_aws(script), DEPLOYMENT))
    taken = statuses(findings)
    assert taken.count(Status.FAILED) == len(TABLES)
    assert taken.count(Status.OK) == len(TABLES) + sum(t.expiry is not None for t in TABLES)
