from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hourhand.aws.clients import OLDEST_TEXT, is_too_old

PROJECT = Path(__file__).parents[3] / "pyproject.toml"


@pytest.mark.parametrize(
    ("version", "too_old"),
    [
        ("1.31.85", True),
        ("1.39.17", True),
        ("0.99", True),
        ("1.40.0", False),
        ("1.44.5", False),
        ("2.0.0", False),
        ("10.1", False),
        ("1.40.0rc1", False),
        ("", False),
        ("unknown", False),
    ],
)
def test_a_version_below_the_oldest_is_too_old(version: str, too_old: bool) -> None:
    assert is_too_old(version) == too_old


def test_the_oldest_is_the_one_that_the_package_asks_for() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    for extra in ("cli", "functions"):
        assert f"boto3>={OLDEST_TEXT}" in extras[extra]


def test_the_oldest_is_what_the_proof_runs_with() -> None:
    pinned = (PROJECT.parent / "constraints-boto3-minimum.txt").read_text()
    for name in ("boto3", "botocore"):
        assert re.search(rf"^{name}=={re.escape(OLDEST_TEXT)}\.0\b", pinned, re.MULTILINE)
