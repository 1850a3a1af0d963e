"""The model at its smallest bounds holds, and spoiled variants of it are found to fail."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from proof.model.__main__ import main
from proof.model.checks import FAILS, FAST, Check
from proof.model.spin import Result, missing_tool, run_check

IN_CI = "HOURHAND_CI"
FENCED = next(one for one in FAILS if one.spoiled == "NO_FENCE")


@pytest.fixture
def tools() -> None:
    missing = missing_tool()
    if missing is None:
        return
    if os.environ.get(IN_CI) == "1":
        pytest.fail(f"{missing}, and in CI this may not be skipped.")
    pytest.skip(f"{missing}.")


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("check", FAST, ids=lambda check: check.name)
def test_the_model_holds(check: Check) -> None:
    assert run_check(check).violation is None


@pytest.fixture(scope="module")
def failed() -> dict[str, Result]:
    """What each variant comes to, by its name; empty where a tool is missing."""
    return {} if missing_tool() else {check.name: run_check(check) for check in FAILS}


@pytest.mark.usefixtures("tools")
@pytest.mark.parametrize("check", FAILS, ids=lambda check: check.name)
def test_a_variant_fails_with_its_story_and_with_no_others(
    check: Check, failed: dict[str, Result]
) -> None:
    result = failed[check.name]
    assert result.violation is None
    assert result.errors > 0
    assert [one.name for one in FAILS if one.fits(result.story)] == [check.name]


def test_a_story_fits_only_in_its_order_and_without_what_it_may_not_show() -> None:
    check = replace(FENCED, story_shows=("a", "b"), story_lacks=("c",))
    assert check.fits(["x", "a", "b", "y"])
    assert not check.fits(["b", "a"])
    assert not check.fits(["a"])
    assert not check.fits(["a", "b", "c"])


@pytest.mark.usefixtures("tools")
def test_a_rule_that_is_dropped_from_the_model_is_a_violation() -> None:
    unaware = replace(FENCED, source="job.pml", spoiled=None)
    spoiled = replace(unaware, bounds={**unaware.bounds, "NO_FENCE": 1})
    violation = run_check(spoiled).violation
    assert violation is not None
    assert "holder==me" in violation


def test_a_missing_tool_is_told_with_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main(["--fast", "--figures", str(tmp_path / "figures.json")]) == 1
    assert "apt-get install spin" in capsys.readouterr().err
    assert (tmp_path / "figures.json").exists()
