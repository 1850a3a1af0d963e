"""Tables and bucket: those of the local cloud, and what only a deployment has."""

from __future__ import annotations

import json
from fnmatch import fnmatch
from typing import Any

import pytest

from hourhand.aws.table_schema import TABLES
from tests.contract.aws_services import AwsServices, moto_services
from tests.infra.evaluation import ACCOUNT, REGION
from tests.infra.stacks import Deployment, Deployments

TABLE = "AWS::DynamoDB::GlobalTable"
BUCKET = "AWS::S3::Bucket"
KEY = "AWS::KMS::Key"


def tables_of(deployment: Deployment) -> dict[str, dict[str, Any]]:
    return deployment.named(TABLE, "TableName")


def replica(table: dict[str, Any]) -> dict[str, Any]:
    (only,) = table["Replicas"]
    found: dict[str, Any] = only
    return found


def shape(table: dict[str, Any]) -> dict[str, Any]:
    """Return what makes up a table, in no order that means nothing."""
    return {
        "keys": table["KeySchema"],
        "attributes": {
            a["AttributeName"]: a["AttributeType"] for a in table["AttributeDefinitions"]
        },
        "indexes": {
            index["IndexName"]: (index["KeySchema"], index["Projection"])
            for index in table.get("GlobalSecondaryIndexes", [])
        },
    }


@pytest.fixture
def local() -> Any:
    with moto_services() as services:
        yield services


def test_tables_are_those_of_the_local_cloud(dev: Deployment, local: AwsServices) -> None:
    deployed = tables_of(dev)
    assert set(deployed) == {table.name for table in TABLES}
    for name, table in deployed.items():
        theirs = local.dynamodb.describe_table(TableName=f"hourhand-{name}")["Table"]
        assert shape(table) == shape(theirs)
        assert theirs["BillingModeSummary"]["BillingMode"] == table["BillingMode"]
        expiry = local.dynamodb.describe_time_to_live(TableName=f"hourhand-{name}")
        described = expiry["TimeToLiveDescription"]
        deployed_expiry = table.get("TimeToLiveSpecification", {"Enabled": False})
        assert deployed_expiry["Enabled"] == (described["TimeToLiveStatus"] == "ENABLED")
        assert deployed_expiry.get("AttributeName") == described.get("AttributeName")


def test_the_buckets_expiry_is_that_of_the_local_cloud(dev: Deployment, local: AwsServices) -> None:
    theirs = local.s3.get_bucket_lifecycle_configuration(Bucket=local.settings.bucket)["Rules"]
    expected = {
        rule["ID"]: (
            rule["Expiration"]["Days"],
            [(tag["Key"], tag["Value"]) for tag in rule["Filter"]["And"]["Tags"]],
        )
        for rule in theirs
    }
    rules = dev.only(BUCKET)["LifecycleConfiguration"]["Rules"]
    deployed = {
        rule["Id"]: (
            rule["ExpirationInDays"],
            [(tag["Key"], tag["Value"]) for tag in rule["TagFilters"]],
        )
        for rule in rules
        if "ExpirationInDays" in rule
    }
    assert deployed == expected
    assert all(rule["Status"] == "Enabled" for rule in rules)


def test_nothing_but_finished_objects_and_broken_uploads_ever_expires(dev: Deployment) -> None:
    rules = dev.only(BUCKET)["LifecycleConfiguration"]["Rules"]
    others = [rule for rule in rules if "ExpirationInDays" not in rule]
    assert [rule["AbortIncompleteMultipartUpload"] for rule in others] == [
        {"DaysAfterInitiation": 1}
    ]
    finished = {"Key": "state", "Value": "finished"}
    assert all(finished in rule["TagFilters"] for rule in rules if rule not in others)


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_table_is_on_demand_and_can_be_restored_to_any_second(
    deployments: Deployments, stage: str
) -> None:
    for table in tables_of(deployments.of(stage=stage)).values():
        assert table["BillingMode"] == "PAY_PER_REQUEST"
        recovery = replica(table)["PointInTimeRecoverySpecification"]
        assert recovery == {"PointInTimeRecoveryEnabled": True}


@pytest.mark.parametrize(("stage", "is_protected"), [("dev", False), ("prod", True)])
def test_data_is_protected_in_prod_and_gone_with_the_stack_in_dev(
    deployments: Deployments, stage: str, is_protected: bool
) -> None:
    deployment = deployments.of(stage=stage)
    for table in tables_of(deployment).values():
        assert replica(table)["DeletionProtectionEnabled"] is is_protected
    kept = {**deployment.of_type(TABLE), **deployment.of_type(BUCKET)}
    policies = {(r["DeletionPolicy"], r["UpdateReplacePolicy"]) for r in kept.values()}
    assert policies == ({("Retain", "Retain")} if is_protected else {("Delete", "Delete")})


