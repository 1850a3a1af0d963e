"""Which files are packed, where they go, and which module registers the handlers."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from hourhand_cdk.packing import HandlerSource, PackingError
from hourhand_cdk.packing._source import SourceFiles, choose_module, read_source
from tests.infra.packing.folders import HANDLERS, write_files


def read(path: Path) -> SourceFiles:
    return read_source(HandlerSource(path=path))


def places(files: SourceFiles) -> list[str]:
    return [str(place) for place in files.places]


def test_a_folder_with_an_init_file_is_a_package_of_its_name(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "billing", {"__init__.py": "", "jobs.py": HANDLERS})
    files = read(folder)
    assert places(files) == ["billing/__init__.py", "billing/jobs.py"]
    assert choose_module(files, None) == "billing"


def test_the_contents_of_any_other_folder_go_to_the_root(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"handlers.py": HANDLERS, "mail/text.txt": "hello"})
    assert places(read(folder)) == ["handlers.py", "mail/text.txt"]


def test_a_single_file_is_a_module_and_its_requirements_lie_beside_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"jobs.py": HANDLERS, "other.py": "", "requirements.txt": ""})
    files = read(tmp_path / "jobs.py")
    assert places(files) == ["jobs.py"]
    assert files.requirements == (tmp_path / "requirements.txt").resolve()
    assert choose_module(files, None) == "jobs"


def test_a_package_whose_name_cannot_be_imported_is_refused(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "my-jobs", {"__init__.py": ""})
    with pytest.raises(PackingError, match="'my-jobs' is not a name that Python can import"):
        read(folder)


@pytest.mark.parametrize(
    "skipped",
    [
        ".env",
        ".git/config",
        "__pycache__/handlers.cpython-313.pyc",
        "old.pyc",
        "venv/pyvenv.cfg",
        "node_modules/left.js",
        "jobs.egg-info/PKG-INFO",
    ],
)
def test_what_is_no_source_is_not_packed(tmp_path: Path, skipped: str) -> None:
    folder = write_files(tmp_path, {"handlers.py": HANDLERS, skipped: "secret"})
    assert places(read(folder)) == ["handlers.py"]


def test_a_link_that_leaves_the_folder_is_refused_by_name(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "home", {"id_rsa": "secret"})
    folder = write_files(tmp_path / "jobs", {"handlers.py": HANDLERS})
    (folder / "key").symlink_to(outside / "id_rsa")
    with pytest.raises(PackingError, match="key is a link that leads out of jobs"):
        read(folder)


def test_a_link_to_a_folder_outside_is_refused(tmp_path: Path) -> None:
    outside = write_files(tmp_path / "home", {"id_rsa": "secret"})
    folder = write_files(tmp_path / "jobs", {"handlers.py": HANDLERS})
    (folder / "keys").symlink_to(outside)
    with pytest.raises(PackingError, match="keys is a link that leads out"):
        read(folder)


def test_a_link_inside_the_folder_is_packed_as_what_it_points_to(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"handlers.py": HANDLERS, "templates/a.txt": "a"})
    (folder / "first.txt").symlink_to("templates/a.txt")
    assert read(folder).places[PurePosixPath("first.txt")].read_text() == "a"


def test_a_link_to_a_folder_that_it_is_in_is_refused(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"handlers.py": HANDLERS, "sub/a.txt": "a"})
    (folder / "sub" / "again").symlink_to(folder)
    with pytest.raises(PackingError, match="sub/again is a link to a folder that it is in"):
        read(folder)


@pytest.mark.parametrize(("name", "said"), [("nothing", "not there"), ("notes.txt", "neither")])
def test_what_is_no_folder_and_no_python_file_is_refused(
    tmp_path: Path, name: str, said: str
) -> None:
    write_files(tmp_path, {"notes.txt": ""})
    with pytest.raises(PackingError, match=said):
        read(tmp_path / name)


def test_a_pyproject_is_not_read_and_the_user_is_told(tmp_path: Path) -> None:
    folder = write_files(tmp_path, {"handlers.py": HANDLERS, "pyproject.toml": ""})
    assert "pyproject.toml is not read" in read(folder).notes[0]


# --- the module ---


def test_a_module_that_is_given_wins(tmp_path: Path) -> None:
    files = read(write_files(tmp_path, {"handlers.py": HANDLERS, "other.py": HANDLERS}))
    assert choose_module(files, "other") == "other"


@pytest.mark.parametrize("handlers", ["handlers.py", "handlers/__init__.py"])
def test_handlers_is_the_module_among_several(tmp_path: Path, handlers: str) -> None:
    files = read(write_files(tmp_path, {handlers: HANDLERS, "library.py": ""}))
    assert choose_module(files, None) == "handlers"


def test_the_only_module_is_the_one(tmp_path: Path) -> None:
    files = read(write_files(tmp_path, {"jobs.py": HANDLERS, "data.json": "{}"}))
    assert choose_module(files, None) == "jobs"


@pytest.mark.parametrize("other", ["lib.py", "tests/test_jobs.py", "lib/__init__.py"])
def test_the_only_module_of_the_root_that_registers_is_the_one(tmp_path: Path, other: str) -> None:
    text = HANDLERS if other.startswith("tests/") else "LIMIT = 3\n"
    assert choose_module(read(write_files(tmp_path, {"jobs.py": HANDLERS, other: text})), None) == (
        "jobs"
    )


def test_among_several_that_register_the_user_must_choose_and_sees_them(tmp_path: Path) -> None:
    files = {"one.py": HANDLERS, "two.py": HANDLERS, "library.py": ""}
    with pytest.raises(PackingError, match=r"There are one, two\. Name it: ") as refused:
        choose_module(read(write_files(tmp_path, files)), None)
    for way in ("MODULE=NAME", "-c handlers_module=NAME", "--module NAME"):
        assert way in refused.value.detail


def test_where_no_text_tells_the_user_sees_every_module(tmp_path: Path) -> None:
    files = read(write_files(tmp_path, {"one.py": "", "two.py": ""}))
    with pytest.raises(PackingError, match="There are one, two"):
        choose_module(files, None)


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("my-jobs.py", "my_jobs.py"),
        ("jobs.v2.py", "jobs_v2.py"),
        ("2jobs.py", "_2jobs.py"),
        ("my-mail/jobs.py", "my_mail/jobs.py"),
    ],
)
@pytest.mark.parametrize("others", [{}, {"library.py": ""}], ids=["alone", "with others"])
def test_a_file_that_cannot_be_imported_is_told_a_name_that_can(
    tmp_path: Path, name: str, better: str, others: dict[str, str]
) -> None:
    folder = write_files(tmp_path, {name: HANDLERS, **others})
    said = f"{name} has a name that Python cannot import. Rename it to {better}."
    for path in (folder, folder / name) if "/" not in name else (folder,):
        with pytest.raises(PackingError) as refused:
            choose_module(read(path), None)
        assert refused.value.detail == said


def test_a_script_beside_the_handlers_may_have_any_name(tmp_path: Path) -> None:
    files = read(write_files(tmp_path, {"jobs.py": HANDLERS, "load-test.py": ""}))
    assert choose_module(files, None) == "jobs"


def test_a_folder_without_python_has_no_module(tmp_path: Path) -> None:
    with pytest.raises(PackingError, match="There is no Python file"):
        choose_module(read(write_files(tmp_path, {"data.json": ""})), None)


def test_the_modules_that_register_handlers_are_told_apart(tmp_path: Path) -> None:
    files = {"__init__.py": "", "library.py": "", "sub/__init__.py": "", "sub/jobs.py": HANDLERS}
    read_files = read(write_files(tmp_path / "billing", files))
    assert read_files.modules == ("billing", "billing.library", "billing.sub", "billing.sub.jobs")
    assert read_files.registering_modules == ("billing.sub.jobs",)
