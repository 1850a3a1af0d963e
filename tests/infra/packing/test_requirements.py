"""What is read of a requirements file before uv judges it."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from hourhand_cdk.packing import HandlerSource, PackingError
from hourhand_cdk.packing._names import check_library_names, check_source_names, library_names
from hourhand_cdk.packing._pins import distribution_closure, our_pins
from hourhand_cdk.packing._requirements import Requirements, read_requirements
from hourhand_cdk.packing._source import read_source
from tests.infra.packing.folders import HANDLERS, write_files
from tests.infra.packing.wheels import make_wheel


def read(tmp_path: Path, text: str, **others: str) -> Requirements:
    files = {f"{name}.txt": content for name, content in others.items()}
    write_files(tmp_path, {"requirements.txt": text, **files})
    return read_requirements(tmp_path / "requirements.txt")


def test_each_line_has_its_name_and_its_place(tmp_path: Path) -> None:
    text = """
        # what the jobs need
        requests[socks] >= 2, < 3   # as tested
        --index-url https://example.com/simple
        ./wheels/thing-1.0-py3-none-any.whl
        Typing_Extensions; python_version < "3.12"
        six==1.17.0 \\
            --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
    """
    lines = read(tmp_path, text).lines
    assert [line.name for line in lines] == ["requests", "typing-extensions", "six"]
    assert lines[2].place == "requirements.txt line 7"
    assert str(lines[0]) == "requirements.txt line 3: requests[socks] >= 2, < 3"


@pytest.mark.parametrize("line", ["--no-binary :all:", "--no-binary=thing", "--no-binary thing"])
def test_a_line_that_asks_for_a_build_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(PackingError, match=r"^more\.txt line 2: --no-binary is refused"):
        read(tmp_path, "-r more.txt\n", more=f"six\n{line}\n")


@pytest.mark.parametrize("option", ["-r ", "-r", "--requirement=", "--requirement "])
def test_a_nested_file_is_read_with_its_own_places(tmp_path: Path, option: str) -> None:
    (line,) = read(tmp_path, f"{option}more.txt\n", more="six\n").lines
    assert str(line) == "more.txt line 1: six"


def test_files_may_name_one_another_in_a_circle(tmp_path: Path) -> None:
    lines = read(tmp_path, "-r more.txt\nsix", more="-r requirements.txt\ntzdata").lines
    assert {line.name for line in lines} == {"tzdata", "six"}


def test_constraints_are_known_as_such(tmp_path: Path) -> None:
    found = read(tmp_path, "-c pins.txt\nsix", pins="six==1.17.0\n-r more.txt", more="tzdata==1\n")
    assert [line.name for line in found.lines if not line.is_constraint] == ["six"]
    assert [line.name for line in found.lines if line.is_constraint] == ["six", "tzdata"]
    assert found.pinned == {"six", "tzdata"}


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackingError, match=r"more\.txt cannot be read"):
        read(tmp_path, "-r more.txt")


@pytest.mark.parametrize(
    ("line", "pinned"),
    [("six==1.17.0", True), ("six===1.17.0", True), ("six==1.*", False), ("six>=1", False)],
)
def test_what_is_pinned_to_one_version_is_known(tmp_path: Path, line: str, pinned: bool) -> None:
    assert ("six" in read(tmp_path, line).pinned) == pinned


def test_a_continued_line_is_one_requirement(tmp_path: Path) -> None:
    assert [line.text for line in read(tmp_path, "six \\\n  >= 1\n").lines] == ["six   >= 1"]
    assert [line.text for line in read(tmp_path, "six \\").lines] == ["six"]


def test_the_digest_changes_with_every_file_that_is_named(tmp_path: Path) -> None:
    first = read(tmp_path, "-r more.txt", more="six").digest
    assert read(tmp_path, "-r more.txt", more="six").digest == first
    assert read(tmp_path, "-r more.txt", more="six==1.17.0").digest != first


@pytest.mark.parametrize("line", ["./wheels/thing-1.0-py3-none-any.whl", "--find-links=wheels"])
def test_the_digest_changes_with_a_wheel_of_this_machine(tmp_path: Path, line: str) -> None:
    make_wheel(tmp_path / "wheels", "thing", "1.0")
    first = read(tmp_path, line).digest
    assert read(tmp_path, line).digest == first
    make_wheel(tmp_path / "wheels", "thing", "1.0", {"thing.py": "IS_NEW = True\n"})
    assert read(tmp_path, line).digest != first


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


@pytest.mark.parametrize(
    ("place", "owner"),
    [
        ("main.py", "Hourhand's own main"),
        ("main/__init__.py", "Hourhand's own main"),
        ("hourhand/__init__.py", "Hourhand's own hourhand"),
        ("manifest.json", "the manifest of the handlers"),
        ("pydantic.py", "the installed package pydantic"),
        ("fast/__init__.py", "the installed package fast"),
        ("queue.py", "Python's own module queue"),
        ("email/text.txt", "Python's own module email"),
        ("json.cpython-313-aarch64-linux-gnu.so", "Python's own module json"),
        ("sitecustomize.py", "Python's own module sitecustomize"),
        ("boto3/__init__.py", "Lambda's own boto3"),
        ("bootstrap", "Lambda's own bootstrap"),
        ("awslambdaric/__init__.py", "Lambda's own awslambdaric"),
    ],
)
def test_a_file_that_would_shadow_another_is_refused(
    tmp_path: Path, place: str, owner: str
) -> None:
    files = {"pydantic/__init__.py": "", "fast.cpython-313-aarch64-linux-gnu.so": ""}
    libraries = write_files(tmp_path / "libraries", files)
    folder = write_files(tmp_path / "jobs", {"handlers.py": HANDLERS, place: ""})
    with pytest.raises(PackingError, match=f"would take the place of {owner}"):
        check_source_names(read_source(HandlerSource(path=folder)), library_names(libraries))


def test_the_same_names_inside_a_package_are_free(tmp_path: Path) -> None:
    files = {"__init__.py": "", "main.py": "", "queue.py": "", "manifest.json": ""}
    folder = write_files(tmp_path / "billing", files)
    check_source_names(read_source(HandlerSource(path=folder)), {})


@pytest.mark.parametrize("name", ["hourhand", "main", "typing"])
def test_a_library_that_would_shadow_another_is_refused(tmp_path: Path, name: str) -> None:
    ours = write_files(tmp_path / "ours", {"pydantic/__init__.py": ""})
    theirs = write_files(tmp_path / "theirs", {f"{name}.py": ""})
    with pytest.raises(PackingError, match=f"install {name}.py, which would take the place of"):
        check_library_names(ours, theirs)


def test_a_library_of_both_and_a_boto3_of_ones_own_are_taken(tmp_path: Path) -> None:
    ours = write_files(tmp_path / "ours", {"pydantic/__init__.py": ""})
    files = {"pydantic/__init__.py": "", "boto3/__init__.py": "", "a-1.dist-info/METADATA": ""}
    check_library_names(ours, write_files(tmp_path / "theirs", files))
