"""What users' requirements may make of boto3 in the worker, and what is refused with its line."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from hourhand_cdk.packing import PackingError, Target
from hourhand_cdk.packing._aws_libraries import check_aws_libraries
from hourhand_cdk.packing._dependencies import Dependencies
from hourhand_cdk.packing._requirements import read_requirements
from tests.infra.packing.folders import write_files
from tests.infra.packing.wheels import WheelFolder, make_wheel

HERE = Target.this_machine()
LAMBDA = Target.lambda_arm64("3.14")

OLD = {"boto3": "1.28.17", "botocore": "1.31.17", "s3transfer": "0.6.2"}
FIT = {"boto3": "1.40.1", "botocore": "1.40.9", "s3transfer": "0.13.1"}
REQUIRES = {
    "boto3": ["botocore>=1.31.17,<1.50", "s3transfer>=0.6,<0.14"],
    "s3transfer": ["botocore>=1.31,<2"],
    "aiobotocore": ["botocore>=1.31.16,<1.31.65"],
    "mailer": ["boto3"],
}


def check(
    tmp_path: Path,
    text: str,
    resolved: dict[str, str],
    target: Target = HERE,
    **others: str,
) -> None:
    """Judge ``text``, with what an installer would have resolved it to."""
    tree = tmp_path / "tree"
    for name, version in resolved.items():
        wheel = make_wheel(tmp_path / "wheels", name, version, requires=REQUIRES.get(name, ()))
        with zipfile.ZipFile(wheel) as content:
            content.extractall(tree)
    files = {"requirements.txt": text, **{f"{name}.txt": more for name, more in others.items()}}
    read = read_requirements(write_files(tmp_path, files) / "requirements.txt")
    check_aws_libraries(tree, read, target)


@pytest.mark.parametrize("line", ["boto3==1.28.17", "boto3<1.29", "Boto3 ~= 1.28.0"])
def test_an_old_boto3_is_refused_by_its_line_and_what_it_resolved_to(
    tmp_path: Path, line: str
) -> None:
    expected = re.escape(
        f"requirements.txt line 2: {line} resolves to boto3 1.28.17. Hourhand needs boto3 1.40 or "
        "later. Write boto3>=1.40 instead, or remove the line: Lambda has a boto3 of its own."
    )
    with pytest.raises(PackingError, match=f"^{expected}"):
        check(tmp_path, f"six\n{line}\n", {"six": "1.17.0", **OLD})


def test_an_old_botocore_that_a_library_brings_is_refused_by_the_librarys_line(
    tmp_path: Path,
) -> None:
    # It is taken out of the pack, and the library would find one that it does not accept.
    with pytest.raises(
        PackingError,
        match=r"^requirements\.txt line 1: aiobotocore==2\.7\.0 resolves to botocore 1\.31\.64\. "
        r".* use a release of it that accepts boto3>=1\.40\.$",
    ):
        check(tmp_path, "aiobotocore==2.7.0", {"aiobotocore": "2.7.0", "botocore": "1.31.64"}, HERE)


def test_a_constraint_is_named_as_the_reason_too(tmp_path: Path) -> None:
    with pytest.raises(PackingError, match=r"pins\.txt line 1: boto3==1\.28\.17, requirements"):
        check(tmp_path, "-c pins.txt\nmailer", {"mailer": "1.0", **OLD}, pins="boto3==1.28.17\n")


@pytest.mark.parametrize("name", ["botocore", "s3transfer"])
def test_a_part_of_boto3_without_boto3_is_refused(tmp_path: Path, name: str) -> None:
    resolved = {one: FIT[one] for one in ("botocore", "s3transfer")}
    if name == "botocore":
        del resolved["s3transfer"]
    with pytest.raises(
        PackingError,
        match=rf"line 1: {name} resolves to .*{name} {FIT[name]} without boto3.*Write boto3>=1\.40",
    ):
        check(tmp_path, name, resolved)


def test_a_botocore_that_boto3_does_not_accept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PackingError,
        match=r"boto3, requirements\.txt line 2: botocore==1\.50\.0 resolves to "
        r"botocore 1\.50\.0\. boto3 1\.40\.1 needs botocore<1\.50,>=1\.31\.17\. "
        r"Write boto3>=1\.40 instead",
    ):
        check(tmp_path, "boto3\nbotocore==1.50.0", {**FIT, "botocore": "1.50.0"})


def test_an_s3transfer_that_boto3_does_not_accept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        PackingError, match=r"resolves to s3transfer 0\.20\.0\. boto3 1\.40\.1 needs"
    ):
        check(tmp_path, "boto3\ns3transfer==0.20.0", {**FIT, "s3transfer": "0.20.0"})


def test_what_lambdas_botocore_stands_on_may_not_be_replaced_by_what_it_excludes(
    tmp_path: Path,
) -> None:
    with pytest.raises(
        PackingError,
        match=r"line 1: urllib3==1\.20 resolves to urllib3 1\.20\. Lambda's own botocore needs "
        r"urllib3.*\. Write urllib3.* instead, or remove the line\.$",
    ):
        check(tmp_path, "urllib3==1.20", {"urllib3": "1.20"}, LAMBDA)


@pytest.mark.parametrize(
    ("text", "resolved"),
    [
        ("boto3>=1.40", FIT),
        ("boto3", FIT),
        ("botocore==1.40.9\nmailer", {"mailer": "1.0", **FIT}),
        # What Lambda has is taken out where no line names it: see `Dependencies.theirs`.
        ("mailer", {"mailer": "1.0", **FIT}),
        ("urllib3", {"urllib3": "2.5.0"}),
        ("six", {"six": "1.17.0"}),
        ("six\nboto3==1.28.17; python_version < '3'", {"six": "1.17.0"}),
        ("six\nbotocore; python_version < '3'", {"six": "1.17.0"}),
    ],
)
def test_what_fits_is_packed(tmp_path: Path, text: str, resolved: dict[str, str]) -> None:
    check(tmp_path, text, resolved)


def test_an_old_boto3_is_refused_before_anything_is_kept_of_it(
    tmp_path: Path, installer: WheelFolder
) -> None:
    make_wheel(installer.folder, "boto3", "1.28.17", {"boto3/__init__.py": ""})
    dependencies = Dependencies(lambda: installer, tmp_path / "cache", lambda _: None)
    text = write_files(tmp_path, {"requirements.txt": "boto3==1.28.17"}) / "requirements.txt"
    for _ in range(2):
        with pytest.raises(PackingError, match="Hourhand needs boto3"):
            dependencies.theirs(read_requirements(text), (), HERE)
    assert len(installer.asked) == 2


def test_the_advice_is_a_requirement_that_an_old_boto3_does_not_meet() -> None:
    from hourhand_cdk.packing._aws_libraries import WRITE

    assert not Requirement(WRITE).specifier.contains("1.39.17")
    assert Requirement(WRITE).specifier.contains("1.40.0")
