"""The code on the pages about project layout and web frameworks runs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hourhand.handlers import Registry
from hourhand.testing import FakeHourhand
from tests.docs.blocks import ROOT, blocks_of, reader_environment, run, write_files

LAYOUT = ROOT / "docs" / "how-to" / "project-layout.md"
FRAMEWORKS = ROOT / "docs" / "how-to" / "web-frameworks.md"


class TestProjectLayout:
    def test_its_tests_pass_in_the_folder_that_it_shows(self, tmp_path: Path) -> None:
        written = write_files(LAYOUT, tmp_path)

        assert {"jobs/__init__.py", "web/app.py", "conftest.py"} <= set(written)
        assert "1 passed" in run("python -m pytest -q", tmp_path, reader_environment())

    def test_its_package_registers_the_handlers_of_all_modules(self, tmp_path: Path) -> None:
        write_files(LAYOUT, tmp_path)
        code = "from hourhand.handlers import *; print(*[h.name for h in load_handlers('jobs')])"

        found = run(f'python -c "{code}"', tmp_path, reader_environment())
        assert found.split() == ["daily-report", "send-receipt"]

    def test_packing_chooses_the_package_as_it_says(self, tmp_path: Path) -> None:
        packing = pytest.importorskip("hourhand_cdk.packing._source", exc_type=ImportError)
        write_files(LAYOUT, tmp_path)
        (tmp_path / "jobs" / "requirements.txt").write_text("httpx\n")
        (tmp_path / "jobs" / ".venv").mkdir()

        files = packing.read_source(packing.HandlerSource(path=tmp_path / "jobs"))
        assert packing.choose_module(files, None) == "jobs"
        assert files.requirements == tmp_path / "jobs" / "requirements.txt"
        assert {place.parts[0] for place in files.places} == {"jobs"}
        assert files.modules == ("jobs", "jobs.receipts", "jobs.reports")


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the modules of the page importable, and forget them afterwards."""
    names = [Path(file).stem for file in write_files(FRAMEWORKS, tmp_path)]
    # The page's handlers are not those of other tests.
    registry = Registry()
    monkeypatch.setattr("hourhand.handlers._registry.default_registry", registry)
    monkeypatch.setattr("hourhand.testing.fake_hourhand.default_registry", registry)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield
    for name in names:
        sys.modules.pop(name, None)


@pytest.fixture
def jobs(pages: None) -> Iterator[FakeHourhand]:
    importlib.import_module("jobs")
    with FakeHourhand() as double:
        yield double


def needs(package: str) -> pytest.MarkDecorator:
    """Skip where a framework is not installed: the project does not depend on it."""
    missing = importlib.util.find_spec(package) is None
    return pytest.mark.skipif(missing, reason=f"{package} is not installed")


class TestWebFrameworks:
    def test_flask_submits_a_repeated_order_once(self, jobs: FakeHourhand) -> None:
        browser = importlib.import_module("flask_app").app.test_client()

        answers = [browser.post("/orders", json={"order": 7}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [202, 202]
        jobs.assert_submitted("send-receipt", payload={"order": 7}, count=1)
        [run] = jobs.run_due()
        assert jobs.get(run.job_id).result == "Receipt for order 7."

    @needs("fastapi")
    def test_fastapi_submits_by_the_async_client(self, jobs: FakeHourhand) -> None:
        app = importlib.import_module("fastapi_app").app
        client = importlib.import_module("fastapi.testclient").TestClient(app)

        with client as browser:
            answers = [browser.post("/orders/7") for _ in range(2)]
        assert [answer.status_code for answer in answers] == [202, 202]
        jobs.assert_submitted("send-receipt", payload={"order": 7}, count=1)

    @needs("django")
    def test_django_submits_after_the_commit(self, jobs: FakeHourhand) -> None:
        settings = importlib.import_module("django.conf").settings
        database = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
        settings.configure(DATABASES={"default": database})
        importlib.import_module("django").setup()
        views = importlib.import_module("django_views")
        transaction = importlib.import_module("django.db").transaction

        with transaction.atomic():
            views.create_order(None, 7)
            jobs.assert_not_submitted()
        jobs.assert_submitted("send-receipt", payload={"order": 7}, count=1)

    def test_the_outbox_submits_what_is_missing_and_nothing_twice(self, jobs: FakeHourhand) -> None:
        outbox: Any = importlib.import_module("outbox")
        lost = jobs.client.submit("send-receipt", {"order": 1}, idempotency_key="receipt-1")
        outbox.ORDERS += [outbox.Row(1), outbox.Row(2), outbox.Row(3, receipt_job="done")]

        jobs.client.submit("submit-missing-receipts")
        jobs.run_due(raise_errors=True)

        assert outbox.ORDERS[0].receipt_job == lost.id
        assert len(jobs.submitted("send-receipt")) == 2
        jobs.assert_submitted("send-receipt", payload={"order": 2}, count=1)

    def test_every_block_uses_names_that_hourhand_has(self) -> None:
        imported = [
            f"{node.module}:{alias.name}"
            for block in blocks_of(FRAMEWORKS)
            if block.language == "python"
            for node in ast.walk(ast.parse(block.text))
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hourhand")
            for alias in node.names
        ]

        assert len(imported) > 5
        for name in imported:
            module, _, attribute = name.partition(":")
            assert hasattr(importlib.import_module(module), attribute), name


def test_the_pages_are_parsed_as_python_of_this_version() -> None:
    for page in (LAYOUT, FRAMEWORKS):
        for block in blocks_of(page):
            if block.language == "python":
                compile(block.text, str(page), "exec")
