"""What a pack is made for."""

from __future__ import annotations

from typing import get_args

import pytest

from hourhand_cdk.config import Config
from hourhand_cdk.packing import PYTHONS, PackingError, Target


@pytest.mark.parametrize(("architecture", "machine"), [("arm64", "aarch64"), ("x86_64", "x86_64")])
def test_lambda_takes_wheels_of_glibc_2_28_and_older(architecture: str, machine: str) -> None:
    target = Target.for_lambda("3.13", architecture)
    assert (target.python, target.platform) == ("3.13", f"{machine}-manylinux_2_28")


def test_only_this_interpreter_is_this_machine() -> None:
    assert Target.this_machine().is_this_machine
    assert not Target.for_lambda("3.13", "x86_64").is_this_machine


def test_a_failure_with_another_python_names_both_versions_and_what_to_do() -> None:
    target = Target.for_lambda("3.14", "arm64")
    old, newer = Target(python="3.11", platform="linux"), Target.for_lambda("3.13", "arm64")
    assert "with Python 3.11, which packs; the function runs 3.14" in target.advice_from(old)
    assert "setup PYTHON=python3.14" in target.advice_from(old)
    assert "-c python" not in target.advice_from(old)
    assert "-c python=3.13" in target.advice_from(newer)
    assert target.advice_from(Target.for_lambda("3.14", "x86_64")) == ""


def test_the_pythons_that_are_advised_are_those_that_a_deployment_takes() -> None:
    assert get_args(Config.model_fields["python"].annotation) == PYTHONS


@pytest.mark.parametrize("python", ["3.11", "3.13.1", "python3.13", "2.7", ""])
def test_another_python_is_refused(python: str) -> None:
    with pytest.raises(PackingError, match=r"run Python 3\.12, 3\.13, 3\.14, not"):
        Target.for_lambda(python, "arm64")


def test_an_architecture_that_lambda_has_not_is_refused() -> None:
    with pytest.raises(PackingError, match="arm64 or x86_64, not on 'riscv'"):
        Target.for_lambda("3.13", "riscv")
