"""The findings of cdk-nag that this project accepts, each with its reason.

The rules run in the tests, where a suppression that is no longer needed fails too. They are
recorded in the construct itself, so that they hold in the app of a user who runs cdk-nag.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from aws_cdk import Acknowledgment, Stack, Validations
from aws_cdk import aws_s3 as s3
from constructs import Construct

from hourhand_cdk.config import Config

CONTENTS = "{contents}"
"""Stands for the bucket's logical id in the id of a finding."""

_FUNCTIONS = ("Functions/Api", "Functions/Scheduler", "Functions/Worker")
_ROLES = tuple(f"{function}Role" for function in _FUNCTIONS)
_STARS = ("AwsSolutions-IAM5[Resource::*]", "Serverless-LambdaStarPermissions")
_ENDS = ("Queues/DeadLettersQueue", "Queues/TickFailuresQueue")
_SOURCES = ("Triggers/HighSource", "Triggers/MediumSource", "Triggers/LowSource")

_END = "Messages end here: a person reads them, and a further queue behind it would never be read."
_NO_RESOURCES = "CloudWatch knows no resources for GetMetricData, the one action that has it."
_INTERFACES = "Lambda makes the network interfaces itself, and EC2 lists them all or none."
_PROBES = "Its messages only ask SQS for the time and live for a minute. Losing one has no effect."


class Case(Enum):
    """What a deployment has or has not, where that makes a finding."""

    TRACED = auto()
    UNTRACED = auto()
    IN_NETWORK = auto()
    EMAILED = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Suppression:
    """Findings of one rule on some constructs, by their paths below `HourhandScheduler`.

    ``case``: where alone it holds; ``None``: everywhere.
    """

    rule: str
    paths: tuple[str, ...]
    reason: str
    case: Case | None = None


SUPPRESSIONS = (
    Suppression(
        rule="AwsSolutions-S1",
        paths=("Storage/Contents",),
        reason="Only the functions reach the bucket, and CloudTrail can record their access.",
    ),
    Suppression(rule="AwsSolutions-SQS3", paths=_ENDS, reason=_END),
    Suppression(rule="AwsSolutions-SQS3", paths=("Queues/ClockQueue",), reason=_PROBES),
    Suppression(
        rule=f"AwsSolutions-IAM5[Resource::<{CONTENTS}.Arn>/*]",
        paths=_ROLES,
        reason="Objects are named by their jobs, whose ids are not known beforehand.",
    ),
    *(
        Suppression(rule=rule, paths=("Functions/SchedulerRole",), reason=_NO_RESOURCES)
        for rule in _STARS
    ),
    Suppression(
        rule=_STARS[0],
        # The CDK adds them itself, in a policy beside ours.
        paths=tuple(f"{role}/DefaultPolicy" for role in _ROLES),
        reason="X-Ray knows no resources for the two actions that send it traces.",
        case=Case.TRACED,
    ),
    *(
        Suppression(
            rule=rule, paths=("Functions/WorkerRole",), reason=_INTERFACES, case=Case.IN_NETWORK
        )
        for rule in _STARS
    ),
    Suppression(
        rule="Serverless-LambdaTracing",
        paths=_FUNCTIONS,
        reason="Tracing is a setting that is off by default, since it is paid for by the call.",
        case=Case.UNTRACED,
    ),
    Suppression(
        rule="Serverless-LambdaDLQ",
        paths=("Functions/Api", "Functions/Worker"),
        reason="Only callers that wait for the answer invoke it: API Gateway, or Lambda's pollers.",
    ),
    Suppression(
        rule="Serverless-LambdaDLQ",
        paths=("Functions/Scheduler",),
        reason="A failed event is sent to an on-failure destination, which records more than a "
        "queue.",
    ),
    Suppression(
        rule="Serverless-LambdaEventSourceMappingDestination",
        paths=_SOURCES,
        reason="Lambda has no destinations for SQS: the queue's redrive policy keeps what fails.",
    ),
    Suppression(
        rule="Serverless-SQSRedrivePolicy", paths=("Queues/BackstopQueue", *_ENDS), reason=_END
    ),
    Suppression(rule="Serverless-SQSRedrivePolicy", paths=("Queues/ClockQueue",), reason=_PROBES),
    Suppression(
        rule="Serverless-SNSRedrivePolicy",
        paths=("Monitoring/Email",),
        reason="An alarm whose mail is missed is still on the dashboard, so nothing is lost.",
        case=Case.EMAILED,
    ),
)


def cases_of(config: Config, *, is_in_network: bool) -> frozenset[Case]:
    """Return which cases a deployment is; ``is_in_network``: whether its worker has a VPC."""
    cases = {Case.UNTRACED if config.tracing == "off" else Case.TRACED}
    if is_in_network:
        cases.add(Case.IN_NETWORK)
    if config.alarm_email is not None:
        cases.add(Case.EMAILED)
    return frozenset(cases)


def acknowledge_findings(
    scheduler: Construct, contents: s3.IBucket, cases: frozenset[Case]
) -> None:
    """Record every suppression that holds in ``cases`` where it belongs.

    ``contents`` is the bucket.
    """
    bucket = contents.node.default_child
    assert isinstance(bucket, s3.CfnBucket)
    logical_id = Stack.of(scheduler).get_logical_id(bucket)
    for suppression in SUPPRESSIONS:
        if suppression.case is not None and suppression.case not in cases:
            continue
        rule = suppression.rule.replace(CONTENTS, str(logical_id))
        for path in suppression.paths:
            Validations.of(_below(scheduler, path)).acknowledge(
                Acknowledgment(id=rule, reason=suppression.reason)
            )


def _below(scope: Construct, path: str) -> Construct:
    found: Construct = scope
    for name in path.split("/"):
        child = found.node.find_child(name)
        assert isinstance(child, Construct)
        found = child
    return found
