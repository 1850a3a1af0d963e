"""From a folder of handlers to three assets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hourhand.api.payload_check import PayloadChecks
from hourhand.aws.handler_manifest import ManifestHandlerDirectory, read_manifest
from hourhand.domain.errors import InvalidInput
from hourhand.memory import RecordingTelemetry
from hourhand_cdk.packing import (
    PYTHONS,
    HandlersFailed,
    HandlerSource,
    InstallFailed,
    Packed,
    PackingError,
    Target,
    pack,
)
from hourhand_cdk.packing._report import FunctionRow, check_limits
from hourhand_cdk.packing._trees import TreeSize, tree_digest
from tests.infra.packing.folders import HANDLERS, write_files
from tests.infra.packing.wheels import from_folder, make_wheel

MEGABYTE = 1024 * 1024


class Packer:
    """Packs folders of handlers for this machine."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self._folder = folder
        self._cache = cache

    def __call__(
        self,
        files: dict[str, str],
        *,
        environment: dict[str, str] | None = None,
        target: Target | None = None,
    ) -> Packed:
        return pack(
            HandlerSource(path=write_files(self._folder / "jobs", files)),
            target or Target.this_machine(),
            self._folder / "assets",
            cache=self._cache,
            environment=environment,
            measures=False,
        )


HUGE = """
from typing import Literal
from hourhand import job

@job("huge")
def huge(ctx, payload: Literal[tuple(f"choice {number}" for number in range(10_000))]): ...
"""

