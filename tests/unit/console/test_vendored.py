"""The libraries of others are what VENDORED.md says, and so are their licences."""

from __future__ import annotations

import hashlib
import re

import pytest

from hourhand.console.assets import STATIC_FOLDER

FOLDER = STATIC_FOLDER / "vendor"
TEXT = (FOLDER / "VENDORED.md").read_text(encoding="utf-8")
SUMS = dict(re.findall(r"^\| `([\w.-]+)` \|.*\| `([0-9a-f]{64})` \|$", TEXT, re.MULTILINE))


@pytest.mark.parametrize("name", SUMS)
def test_a_vendored_file_is_the_one_that_was_looked_at(name: str) -> None:
    assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == SUMS[name]


def test_no_vendored_file_is_unlisted() -> None:
    assert {file.name for file in FOLDER.iterdir()} == {*SUMS, "VENDORED.md"}


def test_each_package_has_its_licence_beside_it() -> None:
    packages = set(re.findall(r"\| (\w+) [\d.]+, `", TEXT))
    licences = {name[8:-4].lower() for name in SUMS if name.startswith("LICENSE-")}
    assert packages == licences == {"preact", "htm", "uplot"}


def test_the_one_change_is_the_one_that_is_described() -> None:
    (package_sum,) = re.findall(r"own file has the sum `([0-9a-f]{64})`", TEXT)
    ours = (FOLDER / "hooks.mjs").read_bytes()
    assert ours.count(b'from"./preact.mjs"') == 1
    theirs = ours.replace(b'from"./preact.mjs"', b'from"preact"')
    assert hashlib.sha256(theirs).hexdigest() == package_sum
