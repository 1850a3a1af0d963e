"""The pages below ``docs/reference`` and ``docs/explanation`` name and link what exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, anchors, code, read, rows

ROOT = DOCS.parent
PAGES = sorted([*DOCS.glob("reference/*.md"), *DOCS.glob("explanation/*.md")])
GLOSSARY = rows(read("explanation/glossary.md"))
SEARCHED = ("src/common/hourhand", "infra/hourhand_cdk")
LONGEST_PAGE = 260
GENERATED = {"cli"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_link_to_a_heading_leads_to_one(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?://)([^)]+)\)", page.read_text()):
        file, _, anchor = target.partition("#")
        other = (page.parent / file) if file else page
        assert other.exists(), target
        assert not anchor or anchor in anchors(other.read_text()), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_module_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(r"`((?:domain|services|aws|api)/[\w/]+\.py)`", page.read_text())
    named += re.findall(r"`((?:tests|docs|bench|infra)/[\w/.-]+)`", page.read_text())

    missing = [name for name in named if not (ROOT / "src/common/hourhand" / name).exists()]
    assert [name for name in missing if not (ROOT / name).exists()] == []


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.stem not in GENERATED], ids=lambda page: page.stem
)
def test_a_page_is_short_enough_to_be_read(page: Path) -> None:
    assert len(page.read_text().splitlines()) <= LONGEST_PAGE


def test_the_glossary_is_in_alphabetical_order() -> None:
    words = [re.sub(r"[*(),]", "", row[0]).casefold() for row in GLOSSARY]

    assert words == sorted(words)


def test_a_name_in_the_glossary_is_one_of_the_code() -> None:
    source = "".join(
        file.read_text() for folder in SEARCHED for file in (ROOT / folder).rglob("*.py")
    )
    named = [name for row in GLOSSARY for name in code(row[2])]

    assert [name for name in named if not _is_known(name, source)] == []


def _is_known(name: str, source: str) -> bool:
    """Whether a file, a route, or names of the code are what a page calls ``name``."""
    if (ROOT / name).exists() or (ROOT / "src/common/hourhand" / name).exists():
        return True
    route = name.rsplit(" ", maxsplit=1)[-1]
    parts = re.findall(r"\w+", name)
    return route in source or all(part in source for part in parts)
