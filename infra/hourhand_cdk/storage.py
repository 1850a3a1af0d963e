"""The tables and the bucket, made from the definitions that the local cloud is made from."""

from __future__ import annotations

from aws_cdk import ArnFormat, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hourhand.aws.table_schema import (
    BUCKET,
    CONTROL,
    DAYS_TAG,
    FINISHED,
    IDEMPOTENCY,
    JOBS,
    SCHEDULES,
    STATE_TAG,
    TABLES,
    Index,
    Key,
    Table,
    resource_name,
)
from hourhand_cdk.config import Config

_TYPES = {"S": dynamodb.AttributeType.STRING, "N": dynamodb.AttributeType.NUMBER}

UNFINISHED_UPLOAD_DAYS = 1
"""An upload in parts that never ended is paid for until it is aborted."""


class Storage(Construct):
    """Where the jobs are. ``key`` is the customer's own, or ``None``: then AWS's keys are used."""

    def __init__(self, scope: Construct, construct_id: str, *, config: Config) -> None:
        """Make the key, if one is asked for, the tables and the bucket."""
        super().__init__(scope, construct_id)
        self._config = config
        self.key = self._make_key() if config.customer_key else None
        self.tables = {table.name: self._make_table(table) for table in TABLES}
        self.jobs = self.tables[JOBS.name]
        self.control = self.tables[CONTROL.name]
        self.idempotency = self.tables[IDEMPOTENCY.name]
        self.schedules = self.tables[SCHEDULES.name]
        self.bucket = self._make_bucket()

    @property
    def _removal(self) -> RemovalPolicy:
        return RemovalPolicy.RETAIN if self._config.protect_data else RemovalPolicy.DESTROY

    def _make_key(self) -> kms.Key:
        key = kms.Key(
            self,
            "Key",
            description=f"What {self._config.prefix} stores and sends",
            alias=f"alias/{self._config.prefix}",
            enable_key_rotation=True,
            # Without it, data stored under it can never be read again, nor what a restore brings
            # back; so it stays where tables and bucket go.
            removal_policy=RemovalPolicy.RETAIN,
        )
        key.add_to_resource_policy(self._for_logs())
        return key

    def _for_logs(self) -> iam.PolicyStatement:
        """Return what CloudWatch Logs needs, for this deployment's log groups alone.

        By their names: a key's policy cannot refer to what the key encrypts. The statement is that
        of the CloudWatch Logs guide, "Encrypt log data using AWS KMS".
        """
        stack = Stack.of(self)
        ours = stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=f"*{resource_name(self._config.prefix, '*')}",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return iam.PolicyStatement(
            sid="LogsEncrypt",
            principals=[iam.ServicePrincipal(f"logs.{stack.region}.{stack.url_suffix}")],
            actions=[
                "kms:Decrypt*",
                "kms:Describe*",
                "kms:Encrypt*",
                "kms:GenerateDataKey*",
                "kms:ReEncrypt*",
            ],
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": ours}},
        )

    def _make_table(self, table: Table) -> dynamodb.TableV2:
        # A "global table" of one Region: it can get an eventually consistent copy in another one
        # without being replaced. Hourhand may not run on both (ADR 10).
        made = dynamodb.TableV2(
            self,
            f"{table.name.capitalize()}Table",
            table_name=resource_name(self._config.prefix, table.name),
            partition_key=_attribute(table.partition),
            sort_key=_attribute(table.sort) if table.sort else None,
            global_secondary_indexes=[_index(index) for index in table.indexes] or None,
            billing=dynamodb.Billing.on_demand(),
            time_to_live_attribute=table.expiry,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            deletion_protection=self._config.protect_data,
            encryption=dynamodb.TableEncryptionV2.dynamo_owned_key(),
            removal_policy=self._removal,
        )
        if self.key is not None:
            _encrypt(made, self.key)
        return made

    def _make_bucket(self) -> s3.Bucket:
        encryption = s3.BucketEncryption.KMS if self.key else s3.BucketEncryption.S3_MANAGED
        return s3.Bucket(
            self,
            "Contents",
            encryption=encryption,
            encryption_key=self.key,
            # One data key for many objects, instead of a call to KMS for each.
            bucket_key_enabled=True if self.key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=self._config.enforce_tls,
            lifecycle_rules=[
                *(_expiry_rule(days) for days in BUCKET.expiry_days),
                s3.LifecycleRule(
                    id="unfinished-uploads",
                    abort_incomplete_multipart_upload_after=Duration.days(UNFINISHED_UPLOAD_DAYS),
                ),
            ],
            removal_policy=self._removal,
        )


def _encrypt(table: dynamodb.TableV2, key: kms.IKey) -> None:
    # The construct's own `customer_managed_key` asks for a stack that names its Region.
    resource = table.node.default_child
    assert isinstance(resource, dynamodb.CfnGlobalTable)
    resource.add_property_override("SSESpecification", {"SSEEnabled": True, "SSEType": "KMS"})
    resource.add_property_override("Replicas.0.SSESpecification", {"KMSMasterKeyId": key.key_arn})


def _attribute(key: Key) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=key.attribute, type=_TYPES[key.type])


def _index(index: Index) -> dynamodb.GlobalSecondaryIndexPropsV2:
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=index.name,
        partition_key=_attribute(index.partition),
        sort_key=_attribute(index.sort),
        projection_type=dynamodb.ProjectionType.KEYS_ONLY,
    )


def _expiry_rule(days: int) -> s3.LifecycleRule:
    return s3.LifecycleRule(
        id=f"finished-{days}",
        tag_filters={STATE_TAG: FINISHED, DAYS_TAG: str(days)},
        expiration=Duration.days(days),
    )
