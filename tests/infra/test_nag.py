"""cdk-nag has nothing to say, and each thing that it was told to overlook is still there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.infra.stacks import Deployments

PACKS = ("AwsSolutionsChecks", "ServerlessChecks")
LEAST_REASON_WORDS = 6
LAYER = "arn:aws:lambda:eu-central-1:901920570463:layer:aws-otel-python-arm64:1"

Finding = tuple[str, str]
"""The id of a rule or of one of its findings, and the path of the construct in the scheduler."""


def without_options(_: Any) -> Any:
    from hourhand_cdk.plans import WorkerOptions

    return WorkerOptions()


def in_network(stack: Any) -> Any:
    from aws_cdk import aws_ec2 as ec2

    from hourhand_cdk.plans import WorkerOptions

    return WorkerOptions(
        vpc=ec2.Vpc(stack, "Network", max_azs=2, nat_gateways=0),
        vpc_subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
    )


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A deployment, and the names of the cases of `hourhand_cdk.nag` that it is."""

    context: dict[str, Any] = field(default_factory=dict)
    options: Callable[[Any], Any] = without_options
    cases: frozenset[str] = frozenset({"UNTRACED"})


VARIANTS = {
    "dev": Variant(),
    "prod": Variant(context={"stage": "prod"}),
    "key": Variant(context={"customer_key": True}),
    "xray": Variant(context={"tracing": "xray"}, cases=frozenset({"TRACED"})),
    "opentelemetry": Variant(
        context={"tracing": "opentelemetry", "opentelemetry_layer": LAYER},
        cases=frozenset({"TRACED"}),
    ),
    "network": Variant(options=in_network, cases=frozenset({"UNTRACED", "IN_NETWORK"})),
    "everything": Variant(
        context={
            "stage": "prod",
            "customer_key": True,
            "tracing": "xray",
            "alarm_email": "ops@example.org",
            "snap_start": True,
            "provisioned_pollers": True,
        },
        options=in_network,
        cases=frozenset({"TRACED", "IN_NETWORK", "EMAILED"}),
    ),
    "warm": Variant(context={"provisioned_concurrency": 3}),
    "tokens": Variant(
        context={
            "api_authorization": "jwt",
            "jwt_issuer": "https://login.example.com",
            "jwt_audience": "jobs",
        }
    ),
}


def findings(deployments: Deployments, variant: Variant) -> set[Finding]:
    """Return what cdk-nag finds in the construct, errors and warnings."""
    found: set[Finding] = set()

    def build(app: Any) -> None:
        import cdk_nag
        from aws_cdk import Stack

        from hourhand_cdk.config import read_config
        from hourhand_cdk.scheduler import HourhandScheduler

        stack = Stack(app, "own")
        HourhandScheduler(
            stack,
            "Scheduler",
            config=read_config(variant.context),
            packed=deployments.packed,
            worker_options=variant.options(stack),
        )
        start = f"{stack.node.path}/Scheduler/"
        for pack in PACKS:
            report = getattr(cdk_nag, pack)(app).validate_scope(app)
            for violation in report.violations:
                for resource in violation.violating_resources:
                    path = str(resource.construct_path)
                    # The network is the user's, and his to judge.
                    if path.startswith(start):
                        found.add((violation.rule_name, path.removeprefix(start)))

    deployments.synthesise(build)
    return found


def suppressed(deployments: Deployments, cases: frozenset[str]) -> set[Finding]:
    """Return what the suppressions of some cases name, as cdk-nag would."""
    from hourhand_cdk.nag import CONTENTS, SUPPRESSIONS

    (contents,) = deployments.with_worker(without_options).of_type("AWS::S3::Bucket")
    return {
        (suppression.rule.replace(CONTENTS, contents), _resource(path))
        for suppression in SUPPRESSIONS
        if suppression.case is None or suppression.case.name in cases
        for path in suppression.paths
    }


def _resource(path: str) -> str:
    return f"{path}/Resource"


@pytest.mark.parametrize("variant", VARIANTS)
def test_nothing_is_found_that_is_not_explained(deployments: Deployments, variant: str) -> None:
    assert findings(deployments, VARIANTS[variant]) == set()


@pytest.mark.parametrize("variant", ["dev", "prod", "xray", "network", "everything"])
def test_every_suppression_is_needed(
    deployments: Deployments, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hourhand_cdk import nag

    chosen = VARIANTS[variant]
    expected = suppressed(deployments, chosen.cases)
    monkeypatch.setattr(nag, "SUPPRESSIONS", ())
    assert findings(deployments, chosen) == expected


def test_every_case_is_tried() -> None:
    from hourhand_cdk.nag import Case

    tried = {case for variant in VARIANTS.values() for case in variant.cases}
    assert tried == {case.name for case in Case}


def test_every_suppression_says_why_in_a_sentence(deployments: Deployments) -> None:
    from hourhand_cdk.nag import SUPPRESSIONS

    for suppression in SUPPRESSIONS:
        assert suppression.reason.endswith("."), suppression
        assert len(suppression.reason.split()) >= LEAST_REASON_WORDS, suppression


def test_no_suppression_covers_a_whole_stack_or_construct_of_ours(deployments: Deployments) -> None:
    from hourhand_cdk.nag import SUPPRESSIONS

    assert all("/" in path for suppression in SUPPRESSIONS for path in suppression.paths)
