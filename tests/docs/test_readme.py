"""What the README's first screen shows is what a reader gets."""

from __future__ import annotations

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from hourhand import Client
from hourhand.client import Job
from tests.docs.blocks import (
    ROOT,
    Running,
    background,
    blocks_of,
    curl,
    reader_environment,
    run,
    wait,
)

PAGE = ROOT / "README.md"
README = PAGE.read_text(encoding="utf-8")
BLOCKS = blocks_of(PAGE)
COMMANDS = [command for block in BLOCKS for command in block.commands]
OF_THE_PROJECT = ["jobs/reports.py", "tests/test_reports.py"]
SAVED_BY_READER = ["submit.py", "schedule.py"]
MAX_LINES = 6
INSTALLING = [
    PAGE,
    *(ROOT / "docs" / name for name in ("tutorial.md", "index.md")),
    *(ROOT / "docs" / "how-to" / name for name in ("project-layout.md", "web-frameworks.md")),
]
DEV = "{} --backend memory --port 0"


def code_of(name: str) -> str:
    """Return the README's block that names this file."""
    [block] = [block for block in BLOCKS if block.file == name]
    return block.code


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that the README's first command writes, with the files that a reader saves."""
    folder = tmp_path_factory.mktemp("project")
    [init] = [one for one in COMMANDS if one.startswith("hourhand init")]
    run(init, folder, reader_environment())
    for name in SAVED_BY_READER:
        (folder / "shop" / name).write_text(code_of(name))
    return folder / "shop"


@pytest.fixture(scope="module")
def project_dev(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The local cloud with the project's own jobs, started as the README says."""
    command = next(one for one in COMMANDS if one.startswith("hourhand dev"))
    output = tmp_path_factory.mktemp("output") / "dev.txt"
    with background(DEV.format(command), project, reader_environment(), output) as dev:
        yield dev


@pytest.fixture(scope="module")
def project_api(project_dev: Running) -> str:
    """Its address."""
    return project_dev.wait_for(r"http://127\.0\.0\.1:\d+")


@pytest.fixture(scope="module")
def quickstart_api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The local cloud as ``make dev`` runs it, on a free port."""
    recipe = re.search(
        r"\$\(BIN\)/(hourhand dev) --port 8787 (.+)", (ROOT / "Makefile").read_text()
    )
    assert recipe is not None
    command = DEV.format(f"{recipe[1]} {recipe[2]}")
    output = tmp_path_factory.mktemp("output") / "dev.txt"
    with background(command, ROOT, reader_environment(), output) as dev:
        yield dev.wait_for(r"http://127\.0\.0\.1:\d+")


def ended(api: str, job_id: str) -> Job:
    """Wait for the end of a job."""
    with Client(api) as client:
        return client.wait(job_id, timeout_seconds=60)


@pytest.mark.parametrize("name", OF_THE_PROJECT + SAVED_BY_READER)
def test_each_step_has_few_lines(name: str) -> None:
    assert len([line for line in code_of(name).splitlines() if line.strip()]) <= MAX_LINES


@pytest.mark.parametrize("name", OF_THE_PROJECT)
def test_what_the_readme_shows_of_the_project_is_in_it(project: Path, name: str) -> None:
    assert code_of(name) in (project / name).read_text()


def test_the_submission_in_the_readme_succeeds(project: Path, project_api: str) -> None:
    environment = reader_environment(HOURHAND_ENDPOINT=project_api)
    command = next(one for one in COMMANDS if one.startswith("python submit.py"))

    output = run(command, project, environment)

    submitted, scheduled = output.splitlines()
    job = ended(project_api, submitted.split()[0])
    assert (job.status, job.attempt) == ("SUCCEEDED", 1)
    assert job.result == "Sent the report to ada@example.org."
    assert (job.run_at - job.created_at).total_seconds() == pytest.approx(5)
    assert job.idempotency_key is not None
    with Client(project_api) as client:
        [schedule] = client.schedules.list()
        assert scheduled == f"The next report: {schedule.next_at}"
        assert client.schedules.upcoming(schedule.id)[0] == schedule.next_at
        triggered = client.schedules.trigger(schedule.id)
        assert client.wait(triggered.id, timeout_seconds=60).status == "SUCCEEDED"


def test_the_tests_of_the_project_pass(project: Path) -> None:
    assert "3 passed" in run("pytest", project, reader_environment())


def test_the_tests_of_the_project_notice_a_handler_that_fails(
    project: Path, tmp_path: Path
) -> None:
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    handler = tmp_path / "jobs" / "reports.py"
    handler.write_text(handler.read_text().replace("{payload.to}", "{payload.missing}"))

    assert "3 failed" in run("pytest || true", tmp_path, reader_environment())


def test_dev_suggests_a_submission_of_the_project_that_works(
    project: Path, project_dev: Running, project_api: str
) -> None:
    suggested = project_dev.wait_for(r"hourhand jobs submit send-report .+ --watch")

    output = run(suggested, project, reader_environment(HOURHAND_ENDPOINT=project_api))
    assert "SUCCEEDED" in output


def test_the_request_in_the_readme_submits_a_job_that_succeeds(quickstart_api: str) -> None:
    command = next(one for one in COMMANDS if one.startswith("curl"))

    job = curl(command.replace("http://127.0.0.1:8787", quickstart_api))

    found = ended(quickstart_api, job["id"])
    assert found.status == "SUCCEEDED"
    assert found.result == {"sent_to": "ada@example.org"}


def test_the_commands_of_the_readme_run(quickstart_api: str, tmp_path: Path) -> None:
    environment = reader_environment(HOURHAND_ENDPOINT=quickstart_api)
    operating = [one for one in COMMANDS if re.match(r"\S*hourhand (jobs|dead-letters)", one)]
    assert len(operating) == 2

    for command in operating:
        run(command.removeprefix(".venv/bin/"), tmp_path, environment)
    with Client(quickstart_api) as client:
        found = wait(lambda: next(iter(client.list(handler="send-welcome", limit=1)), None))
    assert found.handler == "send-welcome"


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"(?:^\$ |`|&& )make ([a-z]+)", README, flags=re.M))

    assert {"demo", "dev", "setup", "deploy"} <= named
    assert named <= targets


@pytest.mark.parametrize("page", INSTALLING, ids=lambda page: page.stem)
def test_a_page_installs_from_a_checkout_or_a_git_url_with_extras_that_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {
        extra for names in re.findall(r"hourhand\[([\w,-]+)\]", text) for extra in names.split(",")
    }

    assert extras <= set(project["optional-dependencies"])
    for requirement in re.findall(r"pip install (.+)", text):
        assert "git+" in requirement or "../" in requirement


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")))
def test_every_link_in_the_docs_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", page.read_text())

    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md"])
def test_every_file_that_the_pages_name_exists(page: Path) -> None:
    named = set(
        re.findall(r"`((?:src|tests|docs|functions|bench|examples)/[\w./-]+)`", page.read_text())
    )
    inside = set(
        re.findall(r"`((?:domain|services|aws|local|testing)/[\w/]+\.py)`", page.read_text())
    )

    missing = [name for name in named if not (ROOT / name).exists()]
    missing += [n for n in inside if not (ROOT / "src/common/hourhand" / n).exists()]
    assert missing == []
