"""Installed libraries: when they are installed, what limits them, and how a refusal reads."""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

import pytest

from hourhand_cdk.packing import InstallFailed, PackingError, Target
from hourhand_cdk.packing._dependencies import WHEELS_ONLY, Dependencies
from hourhand_cdk.packing._requirements import read_requirements
from tests.infra.packing.folders import write_files
from tests.infra.packing.wheels import from_folder, make_wheel

HERE = Target.this_machine()
LAMBDA = Target.for_lambda("3.14", "arm64")
TOO_OLD = "Hourhand needs boto3 1.40 or later. Write boto3>=1.40 instead"


def installed(folder: Path, *lines: str, target: Target = HERE, pins: str = "") -> Path:
    """Return the tree of requirements, from the folder ``wheels``, kept in ``folder``."""
    text = from_folder(folder / "wheels", *lines)
    files = {"requirements.txt": text, "pins.txt": pins}
    requirements = read_requirements(write_files(folder, files) / "requirements.txt")
    return Dependencies(folder / "cache", lambda _: None).theirs(requirements, target)


@pytest.fixture
def boto3s(tmp_path: Path) -> None:
    """Put an old and a fitting boto3 into the folder, and what stands on boto3 and botocore."""

    def wheel(name: str, version: str, *requires: str) -> None:
        files = {f"{name}/__init__.py": f"VERSION = {version!r}\n"}
        make_wheel(tmp_path / "wheels", name, version, files, requires=requires)

    wheel("boto3", "1.28.17", "botocore>=1.31.17,<1.32", "s3transfer>=0.6,<0.7")
    wheel("boto3", "1.40.1", "botocore>=1.40.1,<1.41", "s3transfer>=0.13,<0.14")
    for version in ("1.31.17", "1.40.9", "1.50.0"):
        wheel("botocore", version)
    for version in ("0.6.2", "0.13.1", "0.20.0"):
        wheel("s3transfer", version, "botocore>=1.31,<2")
    wheel("aiobotocore", "2.7.0", "botocore>=1.31.16,<1.31.65")
    wheel("mailer", "1.0", "boto3")
    wheel("six", "1.17.0")


def test_the_same_requirements_are_installed_once(tmp_path: Path) -> None:
    for version in ("1.0", "2.0"):
        make_wheel(tmp_path / "wheels", "paper", version)
    first = installed(tmp_path, "paper==1.0")
    marker = write_files(first, {"kept": ""}) / "kept"
    assert installed(tmp_path, "paper==1.0") == first
    assert marker.is_file()
    assert installed(tmp_path, "paper==2.0") != first


def test_what_could_not_be_installed_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(InstallFailed):
        installed(tmp_path, "paper")
    make_wheel(tmp_path / "wheels", "paper", "1.0")
    assert (installed(tmp_path, "paper") / "paper.py").is_file()


def test_without_a_requirement_nothing_is_installed(tmp_path: Path) -> None:
    assert list(installed(tmp_path, "# none yet").iterdir()) == []


def test_hourhand_itself_is_packed_anyway_and_installed_from_nowhere(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "hourhand", "99")
    make_wheel(tmp_path / "wheels", "thing", "1.0", requires=["hourhand>=1"])
    tree = installed(tmp_path, f"hourhand[cli]>={metadata.version('hourhand')}", "thing")
    assert (tree / "thing.py").is_file()
    assert not (tree / "hourhand.py").exists()
    with pytest.raises(PackingError, match=r"^requirements\.txt line 3: hourhand>99 excludes"):
        installed(tmp_path, "hourhand>99")


# --- refusals ---


def test_what_has_no_wheel_for_lambda_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path,
) -> None:
    tag = "cp314-cp314-manylinux_2_17_x86_64"
    make_wheel(tmp_path / "wheels", "thing", "1.0", tag=tag)
    with pytest.raises(InstallFailed) as refused:
        installed(tmp_path, "thing>=1", target=LAMBDA)
    first, *_, last = refused.value.detail.splitlines()
    assert first == (
        "requirements.txt line 3: thing>=1 cannot be installed for "
        "Python 3.14 on aarch64-manylinux_2_28."
    )
    assert "no wheels with a matching platform tag" in refused.value.detail
    assert last == WHEELS_ONLY


