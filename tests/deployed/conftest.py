"""Collected only when asked for by its path: it needs Node and minutes (``make e2e``)."""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.deployed.command_line import CDK
from tests.deployed.deployment import UPDATED_LOOK_AHEAD_SECONDS, Deployment, assemble
from tests.deployed.emulator import PYTHON, Emulator

FOLDER = Path(__file__).parent
ROUNDS = {"without IAM": False, "IAM enforced": True}

logger = logging.getLogger("e2e")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = [(config.invocation_params.dir / arg.partition("::")[0]) for arg in config.args]
    return None if any(path.resolve().is_relative_to(FOLDER) for path in asked) else True


@pytest.fixture(scope="session")
def assemblies() -> Iterator[Mapping[int, Path]]:
    """What is deployed, in every round, and what it is updated to: new handlers and a flag."""
    assert CDK.exists(), f"{CDK} is not there: run make e2e"
    with tempfile.TemporaryDirectory(prefix="hourhand-e2e-") as folder:
        yield {
            1: assemble(Path(folder), 1),
            2: assemble(Path(folder), 2, look_ahead_seconds=str(UPDATED_LOOK_AHEAD_SECONDS)),
        }


@pytest.fixture(scope="module", params=list(ROUNDS))
def deployment(
    request: pytest.FixtureRequest, assemblies: Mapping[int, Path]
) -> Iterator[Deployment]:
    """A deployment with the acceptance scenarios running on it."""
    assert PYTHON.exists(), f"{PYTHON} is not there: run make e2e"
    number = list(ROUNDS).index(request.param) + 1
    logger.info("round %d of %d: %s", number, len(ROUNDS), request.param)
    # Not pytest's own folder, which is kept: it would be 100 MB each time.
    folder = Path(tempfile.mkdtemp(prefix="hourhand-e2e-"))
    emulator = Emulator.start(folder, enforces_iam=ROUNDS[request.param])
    try:
        deployment = Deployment.make(folder, emulator, assemblies[1])
        deployment.start_all()
        yield deployment
        deployment.end()
    finally:
        emulator.end()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the emulator's last lines with each failure."""
    report = yield
    deployment = getattr(item, "funcargs", {}).get("deployment")
    if report.failed and isinstance(deployment, Deployment):
        report.sections.append(("emulator", deployment.emulator.log_tail()))
    return report
