"""What of ours goes along, and what of the user's cannot go with it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from hourhand_cdk.packing import PackingError, Target
from hourhand_cdk.packing._pins import (
    Pin,
    check_conflicts,
    distribution_closure,
    our_pins,
)
from hourhand_cdk.packing._requirements import Requirements, read_requirements
from tests.infra.packing.folders import write_files

LAMBDA = Target.lambda_arm64("3.13")
PINS = (Pin(name="pydantic", version="2.14.3"),)


def checked(tmp_path: Path, text: str) -> Requirements:
    write_files(tmp_path, {"requirements.txt": text})
    return check_conflicts(read_requirements(tmp_path / "requirements.txt"), PINS, LAMBDA.markers)


def test_the_pins_are_the_versions_of_this_environment_with_all_they_need() -> None:
    pins = {pin.name: pin.version for pin in our_pins(LAMBDA)}
    assert {"aws-lambda-powertools", "pydantic", "pydantic-core", "tzdata"} <= set(pins)
    assert pins["pydantic"] == metadata.version("pydantic")


def test_what_lambda_has_is_not_packed_nor_what_only_the_command_line_needs() -> None:
    names = {pin.name for pin in our_pins(LAMBDA)}
    assert not names & {"boto3", "botocore", "s3transfer", "urllib3", "typer", "moto", "hourhand"}


def test_a_distribution_that_is_not_installed_is_named() -> None:
    with pytest.raises(PackingError, match="no-such-thing is not installed"):
        distribution_closure(["no_such_thing"], {})


def test_a_requirement_that_excludes_our_version_names_both(tmp_path: Path) -> None:
    with pytest.raises(
        PackingError, match=r"requirements.txt line 1: pydantic<2 excludes pydantic==2\.14\.3"
    ):
        checked(tmp_path, "pydantic<2")


@pytest.mark.parametrize(
    "line", ["pydantic", "pydantic>=2", "pydantic<2; python_version < '3.12'", "Pydantic==2.14.3"]
)
def test_a_requirement_that_our_version_meets_is_taken(tmp_path: Path, line: str) -> None:
    assert len(checked(tmp_path, line).lines) == 1


def test_hourhand_itself_is_packed_anyway_and_installed_from_nowhere(tmp_path: Path) -> None:
    version = metadata.version("hourhand")
    assert checked(tmp_path, f"hourhand[cli]>={version}\nsix").lines[0].name == "six"
    with pytest.raises(PackingError, match="excludes hourhand=="):
        checked(tmp_path, "hourhand>99")
