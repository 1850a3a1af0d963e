"""One app's synthesis takes a second: deployments are made once in a session, by each worker."""

from __future__ import annotations

import pytest

from tests.infra.stacks import Deployment, Deployments, missing_tool, skip_without


@pytest.fixture(scope="session")
def deployments(tmp_path_factory: pytest.TempPathFactory) -> Deployments:
    """Return what makes deployments; skip where it cannot, but never in CI."""
    skip_without(missing_tool())
    return Deployments(tmp_path_factory.mktemp("deployments"))


@pytest.fixture(scope="session")
def dev(deployments: Deployments) -> Deployment:
    return deployments.of()


@pytest.fixture(scope="session")
def full(deployments: Deployments) -> Deployment:
    """Return what ``dev`` is, with metrics, alarms and dashboard as ``prod`` has them."""
    return deployments.of(monitoring="full")


@pytest.fixture(scope="session")
def prod(deployments: Deployments) -> Deployment:
    return deployments.of(stage="prod")
