"""What a requirements file may say, and what is refused with its file and line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hourhand_cdk.packing import PackingError
from hourhand_cdk.packing._requirements import Requirements, read_requirements
from tests.infra.packing.folders import write_files


def read(tmp_path: Path, text: str, **others: str) -> Requirements:
    files = {f"{name}.txt": content for name, content in others.items()}
    write_files(tmp_path, {"requirements.txt": text, **files})
    return read_requirements(tmp_path / "requirements.txt")


def test_names_versions_markers_and_hashes_are_taken(tmp_path: Path) -> None:
    text = """
        # what the jobs need
        requests[socks] >= 2, < 3   # as tested
        Typing_Extensions; python_version < "3.12"
        six==1.17.0 \\
            --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274
    """
    read_lines = read(tmp_path, text)
    assert [line.name for line in read_lines.lines] == ["requests", "typing-extensions", "six"]
    assert read_lines.lines[2].place == "requirements.txt line 5"
    assert "--hash=sha256:4721" in read_lines.lines[2].text


@pytest.mark.parametrize(
    "line",
    [
        "-e .",
        "-e./here",
        "--editable=./here",
        "./here",
        "../there",
        "/opt/here",
        "~/here",
        "file:///opt/here",
        "wheels/thing-1.0-py3-none-any.whl",
        "thing-1.0.tar.gz",
        "https://example.com/thing-1.0-py3-none-any.whl",
        "thing @ https://example.com/thing-1.0-py3-none-any.whl",
        "thing @ git+https://example.com/thing",
        "thing @ here",
        "git+https://example.com/thing",
        "git+ssh://git@example.com/thing#egg=thing",
        "--no-binary :all:",
        "--no-binary=thing",
        "--pre",
        "--use-feature=fast-deps",
        "--config-settings=a=b",
        "thing --config-settings=a=b",
        "thing --global-option=build_ext",
        "-r https://example.com/requirements.txt",
        "-r",
        "--index-url",
        "-i one two",
        "thing ==",
        "-i 'unclosed",
    ],
)
def test_what_could_build_or_run_foreign_code_is_refused_by_its_line(
    tmp_path: Path, line: str
) -> None:
    with pytest.raises(PackingError, match=r"^requirements\.txt line 2: "):
        read(tmp_path, f"six\n{line}\n")


@pytest.mark.parametrize("option", ["-r", "--requirement="])
def test_a_nested_file_is_read_by_the_same_rules(tmp_path: Path, option: str) -> None:
    with pytest.raises(PackingError, match=r"^more\.txt line 1: -e is refused"):
        read(tmp_path, f"{option} more.txt\n", more="-e .\n")
    assert read(tmp_path, f"{option} more.txt\n", more="six\n").lines[0].place == "more.txt line 1"


def test_files_may_name_one_another_in_a_circle(tmp_path: Path) -> None:
    read_lines = read(tmp_path, "-r more.txt\nsix", more="-r requirements.txt\ntzdata")
    assert [line.name for line in read_lines.lines] == ["tzdata", "six"]


def test_constraints_install_nothing(tmp_path: Path) -> None:
    read_lines = read(tmp_path, "-c pins.txt\nsix", pins="six==1.17.0\ntzdata==2026.1\n")
    assert [line.name for line in read_lines.lines] == ["six"]
    assert [line.text for line in read_lines.constraints] == ["six==1.17.0", "tzdata==2026.1"]
    assert read_lines.pinned == {"six", "tzdata"}


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(PackingError, match=r"more\.txt cannot be read"):
        read(tmp_path, "-r more.txt")


def test_options_of_indexes_are_taken_and_spelt_one_way(tmp_path: Path) -> None:
    text = """
        -i https://example.com/simple
        --extra-index-url=https://${TOKEN}@example.org/simple
        --no-index
        --only-binary :all:
    """
    assert read(tmp_path, text).options == (
        "--index-url https://example.com/simple",
        "--extra-index-url https://${TOKEN}@example.org/simple",
        "--no-index",
    )


def test_a_folder_of_wheels_is_found_beside_the_file_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    options = read(tmp_path, "-f wheels").options
    assert options == (f"--find-links {(tmp_path / 'wheels').resolve()}",)


@pytest.mark.parametrize(
    ("line", "pinned"),
    [("six==1.17.0", True), ("six===1.17.0", True), ("six==1.*", False), ("six>=1", False)],
)
def test_what_is_pinned_to_one_version_is_known(tmp_path: Path, line: str, pinned: bool) -> None:
    assert ("six" in read(tmp_path, line).pinned) == pinned


def test_a_continued_line_is_one_requirement(tmp_path: Path) -> None:
    assert [line.text for line in read(tmp_path, "six \\\n  >= 1\n").lines] == ["six    >= 1"]
    assert re.fullmatch(r"six\s*", read(tmp_path, "six \\").lines[0].text)
