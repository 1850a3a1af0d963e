"""Names that would take the place of others are refused, with what they would replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from hourhand_cdk.packing import HandlerSource, PackingError
from hourhand_cdk.packing._names import check_library_names, check_source_names, library_names
from hourhand_cdk.packing._source import read_source
from tests.infra.packing.folders import HANDLERS, write_files


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
