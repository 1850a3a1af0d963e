"""Folders that become assets."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path, PurePosixPath

from hourhand_cdk.packing._trees import (
    FIXED_TIME,
    copy_tree,
    settle,
    tidy,
    tree_digest,
    tree_size,
    zipped_bytes,
)
from tests.infra.packing.folders import write_files

INSTALLED = {
    "thing/__init__.py": "A = 1\n",
    "thing/__pycache__/__init__.cpython-311.pyc": "compiled",
    "thing-1.0.dist-info/METADATA": "Name: thing\n",
    "thing-1.0.dist-info/entry_points.txt": "",
    "thing-1.0.dist-info/RECORD": "/home/me/thing",
    "thing-1.0.dist-info/INSTALLER": "pip",
    "thing-1.0.dist-info/REQUESTED": "",
    "thing-1.0.dist-info/direct_url.json": "{}",
    "thing/RECORD": "not an installer's",
    "bin/thing": "#!/home/me/.venv/bin/python",
    ".lock": "",
}


def test_what_differs_between_machines_goes(tmp_path: Path) -> None:
    tidy(write_files(tmp_path, INSTALLED))
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {
        "thing/__init__.py",
        "thing/RECORD",
        "thing-1.0.dist-info/METADATA",
        "thing-1.0.dist-info/entry_points.txt",
    }


def test_a_copy_has_the_digest_of_its_original_whatever_the_modes_were(tmp_path: Path) -> None:
    one, other = (write_files(tmp_path / name, {"a/b.py": "B = 1\n"}) for name in ("one", "other"))
    (other / "a").chmod(0o700)
    (other / "a" / "b.py").chmod(0o600)
    copy_tree(one, tmp_path / "first")
    copy_tree(other, tmp_path / "second")
    assert tree_digest(tmp_path / "first") == tree_digest(tmp_path / "second")


def test_a_digest_tells_places_contents_and_programs_apart(tmp_path: Path) -> None:
    base = {"a.py": "A", "b.py": "B"}
    variants = [base, {"a.py": "A", "c.py": "B"}, {"a.py": "AB", "b.py": ""}]
    folders = [write_files(tmp_path / str(n), files) for n, files in enumerate(variants)]
    program = write_files(tmp_path / "program", base)
    (program / "a.py").chmod(0o755)
    assert len({tree_digest(folder) for folder in [*folders, program]}) == 4


def test_times_are_fixed_and_programs_stay_programs(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "from", {"tool/run": "#!/bin/sh\n", "a.py": ""})
    (folder / "tool" / "run").chmod(0o700)
    copy_tree(folder, tmp_path / "to")
    settle(tmp_path / "to")
    run = tmp_path / "to" / "tool" / "run"
    assert run.stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "to" / "a.py").stat().st_mode & 0o777 == 0o644
    times = {path.stat().st_mtime for path in (tmp_path / "to").rglob("*")}
    assert times == {FIXED_TIME}


def test_a_copy_leaves_out_what_it_is_told_to(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "from", {"a.py": "", "b/c.py": ""})
    copy_tree(folder, tmp_path / "to", lambda place: not place.is_relative_to(PurePosixPath("b")))
    assert [path.name for path in (tmp_path / "to").rglob("*")] == ["a.py"]


def test_sizes_are_those_of_a_real_archive(tmp_path: Path) -> None:
    files = {"big/a.txt": "a" * 5000, "big/b.txt": "b" * 3000, "small.txt": "c" * 10}
    folder = write_files(tmp_path, files)
    size = tree_size(folder, shown=1)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for place in files:
            written.write(folder / place, place)
    assert size.unzipped_bytes == 8010
    assert size.largest == (("big", 8000),)
    # A stream that cannot be sought has 16 bytes more for each file: its sizes, told afterwards.
    assert zipped_bytes(folder) == len(archive.getvalue()) + 16 * len(files)