UNRULY = """
import os, threading
from pathlib import Path
TABLE = os.environ["BILLS_TABLE"]
threading.Thread(target=threading.Event().wait).start()
Path(__file__).with_name("left.txt").write_text(TABLE)
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> tuple[Packer, Packed]:
    """A packer, and what it made of a folder without requirements."""
    folder = tmp_path_factory.mktemp("plain")
    packer = Packer(folder, cache)
    return packer, packer({"handlers.py": HANDLERS})


@pytest.fixture(scope="module")
def required(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Packed:
    """The pack of handlers with requirements."""
    folder = tmp_path_factory.mktemp("required")
    for name in ("stamps", "letters", "aws_xray_sdk"):
        files = {f"{name}/__init__.py": ""}
        make_wheel(folder / "wheels", name, "1.2", files)
    lines = ("stamps>=1", "letters==1.2", "aws_xray_sdk==1.2", "hourhand")
    requirements = from_folder(folder / "wheels", *lines)
    code = "import stamps, letters\n" + HANDLERS
    return Packer(folder, cache)({"handlers.py": code, "requirements.txt": requirements})


@pytest.fixture(scope="module")
def unruly(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Packed:
    """What was made of a module that does at its import what it should not."""
    folder = tmp_path_factory.mktemp("unruly")
    packer = Packer(folder, cache)
    return packer({"handlers.py": UNRULY + HANDLERS}, environment={"BILLS_TABLE": "bills"})


@pytest.fixture
def packs(tmp_path: Path, cache: Path) -> Packer:
    return Packer(tmp_path, cache)


def other_python() -> Target:
    """Return a target that runs another Python than this one."""
    other = next(one for one in PYTHONS if one != Target.this_machine().python)
    return Target.for_lambda(other, "arm64")


def test_the_examples_are_packed_as_the_package_that_they_are(packed: Packed) -> None:
    assert packed.module == "examples.quickstart"
    assert packed.handlers == ("check-report", "send-newsletter", "send-welcome")
    assert (packed.worker / "examples" / "quickstart.py").is_file()
    assert not (packed.api / "examples").exists()


def test_the_manifest_is_part_of_every_function(packed: Packed) -> None:
    for folder in (packed.api, packed.scheduler, packed.worker):
        names = [info.name for info in read_manifest(folder / "manifest.json")]
        assert names == list(packed.handlers)


def test_the_manifest_says_what_each_handler_takes_and_the_api_can_check_it(
    packed: Packed,
) -> None:
    directory = ManifestHandlerDirectory(packed.api / "manifest.json")
    welcome = directory.find("send-welcome")
    assert welcome is not None
    assert welcome.payload_schema is not None
    assert welcome.payload_schema["required"] == ["email", "name"]
    assert welcome.payload_examples == ({"email": "text", "name": "text"},)
    checks = PayloadChecks(directory, RecordingTelemetry())
    checks.require_valid("send-welcome", '{"email": "ada@example.org", "name": "Ada"}')
    with pytest.raises(InvalidInput, match=r"payload\.name"):
        checks.require_valid("send-welcome", '{"email": "ada@example.org"}')


def test_a_schema_that_is_too_large_for_the_manifest_is_a_note(tmp_path: Path, cache: Path) -> None:
    packed = Packer(tmp_path, cache)({"handlers.py": HUGE})
    assert any(note.startswith("The payload schema of huge") for note in packed.report.notes)
    [info] = read_manifest(packed.api / "manifest.json")
    assert (info.payload_schema, info.payload_check) == (None, None)


def test_no_installers_notes_are_packed(packed: Packed) -> None:
    names = {path.name for path in packed.api.parent.rglob("*")}
    assert not names & {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    assert "METADATA" in names


def test_the_same_input_gives_the_same_bytes_wherever_it_is_packed(
    tmp_path: Path,
) -> None:
    make_wheel(tmp_path / "wheels", "postage", "1.2")
    text = from_folder(tmp_path / "wheels", "postage==1.2")
    files = {"handlers.py": HANDLERS, "requirements.txt": text}
    digests = []
    for name in ("one", "two"):
        # Each with an empty cache, so that everything is made twice.
        packs = Packer(tmp_path / name, tmp_path / name / "cache")
        made = packs(files)
        digests.append([tree_digest(at) for at in (made.api, made.scheduler, made.worker)])
    assert digests[0] == digests[1]
    assert digests[0] == [row.digest for row in made.report.rows]


def test_a_changed_handler_changes_the_worker(plain: tuple[Packer, Packed], packs: Packer) -> None:
    before = plain[1].report
    after = packs({"handlers.py": HANDLERS + "LIMIT = 3\n"}).report
    changed = [
        row.function
        for row, other in zip(before.rows, after.rows, strict=True)
        if row.digest != other.digest
    ]
    assert changed == ["worker"]


def test_requirements_lie_beside_the_handlers_and_nowhere_else(required: Packed) -> None:
    assert (required.worker / "letters" / "__init__.py").is_file()
    assert not (required.api / "letters").exists()


def test_what_may_have_another_version_next_time_is_noted(
    required: Packed, plain: tuple[Packer, Packed]
) -> None:
    assert required.report.notes[0].startswith("not pinned to one version: stamps. ")
    assert plain[1].report.notes == ()


def test_the_sdk_for_tracing_goes_into_every_function_once_it_is_required(
    required: Packed,
) -> None:
    for folder in (required.api, required.scheduler, required.worker):
        assert (folder / "aws_xray_sdk" / "__init__.py").is_file()


def test_a_library_that_is_not_packed_is_missed_before_the_deployment(packs: Packer) -> None:
    with pytest.raises(HandlersFailed) as failed:
        packs({"handlers.py": "import pytest\n" + HANDLERS})
    assert "No module named 'pytest'" in failed.value.detail


def test_a_failing_import_shows_the_users_own_traceback(packs: Packer) -> None:
    code = "def read() -> None:\n    raise ValueError('no such bill')\n\nread()\n"
    with pytest.raises(HandlersFailed) as failed:
        packs({"handlers.py": code, "mail/jobs.py": HANDLERS}, target=other_python())
    assert "Importing handlers failed: ValueError: no such bill" in failed.value.detail
    assert 'File "handlers.py", line 2, in read' in failed.value.detail
    assert "importlib" not in failed.value.detail
    # Neither another module nor another Python could help.
    assert "another module" not in failed.value.detail
    assert "with Python" not in failed.value.detail


def test_a_package_that_registers_nothing_is_told_which_module_might(packs: Packer) -> None:
    package = {"mail/__init__.py": "", "mail/jobs.py": HANDLERS, "mail/library.py": ""}
    with pytest.raises(HandlersFailed, match=r"\(mail\.jobs\), name it: MODULE=NAME"):
        packs(package)


def test_no_other_module_is_looked_for_where_there_is_none(packs: Packer) -> None:
    with pytest.raises(HandlersFailed) as failed:
        packs({"handlers.py": "LIMIT = 3"})
    assert failed.value.detail == 'handlers registers no handlers: none has @job("name").'


def test_what_may_fail_for_the_version_is_told_the_versions_of_both(packs: Packer) -> None:
    target = other_python()
    with pytest.raises(HandlersFailed, match="SyntaxError") as failed:
        packs({"handlers.py": "class:", "mail/jobs.py": HANDLERS}, target=target)
    assert target.advice_from(Target.this_machine()) in failed.value.detail
    assert "another module" not in failed.value.detail


def test_requirements_that_this_python_cannot_have_are_told_the_versions_of_both(
    packs: Packer,
) -> None:
    target = other_python()
    files = {"handlers.py": HANDLERS, "requirements.txt": "--no-index\nletters>=99"}
    with pytest.raises(InstallFailed, match=r"line 2: letters>=99 cannot be installed") as failed:
        packs(files, target=target)
    assert target.advice_from(Target.this_machine()) in failed.value.detail


def test_a_module_that_ends_the_process_is_told_as_that(packs: Packer) -> None:
    with pytest.raises(HandlersFailed, match="handlers ended the process with exit code 7"):
        packs({"handlers.py": "import os\nos._exit(7)\n"})


def test_an_import_that_leaves_threads_behind_is_no_hindrance(unruly: Packed) -> None:
    assert unruly.handlers == ("send-invoice",)


def test_a_handler_may_read_at_import_what_its_function_will_be_given(
    packs: Packer, unruly: Packed
) -> None:
    with pytest.raises(HandlersFailed, match="BILLS_TABLE"):
        packs({"handlers.py": UNRULY + HANDLERS})
    assert unruly.module == "handlers"


def test_what_an_import_writes_does_not_get_into_the_asset(unruly: Packed) -> None:
    assert (unruly.worker / "handlers.py").is_file()
    assert not (unruly.worker / "left.txt").exists()


def test_a_name_that_shadows_another_is_refused_before_anything_is_imported(
    packs: Packer,
) -> None:
    with pytest.raises(PackingError, match=r"queue\.py would take the place of Python's own"):
        packs({"handlers.py": "raise SystemExit", "queue.py": ""})


def test_a_failed_pack_leaves_the_last_one_as_it_was(plain: tuple[Packer, Packed]) -> None:
    packs, packed = plain
    before = tree_digest(packed.worker)
    with pytest.raises(HandlersFailed):
        packs({"handlers.py": "raise ValueError"})
    assert tree_digest(packed.worker) == before


def test_a_folder_that_packing_did_not_write_is_left_alone(tmp_path: Path, packs: Packer) -> None:
    mine = write_files(tmp_path / "assets", {"api/precious.py": ""})
    with pytest.raises(PackingError, match="holds what packing did not write"):
        packs({"handlers.py": HANDLERS})
    assert (mine / "api" / "precious.py").is_file()


def test_the_report_tells_programs_what_it_tells_people(packed: Packed) -> None:
    written = json.loads((packed.api.parent / "packed.json").read_text())
    assert [row["function"] for row in written["rows"]] == ["api", "scheduler", "worker"]
    assert "check-report" in packed.report.text()
    assert "was proved by Python" in written["proof"]


def row(unzipped_megabytes: int, zipped_megabytes: int) -> FunctionRow:
    size = TreeSize(
        unzipped_bytes=unzipped_megabytes * MEGABYTE,
        largest=(("numpy", 200 * MEGABYTE),),
    )
    return FunctionRow(
        function="worker", size=size, digest="", zipped_bytes=zipped_megabytes * MEGABYTE
    )


def test_what_lambda_would_not_take_is_refused_with_its_largest_parts() -> None:
    assert check_limits((row(250, 50),)) == ()
    with pytest.raises(PackingError, match=r"251\.0 MB unzipped.*numpy 200\.0 MB"):
        check_limits((row(251, 50),))


def test_a_large_archive_is_a_warning() -> None:
    assert "51.0 MB zipped" in check_limits((row(200, 51),))[0]
