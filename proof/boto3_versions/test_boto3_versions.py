"""The functions start and work on the oldest boto3 that is promised, the newest, and an older one.

Each boto3 is in an environment of its own: ``make boto3``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from hourhand.aws.clients import OLDEST_TEXT, is_too_old
from hourhand_cdk.packing import Packed
from proof.boto3_versions.rig import Ran, libraries_of, packed_functions, run_all

IN_CI = "HOURHAND_CI"


@pytest.fixture(scope="module")
def packed() -> Iterator[Packed]:
    with packed_functions() as packed:
        yield packed


def run(packed: Packed, environment: str) -> Ran:
    libraries = libraries_of(environment)
    if not libraries.is_dir() and IN_CI not in os.environ:
        pytest.skip("`make boto3` installs other versions of boto3")
    return run_all(packed, libraries)


@pytest.mark.parametrize("environment", ["minimum", "newest"])
def test_the_functions_work_by_the_lean_client(packed: Packed, environment: str) -> None:
    ran = run(packed, environment)
    assert ran.is_well, ran
    assert set(ran.fallbacks.values()) == {()}
    assert not is_too_old(ran.botocore)
    if environment == "minimum":
        assert ran.botocore.startswith(f"{OLDEST_TEXT}.")


def test_the_functions_work_on_an_older_boto3_and_log_once_what_they_do_without(
    packed: Packed,
) -> None:
    ran = run(packed, "old")
    assert ran.is_well, ran
    assert is_too_old(ran.botocore)
    for fallbacks in ran.fallbacks.values():
        assert fallbacks == ("lean client: NotLean: botocore describes sqs as query",)
