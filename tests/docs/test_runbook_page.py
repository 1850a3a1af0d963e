"""The runbook has each alarm, failure and rehearsal, and names nothing that is not there."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from proof.rehearsals.catalogue import REHEARSALS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "runbook.md").read_text()
METRICS_PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
LABELS = ["You see", "It means", "Do", "It is over when", "Rehearsal"]
FAILURES = {
    "Leader stuck",
    "Clock skew",
    "Backlog",
    "Mass retries",
    "Dead-letter queue filling",
    "Throttled table",
    "Refused by the key",
    "Lost queue",
    "Bad deploy",
    "Hot tenant",
    "Restore",
}


def sections() -> dict[str, str]:
    """Return the text below each heading of the second level, by heading."""
    parts = re.split(r"^#{1,2} (.+)$", PAGE, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = {
    title: text for title, text in sections().items() if title.startswith("`") or title in FAILURES
}


def anchors(page: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page, re.M)
    return {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}


def test_each_alarm_of_the_deployment_has_its_section() -> None:
    # That these are the template's alarms: tests/infra/test_alarms_page.py.
    alarms = re.findall(
        r"^\| `([a-z-]+)` \|", METRICS_PAGE.split("\n## Alarms\n")[1].split("\n## ")[0], re.M
    )
    assert len(alarms) == 19
    assert [title.strip("`") for title in SECTIONS if title.startswith("`")] == alarms


def test_each_failure_has_its_section() -> None:
    assert set(SECTIONS) >= FAILURES


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_says_what_one_sees_does_and_rehearses(title: str) -> None:
    assert re.findall(r"^- \*\*(.+?):?\*\*", SECTIONS[title], re.M) == LABELS


@pytest.mark.parametrize("title", SECTIONS)
def test_each_rehearsal_of_a_section_exists(title: str) -> None:
    named = re.findall(r"make rehearse NAME=([a-z-]+)", SECTIONS[title])
    assert named
    assert set(named) <= set(REHEARSALS)


def test_each_rehearsal_is_named_and_says_what_it_shows() -> None:
    assert set(re.findall(r"make rehearse NAME=([a-z-]+)", PAGE)) == set(REHEARSALS)
    assert all(rehearsal.shows.endswith(".") for rehearsal in REHEARSALS.values())


def test_each_log_sentence_is_one_that_is_logged() -> None:
    sentences = {
        " ".join(found.split()) for found in re.findall(r'"([A-Z][^"`]+\.)"', PAGE) if " " in found
    }
    source = " ".join(file.read_text() for file in (ROOT / "src").rglob("*.py"))
    # A long sentence is written as two literals, one after the other.
    source = re.sub(r'"\s*f?"', "", source)
    assert len(sentences) >= 10
    assert {one for one in sentences if one not in source} == set()


def test_each_widget_is_on_the_dashboard() -> None:
    dashboard = (ROOT / "infra" / "hourhand_cdk" / "dashboard.py").read_text()
    widgets = {
        " ".join(found.split()) for found in re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", PAGE)
    }
    choices = {"Busy", "Not called", "Deleted"}
    assert {one for one in widgets - choices if one not in dashboard} == set()


def test_each_link_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGE):
        file, _, anchor = target.partition("#")
        page = (ROOT / "docs" / "how-to" / file).read_text() if file else PAGE
        assert not anchor or anchor in anchors(page), target


@pytest.mark.parametrize("block", re.findall(r"^ *```sh\n(.*?)^ *```", PAGE, re.M | re.S))
def test_a_block_is_well_formed_shell(block: str) -> None:
    done = subprocess.run(
        ["bash", "-n"],  # noqa: S607
        input=block,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
