"""The real installers, on wheels made by hand; and once on a registry, where one answers."""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path

import pytest

from hourhand_cdk.packing import (
    Installer,
    InstallFailed,
    PipInstaller,
    Target,
    UvInstaller,
    Wanted,
    fetch,
)
from tests.infra.packing.wheels import make_wheel

LAMBDA = Target.lambda_arm64("3.13")
UV = shutil.which("uv")


@pytest.fixture(
    params=[
        "pip",
        pytest.param("uv", marks=pytest.mark.skipif(UV is None, reason="uv is not on the path")),
    ]
)
def any_installer(request: pytest.FixtureRequest) -> Installer:
    return PipInstaller() if request.param == "pip" else UvInstaller(str(UV))


def wanted(folder: Path, *lines: str, constraints: tuple[str, ...] = ()) -> Wanted:
    options = ("--no-index", f"--find-links {folder}")
    return Wanted(lines=lines, constraints=constraints, options=options)


def source_distribution(folder: Path, name: str, marker: Path) -> Path:
    """Write one whose build would leave ``marker``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0.tar.gz"
    texts = {
        # Its own backend: nothing need be installed before it is run.
        "pyproject.toml": """
            [build-system]
            requires = []
            build-backend = "backend"
            backend-path = ["."]
        """,
        "backend.py": f"open({str(marker)!r}, 'w').close()\n",
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for place, text in texts.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{place}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_dependencies_are_those_of_the_target_not_of_this_machine(
    tmp_path: Path, any_installer: Installer
) -> None:
    wheels = tmp_path / "wheels"
    markers = {
        "only_arm": "platform_machine == 'aarch64'",
        "only_other": "platform_machine == 's390x'",
        "only_new": "python_version >= '3.13'",
        "only_old": "python_version < '3.13'",
    }
    make_wheel(wheels, "thing", "1.0", requires=[f"{n}; {m}" for n, m in markers.items()])
    for name in markers:
        make_wheel(wheels, name, "1.0")
    any_installer.install(wanted(wheels, "thing"), LAMBDA, tmp_path / "to")
    modules = {path.stem for path in (tmp_path / "to").glob("*.py")}
    assert modules == {"thing", "only_arm", "only_new"}


@pytest.mark.parametrize("tag", ["manylinux_2_17_aarch64", "manylinux_2_28_aarch64"])
def test_wheels_are_those_of_the_target(tmp_path: Path, any_installer: Installer, tag: str) -> None:
    wheels = tmp_path / "wheels"
    for platform in (tag, "manylinux_2_17_x86_64"):
        files = {"thing/which.txt": platform}
        make_wheel(wheels, "thing", "1.0", files, tag=f"cp313-cp313-{platform}")
    any_installer.install(wanted(wheels, "thing"), LAMBDA, tmp_path / "to")
    assert (tmp_path / "to" / "thing" / "which.txt").read_text() == tag


def test_versions_are_those_for_the_python_of_the_target(
    tmp_path: Path, any_installer: Installer
) -> None:
    wheels = tmp_path / "wheels"
    for version, python in {"1.0": "<3.13", "2.0": "==3.13.*", "3.0": ">=3.14"}.items():
        make_wheel(wheels, "thing", version, requires_python=python)
    any_installer.install(wanted(wheels, "thing"), LAMBDA, tmp_path / "to")
    assert (tmp_path / "to" / "thing.py").read_text() == "VERSION = '2.0'\n"


def test_what_has_no_wheel_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, any_installer: Installer
) -> None:
    marker = tmp_path / "built"
    source_distribution(tmp_path / "wheels", "thing", marker)
    with pytest.raises(InstallFailed, match="Only wheels are taken"):
        any_installer.install(wanted(tmp_path / "wheels", "thing"), LAMBDA, tmp_path / "to")
    assert not marker.exists()


@pytest.mark.parametrize("target", [LAMBDA, Target.this_machine()], ids=str)
def test_a_wheel_cannot_bring_in_what_must_be_built(
    tmp_path: Path, any_installer: Installer, target: Target
) -> None:
    # --only-binary does not bind a URL that stands in the metadata of a wheel.
    marker = tmp_path / "built"
    source = source_distribution(tmp_path / "elsewhere", "evil", marker)
    make_wheel(tmp_path / "wheels", "thing", "1.0", requires=[f"evil @ {source.as_uri()}"])
    with pytest.raises(InstallFailed):
        any_installer.install(wanted(tmp_path / "wheels", "thing"), target, tmp_path / "to")
    assert not marker.exists()


def test_a_dependency_that_excludes_our_version_names_both(
    tmp_path: Path, any_installer: Installer
) -> None:
    wheels = tmp_path / "wheels"
    make_wheel(wheels, "thing", "1.0", requires=["pydantic<2"])
    make_wheel(wheels, "pydantic", "1.10.0")
    make_wheel(wheels, "pydantic", "2.14.3")
    with pytest.raises(InstallFailed) as refused:
        any_installer.install(
            wanted(wheels, "thing", constraints=("pydantic==2.14.3",)), LAMBDA, tmp_path / "to"
        )
    assert "thing" in refused.value.detail
    assert "pydantic==2.14.3" in refused.value.detail


def test_a_file_where_the_caller_is_cannot_pass_for_a_distribution(
    tmp_path: Path, any_installer: Installer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_wheel(tmp_path / "wheels", "thing", "1.0")
    (tmp_path / "thing").mkdir()
    any_installer.install(wanted(tmp_path / "wheels", "thing"), LAMBDA, tmp_path / "to")
    assert (tmp_path / "to" / "thing.py").is_file()


def test_a_registry_gives_our_own_libraries_for_lambda(tmp_path: Path) -> None:
    try:
        PipInstaller().install(
            Wanted(lines=("tzdata",), is_complete=True), LAMBDA, tmp_path / "first"
        )
    except InstallFailed as error:
        pytest.skip(f"no registry of packages answers: {error.detail.splitlines()[-1]}")
    tree = fetch(LAMBDA, tmp_path / "cache", find=PipInstaller)
    core = [path.name for path in (tree / "pydantic_core").glob("*.so")]
    assert core == ["_pydantic_core.cpython-313-aarch64-linux-gnu.so"]
