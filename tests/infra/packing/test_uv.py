"""uv itself, on wheels made by hand; and once on a registry, where one answers."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from hourhand_cdk.packing import InstallFailed, PackingError, Target, _uv, fetch
from hourhand_cdk.packing._requirements import read_requirements
from hourhand_cdk.packing._uv import Wanted, install
from tests.infra.packing.folders import write_files
from tests.infra.packing.wheels import from_folder, make_wheel

LAMBDA = Target.for_lambda("3.13", "arm64")


def installed(tmp_path: Path, *lines: str, target: Target = LAMBDA) -> Path:
    """Install ``lines`` from the folder ``wheels``, and return where."""
    text = from_folder(tmp_path / "wheels", *lines)
    file = write_files(tmp_path / "jobs", {"requirements.txt": text}) / "requirements.txt"
    install(Wanted(file=file), target, tmp_path / "to", tmp_path / "cache")
    return tmp_path / "to"


def source_distribution(folder: Path, name: str, marker: Path) -> Path:
    """Write one whose build would leave ``marker``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for place, text in source_files(name, marker).items():
            entry = tarfile.TarInfo(f"{name}-1.0/{place}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def source_files(name: str, marker: Path) -> dict[str, str]:
    return {
        # Its own backend: nothing need be installed before it is run.
        "pyproject.toml": f"""
[project]
name = "{name}"
version = "1.0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
""",
        "backend.py": f"open({str(marker)!r}, 'w').close()\n",
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }


def test_dependencies_are_those_of_the_target_not_of_this_machine(tmp_path: Path) -> None:
    markers = {
        "only_arm": "platform_machine == 'aarch64'",
        "only_other": "platform_machine == 's390x'",
        "only_new": "python_version >= '3.13'",
        "only_old": "python_version < '3.13'",
    }
    requires = [f"{name}; {marker}" for name, marker in markers.items()]
    make_wheel(tmp_path / "wheels", "thing", "1.0", requires=requires)
    for name in markers:
        make_wheel(tmp_path / "wheels", name, "1.0")
    modules = {path.stem for path in installed(tmp_path, "thing").glob("*.py")}
    assert modules == {"thing", "only_arm", "only_new"}


@pytest.mark.parametrize("tag", ["manylinux_2_17_aarch64", "manylinux_2_28_aarch64"])
def test_wheels_are_those_of_the_target(tmp_path: Path, tag: str) -> None:
    for platform in (tag, "manylinux_2_17_x86_64"):
        files = {"thing/which.txt": platform}
        make_wheel(tmp_path / "wheels", "thing", "1.0", files, tag=f"cp313-cp313-{platform}")
    assert (installed(tmp_path, "thing") / "thing" / "which.txt").read_text() == tag


def test_versions_are_those_for_the_python_of_the_target(tmp_path: Path) -> None:
    for version, python in {"1.0": "<3.13", "2.0": "==3.13.*", "3.0": ">=3.14"}.items():
        make_wheel(tmp_path / "wheels", "thing", version, requires_python=python)
    assert (installed(tmp_path, "thing") / "thing.py").read_text() == "VERSION = '2.0'\n"


@pytest.mark.parametrize("target", [LAMBDA, Target.this_machine()], ids=str)
@pytest.mark.parametrize(
    "line",
    [
        "thing",
        "-e {source}",
        "{source}",
        "{source}.tar.gz",
        "thing @ file://{source}",
        "carrier",
    ],
)
def test_nothing_is_built(tmp_path: Path, line: str, target: Target) -> None:
    marker = tmp_path / "built"
    source = tmp_path / "wheels" / "thing-1.0"
    archive = source_distribution(source.parent, "thing", marker)
    write_files(source, source_files("thing", marker))
    make_wheel(tmp_path / "wheels", "carrier", "1.0", requires=[f"thing @ {archive.as_uri()}"])
    with pytest.raises(InstallFailed, match="thing"):
        installed(tmp_path, line.format(source=source), target=target)
    assert not marker.exists()


def test_no_setting_of_the_handlers_project_lets_a_build_run(tmp_path: Path) -> None:
    marker = tmp_path / "built"
    source_distribution(tmp_path / "wheels", "thing", marker)
    settings = '[tool.uv]\nno-binary-package = ["thing"]\n[tool.uv.pip]\nno-binary = ["thing"]\n'
    write_files(tmp_path / "jobs", {"pyproject.toml": settings})
    with pytest.raises(InstallFailed, match="thing"):
        installed(tmp_path, "thing")
    assert not marker.exists()


def test_uv_takes_no_binary_for_leave_to_build_so_packing_refuses_it(tmp_path: Path) -> None:
    marker = tmp_path / "built"
    source_distribution(tmp_path / "wheels", "thing", marker)
    with pytest.raises(InstallFailed):
        installed(tmp_path, "--no-binary thing", "thing")
    # If this fails, uv has changed, and the refusal in `_requirements` can go.
    assert marker.exists()
    with pytest.raises(PackingError, match="--no-binary is refused"):
        read_requirements(tmp_path / "jobs" / "requirements.txt")


def test_a_wheel_may_be_named_by_its_path_beside_the_file(tmp_path: Path) -> None:
    make_wheel(tmp_path / "jobs" / "built", "thing", "1.0")
    to = installed(tmp_path, "./built/thing-1.0-py3-none-any.whl")
    assert (to / "thing.py").is_file()


def test_a_folder_beside_the_file_cannot_pass_for_a_distribution(tmp_path: Path) -> None:
    make_wheel(tmp_path / "wheels", "thing", "1.0")
    (tmp_path / "jobs" / "thing").mkdir(parents=True)
    assert (installed(tmp_path, "thing") / "thing.py").is_file()


def test_without_uv_the_extra_that_brings_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_uv, "uv_program", lambda: None)
    with pytest.raises(InstallFailed, match="Install hourhand with its extra infra"):
        installed(tmp_path, "thing")


def test_a_registry_gives_our_own_libraries_for_lambda(tmp_path: Path) -> None:
    try:
        install(Wanted(lines=("tzdata",)), LAMBDA, tmp_path / "first", tmp_path / "cache")
    except InstallFailed as error:
        pytest.skip(f"no registry of packages answers: {error.detail.splitlines()[-1]}")
    tree = fetch(LAMBDA, tmp_path / "cache")
    core = [path.name for path in (tree / "pydantic_core").glob("*.so")]
    assert core == ["_pydantic_core.cpython-313-aarch64-linux-gnu.so"]
    assert not (tree / "boto3").exists()
