"""From a folder of handlers to three assets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hourhand.aws.handler_manifest import read_manifest
from hourhand_cdk.packing import (
    HandlersFailed,
    HandlerSource,
    Packed,
    PackingError,
    Target,
    pack,
)
from hourhand_cdk.packing._report import FunctionRow, check_limits
from hourhand_cdk.packing._trees import TreeSize, tree_digest
from tests.infra.packing.folders import HANDLERS, write_files
from tests.infra.packing.wheels import WheelFolder, make_wheel

MEGABYTE = 1024 * 1024


class Packer:
    """Packs folders of handlers for this machine, with the wheels of a folder."""

    def __init__(self, folder: Path, cache: Path, installer: WheelFolder) -> None:
        self._folder = folder
        self._cache = cache
        self._installer = installer

    def __call__(
        self,
        files: dict[str, str],
        *,
        to: str = "assets",
        module: str | None = None,
        environment: dict[str, str] | None = None,
    ) -> Packed:
        return pack(
            HandlerSource(path=write_files(self._folder / "jobs", files), module=module),
            Target.this_machine(),
            self._folder / to,
            cache=self._cache,
            environment=environment,
            find=lambda: self._installer,
            measures=False,
        )


@pytest.fixture
def packs(tmp_path: Path, cache: Path, installer: WheelFolder) -> Packer:
    return Packer(tmp_path, cache, installer)


def test_the_examples_are_packed_as_the_package_that_they_are(packed: Packed) -> None:
    assert packed.module == "examples.quickstart"
    assert packed.handlers == ("check-report", "send-newsletter", "send-welcome")
    assert (packed.worker / "examples" / "quickstart.py").is_file()
    assert not (packed.api / "examples").exists()


def test_the_manifest_lies_where_jobs_are_validated(packed: Packed) -> None:
    for folder in (packed.api, packed.scheduler):
        names = [info.name for info in read_manifest(folder / "manifest.json")]
        assert names == list(packed.handlers)
    assert not (packed.worker / "manifest.json").exists()


def test_no_bytecode_and_no_installers_notes_are_packed(packed: Packed) -> None:
    names = {path.name for path in packed.api.parent.rglob("*")}
    assert not names & {"__pycache__", "RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    assert not [name for name in names if name.endswith(".pyc")]
    assert "METADATA" in names


def test_the_same_input_gives_the_same_bytes_wherever_it_is_packed(
    tmp_path: Path, installer: WheelFolder
) -> None:
    make_wheel(installer.folder, "postage", "1.2")
    files = {"handlers.py": HANDLERS, "requirements.txt": "postage==1.2"}
    digests = []
    for name in ("one", "two"):
        # Each with an empty cache, so that everything is made twice.
        packs = Packer(tmp_path / name, tmp_path / name / "cache", installer)
        made = packs(files)
        digests.append([tree_digest(at) for at in (made.api, made.scheduler, made.worker)])
    assert digests[0] == digests[1]
    assert digests[0] == [row.digest for row in made.report.rows]


def test_a_changed_handler_changes_the_worker(packs: Packer) -> None:
    before = packs({"handlers.py": HANDLERS}).report
    after = packs({"handlers.py": HANDLERS + "LIMIT = 3\n"}).report
    changed = [
        row.function
        for row, other in zip(before.rows, after.rows, strict=True)
        if row.digest != other.digest
    ]
    assert changed == ["worker"]


def test_requirements_lie_beside_the_handlers_and_nowhere_else(
    packs: Packer, installer: WheelFolder
) -> None:
    make_wheel(installer.folder, "postage", "1.2")
    packed = packs(
        {"handlers.py": "import postage\n" + HANDLERS, "requirements.txt": "postage==1.2"}
    )
    assert (packed.worker / "postage.py").is_file()
    assert not (packed.api / "postage.py").exists()
    assert packed.report.notes == ()
    constraints = installer.asked[0][0].constraints
    assert any(line.startswith("pydantic==") for line in constraints)


def test_what_may_have_another_version_next_time_is_told(
    packs: Packer, installer: WheelFolder
) -> None:
    for name in ("stamps", "letters"):
        make_wheel(installer.folder, name, "1.2")
    requirements = "stamps>=1\nletters==1.2\nhourhand\n"
    packed = packs({"handlers.py": HANDLERS, "requirements.txt": requirements})
    assert packed.report.notes[0].startswith("not pinned to one version: stamps. ")


def test_a_second_pack_installs_nothing(packs: Packer, installer: WheelFolder) -> None:
    make_wheel(installer.folder, "paper", "1.0")
    files = {"handlers.py": HANDLERS, "requirements.txt": "paper==1.0"}
    packs(files)
    asked = len(installer.asked)
    packs(files, to="again")
    assert len(installer.asked) == asked == 1


@pytest.mark.parametrize(("line", "is_packed"), [("helper==1.0", False), ("boto3==99.0", True)])
def test_boto3_is_packed_only_where_it_is_asked_for_by_name(
    packs: Packer, installer: WheelFolder, line: str, is_packed: bool
) -> None:
    # An installer would bring boto3 along with whatever depends on it.
    boto3 = {"boto3/__init__.py": ""}
    make_wheel(installer.folder, "helper", "1.0", {"helper.py": "", **boto3})
    make_wheel(installer.folder, "boto3", "99.0", boto3)
    packed = packs({"handlers.py": HANDLERS, "requirements.txt": line})
    assert (packed.worker / "boto3").is_dir() == is_packed


def test_the_sdk_for_tracing_goes_into_every_function_once_it_is_required(
    packs: Packer, installer: WheelFolder
) -> None:
    make_wheel(installer.folder, "aws_xray_sdk", "3.0", {"aws_xray_sdk/__init__.py": ""})
    packed = packs({"handlers.py": HANDLERS, "requirements.txt": "aws_xray_sdk==3.0"})
    for folder in (packed.api, packed.scheduler, packed.worker):
        assert (folder / "aws_xray_sdk" / "__init__.py").is_file()


def test_a_library_that_is_not_packed_is_missed_before_the_deployment(packs: Packer) -> None:
    with pytest.raises(HandlersFailed) as failed:
        packs({"handlers.py": "import pytest\n" + HANDLERS})
    assert "No module named 'pytest'" in failed.value.detail


def test_a_failing_import_shows_the_users_own_traceback(packs: Packer) -> None:
    code = "def read() -> None:\n    raise ValueError('no such bill')\n\nread()\n"
    with pytest.raises(HandlersFailed) as failed:
        packs({"handlers.py": code})
    assert "Importing handlers failed: ValueError: no such bill" in failed.value.detail
    assert 'File "handlers.py", line 2, in read' in failed.value.detail
    assert "importlib" not in failed.value.detail


def test_a_package_that_registers_nothing_is_told_which_module_might(packs: Packer) -> None:
    package = {"mail/__init__.py": "", "mail/jobs.py": HANDLERS, "mail/library.py": ""}
    with pytest.raises(HandlersFailed, match=r"--module NAME \(there are mail\.jobs\)"):
        packs(package)
    assert packs(package, module="mail.jobs").handlers == ("send-invoice",)


def test_a_module_that_ends_the_process_is_told_as_that(packs: Packer) -> None:
    with pytest.raises(HandlersFailed, match="handlers ended the process with exit code 7"):
        packs({"handlers.py": "import os\nos._exit(7)\n"})


def test_an_import_that_leaves_threads_behind_is_no_hindrance(packs: Packer) -> None:
    waiting = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    assert packs({"handlers.py": waiting + HANDLERS}).handlers == ("send-invoice",)


def test_a_handler_may_read_at_import_what_its_function_will_be_given(packs: Packer) -> None:
    files = {"handlers.py": "import os\nTABLE = os.environ['BILLS_TABLE']\n" + HANDLERS}
    with pytest.raises(HandlersFailed, match="BILLS_TABLE"):
        packs(files)
    assert packs(files, environment={"BILLS_TABLE": "bills"}).module == "handlers"


def test_what_an_import_writes_does_not_get_into_the_asset(packs: Packer) -> None:
    writes = "from pathlib import Path\nPath(__file__).with_name('left.txt').write_text('x')\n"
    assert not (packs({"handlers.py": writes + HANDLERS}).worker / "left.txt").exists()


def test_a_name_that_shadows_another_is_refused_before_anything_is_imported(
    packs: Packer,
) -> None:
    with pytest.raises(PackingError, match=r"queue\.py would take the place of Python's own"):
        packs({"handlers.py": "raise SystemExit", "queue.py": ""})


def test_a_failed_pack_leaves_the_last_one_as_it_was(packs: Packer) -> None:
    packed = packs({"handlers.py": HANDLERS})
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
