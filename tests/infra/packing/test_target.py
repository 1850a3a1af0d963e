"""What a pack is made for."""

from __future__ import annotations

from typing import get_args

import pytest

from hourhand_cdk.config import Config
from hourhand_cdk.packing import PYTHONS, PackingError, Target


def test_lambda_of_today_takes_wheels_of_glibc_2_28_and_older() -> None:
    target = Target.for_lambda("3.13", "arm64")
    assert target.platform == "manylinux_2_28_aarch64"
    platforms = target.wheel_platforms
    assert platforms[0] == "manylinux_2_28_aarch64"
    assert {"manylinux_2_17_aarch64", "manylinux2014_aarch64"} <= set(platforms)


def test_lambda_of_amazon_linux_2_takes_only_older_wheels() -> None:
    assert Target.for_lambda("3.11", "x86_64").platform == "manylinux_2_17_x86_64"


def test_markers_are_judged_by_the_target() -> None:
    markers = Target.lambda_arm64("3.13").markers
    assert markers["python_version"] == "3.13"
    assert markers["platform_machine"] == "aarch64"
    assert Target.this_machine().markers == {}


def test_only_this_interpreter_is_this_machine() -> None:
    assert Target.this_machine().is_this_machine
    assert not Target.lambda_x86("3.13").is_this_machine


def test_what_fails_by_another_python_is_told_both_versions_and_what_to_do() -> None:
    target = Target.lambda_arm64("3.14")
    old, newer = Target.lambda_arm64("3.11"), Target.lambda_arm64("3.13")
    assert "with Python 3.11, which packs; the function runs 3.14" in target.advice_from(old)
    assert "setup PYTHON=python3.14" in target.advice_from(old)
    assert "-c python" not in target.advice_from(old)
    assert "-c python=3.13" in target.advice_from(newer)
    assert target.advice_from(Target.lambda_x86("3.14")) == ""


def test_the_pythons_that_are_advised_are_those_that_a_deployment_takes() -> None:
    assert get_args(Config.model_fields["python"].annotation) == PYTHONS


@pytest.mark.parametrize("python", ["3", "3.13.1", "python3.13", "2.7", ""])
def test_a_version_of_python_is_written_one_way(python: str) -> None:
    with pytest.raises(PackingError, match=r"written like 3\.13"):
        Target.lambda_arm64(python)


def test_an_architecture_that_lambda_has_not_is_refused() -> None:
    with pytest.raises(PackingError, match="arm64 or x86_64, not on 'riscv'"):
        Target.for_lambda("3.13", "riscv")
