"""The runbook has each alarm, failure and rehearsal, and names nothing that is not there."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from proof.rehearsals.catalogue import REHEARSALS
from tests.docs.pages import code, rows

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "how-to"
PAGE = (FOLDER / "runbook.md").read_text()
RESTORE = (FOLDER / "restore.md").read_text()
METRICS_PAGE = (ROOT / "docs" / "reference" / "metrics.md").read_text()
LABELS = ["Symptom", "Meaning", "Check", "Repair"]
FIRST, FAILURES = PAGE.split("\n# Failures\n")


def anchors(page: str) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", title).lower().replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r'<a id="([a-z-]+)">', page))


def entries() -> dict[str, str]:
    """Return the anchors, heading and text of each failure, by the heading's own anchor."""
    parts = re.split(r"^((?:<a .+\n)?## .+)$", FAILURES, flags=re.M)
    found = {head: head + text for head, text in zip(parts[1::2], parts[2::2], strict=True)}
    return {anchors(head.splitlines()[-1]).pop(): text for head, text in found.items()}


ENTRIES = entries()
INDEX = {re.findall(r"\]\(#([\w-]+)\)", row[2])[0]: row for row in rows(FIRST)}


def test_each_alarm_of_the_deployment_has_its_entry() -> None:
    # That these are the template's alarms: tests/infra/test_alarms_page.py.
    alarms = re.findall(
        r"^\| `([a-z-]+)` \|", METRICS_PAGE.split("\n## Alarms\n")[1].split("\n## ")[0], re.M
    )
    assert len(alarms) == 22
    assert sorted(name for row in INDEX.values() for name in code(row[1])) == sorted(alarms)


@pytest.mark.parametrize("anchor", INDEX)
def test_an_alarm_links_to_an_entry_that_names_it(anchor: str) -> None:
    for alarm in code(INDEX[anchor][1]):
        assert alarm in anchors(ENTRIES[anchor])
        assert f"`{alarm}`" in ENTRIES[anchor].partition("- **Meaning:**")[0]


def test_the_index_lists_each_failure_in_the_order_of_the_page() -> None:
    assert len(ENTRIES) == 20
    assert list(INDEX) == list(ENTRIES)


@pytest.mark.parametrize("anchor", ENTRIES)
def test_an_entry_says_what_one_sees_checks_and_repairs(anchor: str) -> None:
    assert re.findall(r"^- \*\*(.+?):?\*\*", ENTRIES[anchor], re.M) == LABELS


@pytest.mark.parametrize("anchor", INDEX)
def test_each_failure_can_be_rehearsed(anchor: str) -> None:
    named = code(INDEX[anchor][3])
    assert named
    assert set(named) <= set(REHEARSALS)


def test_each_rehearsal_is_named_and_says_what_it_shows() -> None:
    assert {name for row in INDEX.values() for name in code(row[3])} == set(REHEARSALS)
    assert set(re.findall(r"make rehearse NAME=([a-z-]+)", PAGE + RESTORE)) <= set(REHEARSALS)
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
    assert len(widgets) >= 8
    assert {one for one in widgets if one not in dashboard} == set()


@pytest.mark.parametrize("own", [PAGE, RESTORE], ids=["runbook", "restore"])
def test_each_link_leads_somewhere(own: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", own):
        file, _, anchor = target.partition("#")
        page = (FOLDER / file).read_text() if file else own
        assert not anchor or anchor in anchors(page), target


def test_every_command_acts_in_the_stack_that_the_first_steps_name() -> None:
    (stack,) = re.findall(r"^STACK=(.+)$", FIRST, re.M)
    exported = re.findall(r"^export (.+)$", FIRST, re.M)
    done = subprocess.run(
        ["bash", "-c", f"STACK={stack}\nexport {exported[0]}\nprintenv HOURHAND_STACK"],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )
    assert done.stdout.strip() == stack


@pytest.mark.parametrize("block", re.findall(r"^ *```sh\n(.*?)^ *```", PAGE + RESTORE, re.M | re.S))
def test_a_block_is_well_formed_shell(block: str) -> None:
    done = subprocess.run(
        ["bash", "-n"],  # noqa: S607
        input=block,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
