"""The tables: as `table_schema` defines them, and safe from accidents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hourhand.aws.table_schema import TABLES, Index, Key, Table
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import REDEPLOY, Finding, Look, failed, ok, warning

_ON = frozenset({"ENABLED", "ENABLING"})


def table_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield what there is to look at: each table's shape, expiry and backups."""
    for table in TABLES:
        check = f"table {table.name}"
        yield Look(check, partial(_shape, aws, deployment, table), is_essential=True)
        if table.expiry is not None:
            yield Look(check, partial(_expiry, aws, deployment, table))
        yield Look(check, partial(_backups, aws, deployment, table))


def _shape(aws: Aws, deployment: Deployment, table: Table) -> Iterator[Finding]:
    name = deployment.table(table.name)
    answer = aws.ask("dynamodb", "DescribeTable", f"table {name}", TableName=name)
    return judge_table(table, answer["Table"])


def _expiry(aws: Aws, deployment: Deployment, table: Table) -> Iterator[Finding]:
    name = deployment.table(table.name)
    answer = aws.ask("dynamodb", "DescribeTimeToLive", f"table {name}", TableName=name)
    yield judge_expiry(table, answer["TimeToLiveDescription"])


def _backups(aws: Aws, deployment: Deployment, table: Table) -> Iterator[Finding]:
    name = deployment.table(table.name)
    answer = aws.ask("dynamodb", "DescribeContinuousBackups", f"table {name}", TableName=name)
    yield judge_backups(table, answer["ContinuousBackupsDescription"])


def judge_table(table: Table, described: Mapping[str, Any]) -> Iterator[Finding]:
    """Judge DynamoDB's description of ``table``: status, keys, indexes, protection."""
    check = f"table {table.name}"
    status = described["TableStatus"]
    if status == "UPDATING":
        yield warning(check, "is being changed (UPDATING)", "Look again when that has ended.")
    elif status != "ACTIVE":
        yield failed(check, f"is {status}", "See the table in DynamoDB's console for the reason.")
    differences = [*_key_differences(table, described), *_index_differences(table, described)]
    if differences:
        yield failed(
            check,
            f"is not as it is defined: {'; '.join(differences)}",
            "Look with the version that was deployed. Keys cannot be changed in place: see "
            "docs/upgrading.md before you replace a table.",
        )
    elif status == "ACTIVE":
        yield ok(check, f"active, keys and {len(table.indexes)} indexes as defined")
    if not described.get("DeletionProtectionEnabled", False):
        yield warning(
            check,
            "can be deleted by one call: deletion protection is off",
            "Leave it so for a stage that may be thrown away; else deploy with -c stage=prod.",
        )


def _key_differences(table: Table, described: Mapping[str, Any]) -> Iterator[str]:
    types = {a["AttributeName"]: a["AttributeType"] for a in described["AttributeDefinitions"]}
    if not _has_keys(described["KeySchema"], types, table.partition, table.sort):
        yield "its own keys differ"


def _index_differences(table: Table, described: Mapping[str, Any]) -> Iterator[str]:
    types = {a["AttributeName"]: a["AttributeType"] for a in described["AttributeDefinitions"]}
    found = {index["IndexName"]: index for index in described.get("GlobalSecondaryIndexes", [])}
    for index in table.indexes:
        if index.name not in found:
            yield f"it has no index {index.name}"
        else:
            yield from _differences_of(index, found[index.name], types)


def _differences_of(
    index: Index, described: Mapping[str, Any], types: Mapping[str, str]
) -> Iterator[str]:
    if not _has_keys(described["KeySchema"], types, index.partition, index.sort):
        yield f"the keys of index {index.name} differ"
    status = described.get("IndexStatus", "ACTIVE")
    if status != "ACTIVE":
        yield f"index {index.name} is {status}"


def _has_keys(
    schema: Sequence[Mapping[str, str]],
    types: Mapping[str, str],
    partition: Key,
    sort: Key | None,
) -> bool:
    wanted = {"HASH": partition} | ({"RANGE": sort} if sort is not None else {})
    found = {key["KeyType"]: (key["AttributeName"], types[key["AttributeName"]]) for key in schema}
    return found == {kind: (key.attribute, key.type) for kind, key in wanted.items()}


def judge_expiry(table: Table, described: Mapping[str, Any]) -> Finding:
    """Judge whether DynamoDB deletes what has expired."""
    check = f"table {table.name}"
    is_on = described.get("TimeToLiveStatus") in _ON
    if is_on and described.get("AttributeName") == table.expiry:
        return ok(check, "what has expired is deleted")
    return warning(
        check,
        f"nothing that has expired is deleted: TTL is not on for attribute {table.expiry}",
        f"Else the table only grows. {REDEPLOY}",
    )


def judge_backups(table: Table, described: Mapping[str, Any]) -> Finding:
    """Judge whether the table can be restored to any moment of the last weeks."""
    check = f"table {table.name}"
    recovery = described.get("PointInTimeRecoveryDescription", {})
    if recovery.get("PointInTimeRecoveryStatus") in _ON:
        return ok(check, "can be restored to a point in time")
    return warning(
        check,
        "cannot be restored: point-in-time recovery is off",
        REDEPLOY,
    )
