"""Which versions of ours go along."""

from __future__ import annotations

from importlib import metadata

import pytest

from hourhand_cdk.packing import PackingError
from hourhand_cdk.packing._pins import distribution_closure, our_pins


def test_the_pins_are_the_versions_of_this_environment_with_all_they_need() -> None:
    pins = dict(pin.split("==") for pin in our_pins())
    assert {"aws-lambda-powertools", "pydantic", "pydantic-core", "tzdata"} <= set(pins)
    assert pins["pydantic"] == metadata.version("pydantic")


def test_what_lambda_has_is_not_packed_nor_what_only_the_command_line_needs() -> None:
    names = {pin.partition("==")[0] for pin in our_pins()}
    assert not names & {"boto3", "botocore", "s3transfer", "urllib3", "typer", "moto", "hourhand"}


def test_a_distribution_that_is_not_installed_is_named() -> None:
    with pytest.raises(PackingError, match="no-such-thing is not installed"):
        distribution_closure(["no_such_thing"])