@pytest.mark.parametrize("line", ["pydantic<2", "thing"])
def test_a_requirement_that_excludes_our_version_names_both(tmp_path: Path, line: str) -> None:
    ours = metadata.version("pydantic")
    make_wheel(tmp_path / "wheels", "thing", "1.0", requires=["pydantic<2"])
    for version in ("1.10.0", ours):
        make_wheel(tmp_path / "wheels", "pydantic", version)
    with pytest.raises(
        InstallFailed, match=rf"^requirements\.txt line 3: {line} cannot"
    ) as refused:
        installed(tmp_path, line)
    assert f"Hourhand is packed with pydantic=={ours} here. Widen the line" in refused.value.detail
    assert WHEELS_ONLY not in refused.value.detail


@pytest.mark.usefixtures("boto3s")
@pytest.mark.parametrize(
    "line", ["boto3==1.28.17", "boto3<1.29", "Boto3 ~= 1.28.0", "aiobotocore==2.7.0"]
)
def test_what_resolves_to_an_old_boto3_is_refused_by_its_line(tmp_path: Path, line: str) -> None:
    # Of a library's botocore, too: it is not packed, and the library may not work with Lambda's.
    with pytest.raises(InstallFailed) as refused:
        installed(tmp_path, "six", line)
    assert refused.value.detail.startswith(f"requirements.txt line 4: {line} cannot be installed")
    assert TOO_OLD in refused.value.detail


@pytest.mark.usefixtures("boto3s")
def test_a_constraint_is_named_as_the_reason_too(tmp_path: Path) -> None:
    with pytest.raises(InstallFailed, match=r"pins\.txt line 1: boto3==1\.28\.17") as refused:
        installed(tmp_path, "-c pins.txt", "mailer", pins="boto3==1.28.17\n")
    assert TOO_OLD in refused.value.detail


@pytest.mark.usefixtures("boto3s")
@pytest.mark.parametrize(
    "lines", [("boto3", "botocore==1.50.0"), ("s3transfer==0.20.0",), ("botocore==1.50.0",)]
)
def test_parts_of_boto3_that_do_not_fit_are_refused(tmp_path: Path, lines: tuple[str, ...]) -> None:
    with pytest.raises(InstallFailed, match=re.escape(lines[-1])) as refused:
        installed(tmp_path, *lines)
    assert TOO_OLD in refused.value.detail


def test_what_lambdas_botocore_excludes_is_refused(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "urllib3", "1.20")
    with pytest.raises(
        InstallFailed,
        match=r"(?s)^requirements\.txt line 3: urllib3==1\.20 cannot.*\nLambda's own boto3 needs "
        r"urllib3[^\n]*\.$",
    ):
        installed(tmp_path, "urllib3==1.20", target=LAMBDA)


# --- what fits ---


@pytest.mark.usefixtures("boto3s")
@pytest.mark.parametrize("line", ["boto3", "botocore", "s3transfer", "boto3>=1.40\nmailer"])
def test_a_line_of_boto3_or_a_part_of_it_packs_all_that_fits(tmp_path: Path, line: str) -> None:
    tree = installed(tmp_path, line)
    found = {name: (tree / name / "__init__.py").read_text() for name in ("boto3", "botocore")}
    assert found == {"boto3": "VERSION = '1.40.1'\n", "botocore": "VERSION = '1.40.9'\n"}
    assert "0.13.1" in (tree / "s3transfer" / "__init__.py").read_text()


@pytest.mark.usefixtures("boto3s")
@pytest.mark.parametrize("lines", [("mailer",), ("-c pins.txt", "mailer")])
def test_lambdas_boto3_is_used_where_no_line_asks_for_one(
    tmp_path: Path, lines: tuple[str, ...]
) -> None:
    tree = installed(tmp_path, *lines, pins="boto3==1.40.1\n")
    assert (tree / "mailer").is_dir()
    assert not list(tree.glob("*boto*"))
