"""cdk-nag has nothing to say, and each thing that it was told to overlook is still there."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.stacks import Deployments

PACKS = ("AwsSolutionsChecks", "ServerlessChecks")
LEAST_REASON_WORDS = 6

Finding = tuple[str, str]
"""The id of a rule or of one of its findings, and the path of the construct in the scheduler."""


def findings(deployments: Deployments, **context: Any) -> set[Finding]:
    """Return what cdk-nag finds in a deployment, errors and warnings."""
    found: set[Finding] = set()

    def build(app: Any) -> None:
        import cdk_nag

        from hourhand_cdk.app import make_stack
        from hourhand_cdk.config import read_config

        stack = make_stack(app, read_config(context), deployments.packed)
        start = f"{stack.node.path}/Scheduler/"
        for pack in PACKS:
            report = getattr(cdk_nag, pack)(app).validate_scope(app)
            for violation in report.violations:
                for resource in violation.violating_resources:
                    path = str(resource.construct_path)
                    found.add((violation.rule_name, path.removeprefix(start)))

    deployments.synthesise(build)
    return found


@pytest.fixture
def suppressed(deployments: Deployments) -> set[Finding]:
    """Return what the suppressions name, as cdk-nag would."""
    from hourhand_cdk.nag import CONTENTS, SUPPRESSIONS

    (contents,) = deployments.of().of_type("AWS::S3::Bucket")
    return {
        (suppression.rule.replace(CONTENTS, contents), _resource(path))
        for suppression in SUPPRESSIONS
        for path in suppression.paths
    }


def _resource(path: str) -> str:
    return f"{path}/Resource"


@pytest.mark.parametrize("context", [{}, {"stage": "prod"}, {"customer_key": True}])
def test_nothing_is_found_that_is_not_explained(
    deployments: Deployments, context: dict[str, Any]
) -> None:
    assert findings(deployments, **context) == set()


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_every_suppression_is_needed(
    deployments: Deployments,
    suppressed: set[Finding],
    stage: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from hourhand_cdk import nag

    monkeypatch.setattr(nag, "SUPPRESSIONS", ())
    assert findings(deployments, stage=stage) == suppressed


def test_every_suppression_says_why_in_a_sentence(deployments: Deployments) -> None:
    from hourhand_cdk.nag import SUPPRESSIONS

    for suppression in SUPPRESSIONS:
        assert suppression.reason.endswith("."), suppression
        assert len(suppression.reason.split()) >= LEAST_REASON_WORDS, suppression


def test_no_suppression_covers_a_whole_stack_or_construct_of_ours(deployments: Deployments) -> None:
    from hourhand_cdk.nag import SUPPRESSIONS

    assert all("/" in path for suppression in SUPPRESSIONS for path in suppression.paths)
