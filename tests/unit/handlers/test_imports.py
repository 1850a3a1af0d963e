"""A cold start imports only what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest


def modules_after(statement: str) -> set[str]:
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_domain_loads_neither_handlers_nor_pydantic() -> None:
    loaded = modules_after("import hourhand.domain.jobs.job")

    assert not {"hourhand.handlers", "pydantic", "asyncio", "boto3"} & loaded


def test_registering_a_handler_loads_no_pydantic_before_a_payload_needs_it() -> None:
    loaded = modules_after(
        "from hourhand import job, JobContext, Occurrence, Retry, NotRetryable\n"
        "from hourhand import RetryLater, Snooze\n"
        "job('plain')(lambda ctx, payload: None)"
    )

    assert "hourhand.handlers" in loaded
    assert not {"pydantic", "asyncio", "boto3", "aws_lambda_powertools"} & loaded


def test_the_package_has_nothing_that_it_does_not_name() -> None:
    import hourhand  # noqa: PLC0415 - what is tested is what it offers

    assert set(hourhand.__all__) <= set(dir(hourhand))
    with pytest.raises(AttributeError, match="no attribute 'Jobs'"):
        hourhand.Jobs  # noqa: B018 - looking it up is the test
