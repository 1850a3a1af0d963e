"""What the README's first screen shows is what a reader gets."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
WAIT_SECONDS = 60.0


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.M | re.S)


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    """The local cloud as ``hourhand dev`` runs it, on a free port, with the README's handlers."""
    command = [sys.executable, "-m", "hourhand.cli.main", "dev", "--backend", "memory"]
    command += ["--port", "0", "--handlers", "examples.quickstart"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "COLUMNS": "200"}
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                yield found[0]
                break
        else:
            pytest.fail("hourhand dev ended without serving anything")
    finally:
        process.terminate()
        process.communicate(timeout=WAIT_SECONDS)


def _ask(url: str, body: str | None = None) -> dict[str, Any]:
    request = urllib.request.Request(  # noqa: S310 - loopback
        url,
        data=body.encode() if body is not None else None,
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - loopback
        found: dict[str, Any] = json.load(answer)
        return found


def test_the_job_in_the_readme_is_the_quickstart() -> None:
    shown = _blocks("python")[0].partition("\n")[2]
    quickstart = (ROOT / "examples" / "quickstart.py").read_text()

    assert _blocks("python")[0].startswith("# examples/quickstart.py\n")
    assert quickstart.startswith(shown)


def test_the_job_in_the_readme_has_no_more_than_fifteen_lines_of_code() -> None:
    code = [line for line in _blocks("python")[0].splitlines() if line and line[0] != "#"]

    assert len(code) <= 15


def test_the_request_in_the_readme_submits_a_job_that_succeeds(api: str) -> None:
    console = _blocks("console")[0].replace("\\\n", " ")
    curl = next(line for line in console.splitlines() if line.startswith("$ curl"))
    words = shlex.split(curl[2:])
    url = next(word for word in words if word.startswith("http"))
    body = words[words.index("-d") + 1]

    job = _ask(url.replace("http://127.0.0.1:8787", api), body)
    deadline = time.monotonic() + WAIT_SECONDS
    while job["status"] != "SUCCEEDED" and time.monotonic() < deadline:
        time.sleep(0.1)
        job = _ask(f"{api}/v1/jobs/{job['id']}")

    assert job["status"] == "SUCCEEDED"
    assert job["result"] == {"sent_to": "ada@example.org"}


def test_every_make_target_in_the_readme_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"(?:^\$ |`)make ([a-z]+)", README, flags=re.M))

    assert named
    assert named <= targets


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
