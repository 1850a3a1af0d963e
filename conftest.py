"""Safety for every test: no real AWS account can be reached, whatever the machine is set up for.

The second lock is pytest-socket (see pyproject.toml), which lets tests talk to loopback only. It
does not bind the subprocesses that a test starts; this environment, which they inherit, does.
"""

import gc
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from tests.examples import PROFILE

_FAKE_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


def _forget_real_accounts() -> None:
    # Profiles, roles, container credentials and endpoints go too; a list of them would age.
    for name in [n for n in os.environ if n.startswith("AWS_")]:
        del os.environ[name]
    os.environ.pop("HOURHAND_ENDPOINT", None)
    os.environ.pop("HOURHAND_CONTEXT", None)
    # The contexts of the person who runs the tests are no part of them.
    os.environ["XDG_CONFIG_HOME"] = str(Path(tempfile.gettempdir(), "hourhand-tests-config"))
    os.environ.update(_FAKE_AWS)


# At import, not in a fixture: a test module that makes a client while it is collected is safe too.
_forget_real_accounts()
settings.load_profile(PROFILE)

TIERS = {
    "tests/browser": "browser",
    "tests/infra": "node",
    "proof": "exhaustive",
    "tests/crash/test_every_point.py": "exhaustive",
    "tests/crash/test_interleavings.py": "exhaustive",
    "tests/crash/test_occurrences.py": "exhaustive",
    "tests/crash/test_visits.py": "exhaustive",
    "tests/e2e/test_acceptance.py": "real_time",
    "tests/e2e/test_demo.py": "real_time",
    "tests/e2e/test_init_project.py": "real_time",
    "tests/e2e/test_local_cloud.py": "real_time",
    "tests/functions/test_cli_terminal.py": "real_time",
    "tests/functions/test_cold_start.py": "real_time",
    "tests/functions/test_generated_client.py": "real_time",
    "tests/unit/cli/test_entry.py": "real_time",
    "tests/unit/local/test_child_lines.py": "real_time",
    "tests/unit/local/test_child_process.py": "real_time",
    "tests/unit/local/test_memory_cloud.py": "real_time",
    "tests/unit/worker/test_exit.py": "real_time",
}
"""What is no part of ``make test``: folders and files, by the mark that leaves them out."""

UNTRACED = {
    "tests/contract",
    "tests/docs",
    "tests/unit/aws",
    "tests/unit/bench",
    "tests/unit/cli",
    "tests/unit/client",
    "tests/unit/local",
}
"""Folders whose tests run without coverage, which makes them two to three times slower.

They test what is outside the domain and the services, which their own tests reach as a whole.
"""

_ROOT = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop the first of the two measurements that pytest-cov 7 starts in a worker of xdist.

    It resumes while the second one is paused, so that `no_cover` had no effect in a worker.
    """
    plugin = session.config.pluginmanager.getplugin("_cov")
    is_worker = hasattr(session.config, "workerinput")
    if is_worker and plugin is not None and plugin.cov_controller is not None:
        plugin.cov_controller.cov.stop()


def pytest_collection() -> None:
    """Collect no garbage while tests are collected, since nearly all of that stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the collector pass over the tests and modules from now on."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long. A test alone among quick ones carries its mark itself."""
    for item in items:
        path = item.path.relative_to(_ROOT)
        for place in (path, *path.parents):
            if (mark := TIERS.get(place.as_posix())) is not None:
                item.add_marker(mark)
            if place.as_posix() in UNTRACED:
                item.add_marker("no_cover")
