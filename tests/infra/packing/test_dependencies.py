"""Installed libraries, and when they are installed at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from hourhand_cdk.packing import Target
from hourhand_cdk.packing._dependencies import Dependencies
from hourhand_cdk.packing._requirements import read_requirements
from tests.infra.packing.folders import write_files
from tests.infra.packing.wheels import WheelFolder, make_wheel

HERE = Target.this_machine()


def installed(folder: Path, installer: WheelFolder, text: str) -> Path:
    """Return the tree of requirements, kept in ``folder``."""
    lines = read_requirements(write_files(folder, {"requirements.txt": text}) / "requirements.txt")
    dependencies = Dependencies(lambda: installer, folder / "cache", lambda _: None)
    tree = dependencies.theirs(lines, (), HERE)
    assert tree is not None
    return tree


def test_the_same_requirements_are_installed_once(tmp_path: Path, installer: WheelFolder) -> None:
    make_wheel(installer.folder, "paper", "1.0")
    make_wheel(installer.folder, "paper", "2.0")
    first = installed(tmp_path, installer, "paper==1.0")
    assert installed(tmp_path, installer, "paper==1.0") == first
    assert len(installer.asked) == 1
    assert installed(tmp_path, installer, "paper==2.0") != first
    assert len(installer.asked) == 2


@pytest.mark.parametrize(("line", "is_kept"), [("helper==1.0", False), ("boto3==99.0", True)])
def test_boto3_is_kept_only_where_it_is_asked_for_by_name(
    tmp_path: Path, installer: WheelFolder, line: str, is_kept: bool
) -> None:
    # An installer would bring boto3 along with whatever depends on it.
    boto3 = {"boto3/__init__.py": ""}
    make_wheel(installer.folder, "helper", "1.0", {"helper.py": "", **boto3})
    make_wheel(installer.folder, "boto3", "99.0", boto3)
    assert (installed(tmp_path, installer, line) / "boto3").is_dir() == is_kept


def test_without_requirements_nothing_is_installed(tmp_path: Path, installer: WheelFolder) -> None:
    lines = read_requirements(write_files(tmp_path, {"requirements.txt": ""}) / "requirements.txt")
    dependencies = Dependencies(lambda: installer, tmp_path / "cache", lambda _: None)
    assert dependencies.theirs(lines, (), HERE) is None
    assert installer.asked == []