def test_the_bucket_is_private_and_has_no_name_of_ours(dev: Deployment) -> None:
    bucket = dev.only(BUCKET)
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(bucket["PublicAccessBlockConfiguration"]) == 4
    ownership = [rule["ObjectOwnership"] for rule in bucket["OwnershipControls"]["Rules"]]
    assert ownership == ["BucketOwnerEnforced"]
    # Bucket names are the whole world's: one of ours might be taken.
    assert "BucketName" not in bucket


def test_the_bucket_refuses_calls_without_tls(dev: Deployment) -> None:
    (statement,) = dev.only("AWS::S3::BucketPolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Action"]) == ("Deny", "s3:*")
    assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2


def test_without_a_key_of_ones_own_aws_keys_encrypt_everything(dev: Deployment) -> None:
    assert dev.of_type(KEY) == {}
    # DynamoDB's own key, free of charge: it always encrypts.
    for table in tables_of(dev).values():
        assert table["SSESpecification"] == {"SSEEnabled": False}
    encryption = dev.only(BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption == [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]


def test_a_key_of_ones_own_encrypts_tables_and_bucket(deployments: Deployments) -> None:
    deployment = deployments.of(customer_key=True)
    ((key_id, key),) = deployment.of_type(KEY).items()
    arn = deployment.evaluation.value({"Fn::GetAtt": [key_id, "Arn"]})
    assert key["Properties"]["EnableKeyRotation"] is True
    for table in tables_of(deployment).values():
        assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
        assert replica(table)["SSESpecification"] == {"KMSMasterKeyId": arn}
    (encryption,) = deployment.only(BUCKET)["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert encryption == {
        "BucketKeyEnabled": True,
        "ServerSideEncryptionByDefault": {"KMSMasterKeyID": arn, "SSEAlgorithm": "aws:kms"},
    }


@pytest.mark.parametrize("function", ["api", "scheduler", "worker"])
def test_functions_use_the_key_only_through_what_stores_and_sends(
    deployments: Deployments, function: str
) -> None:
    deployment = deployments.of(customer_key=True)
    (statement,) = [
        statement
        for statement in deployment.statements(function)
        if any(action.startswith("kms:") for action in statement["Action"])
        and "Condition" in statement
    ]
    services = [f"{name}.eu-central-1.amazonaws.com" for name in ("dynamodb", "s3", "sqs")]
    assert statement["Condition"] == {"StringEquals": {"kms:ViaService": services}}
    (key_id,) = deployment.of_type(KEY)
    assert statement["Resource"] == [deployment.evaluation.value({"Fn::GetAtt": [key_id, "Arn"]})]


def test_the_key_is_opened_to_no_service_but_cloudwatch(deployments: Deployments) -> None:
    statements = deployments.of(customer_key=True).only(KEY)["KeyPolicy"]["Statement"]
    services = {
        statement["Principal"]["Service"]
        for statement in statements
        if "Service" in statement["Principal"]
    }
    # Its alarms go to the topic that the key encrypts.
    assert services == {"cloudwatch.amazonaws.com", "logs.eu-central-1.amazonaws.com"}


def test_a_key_of_ones_own_encrypts_logs_and_environments(deployments: Deployments) -> None:
    deployment = deployments.of(customer_key=True)
    ((key_id, key),) = deployment.of_type(KEY).items()
    arn = deployment.evaluation.value({"Fn::GetAtt": [key_id, "Arn"]})
    groups = deployment.properties("AWS::Logs::LogGroup")
    assert len(groups) == 4
    assert {group["KmsKeyId"] for group in groups} == {arn}
    functions = deployment.properties("AWS::Lambda::Function")
    assert {function["KmsKeyArn"] for function in functions} == {arn}
    (logs,) = (
        statement
        for statement in deployment.evaluation.value(key["Properties"])["KeyPolicy"]["Statement"]
        if statement.get("Sid") == "LogsEncrypt"
    )
    pattern = logs["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    names = [group["LogGroupName"] for group in groups]
    ours = f"arn:aws:logs:{REGION}:{ACCOUNT}:log-group:"
    assert all(fnmatch(f"{ours}{name}", pattern) for name in names)
    assert not fnmatch(f"{ours}/aws/lambda/another", pattern)


def test_the_conditions_of_a_key_hold_in_every_partition(deployments: Deployments) -> None:
    template = json.dumps(deployments.of(customer_key=True).template)
    assert '.amazonaws.com", ' not in template.split("kms:ViaService")[1][:400]
    assert '{"Ref": "AWS::URLSuffix"}' in template.split("kms:ViaService")[1][:400]


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_a_key_outlives_its_stack_and_the_setting_that_made_it(
    deployments: Deployments, stage: str
) -> None:
    # What was stored under it would be lost with it: objects, messages, backups.
    (key,) = deployments.of(stage=stage, customer_key=True).of_type(KEY).values()
    assert (key["DeletionPolicy"], key["UpdateReplacePolicy"]) == ("Retain", "Retain")
