"""Names of calls: they count in the order of their use, within their branch."""

from __future__ import annotations

import pytest

from hourhand.domain.runs.names import (
    MAX_PATH,
    PathNames,
    branch_of,
    is_below,
    renamed,
    step_key,
)


def test_calls_of_one_name_are_numbered_in_the_order_of_their_use() -> None:
    names = PathNames()
    used = [names.next(name) for name in ("a", "b", "a", "a")]
    assert used == ["a", "b", "a.2", "a.3"]


def test_a_branch_counts_for_itself() -> None:
    root, left = PathNames(), PathNames("left/")
    assert [root.next("a"), left.next("a"), left.next("a")] == ["a", "left/a", "left/a.2"]


@pytest.mark.parametrize("name", ["", "a b", "a.b", "a/b", "a:b", "é", "x" * 65, None])
def test_a_name_that_could_be_taken_for_another_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="must be 1 to 64 of the characters"):
        PathNames().next(name)


def test_a_path_has_a_limit() -> None:
    with pytest.raises(ValueError, match=f"longer than {MAX_PATH} characters"):
        PathNames("x" * MAX_PATH + "/").next("a")


@pytest.mark.parametrize(
    ("path", "branch"), [("a", ""), ("left/a.2", "left/"), ("a/b/c", "a/b/"), ("map:3", "")]
)
def test_the_branch_of_a_call_ends_with_a_slash(path: str, branch: str) -> None:
    assert branch_of(path) == branch


@pytest.mark.parametrize(
    ("path", "older"), [("new", "old"), ("new.3", "old.3"), ("left/new.2", "left/old.2")]
)
def test_a_renamed_call_keeps_its_branch_and_number(path: str, older: str) -> None:
    assert renamed(path, "old") == older


@pytest.mark.parametrize(
    ("path", "reset", "expected"),
    [
        ("a", "a", True),
        ("a/b", "a", True),
        ("a:3", "a", True),
        ("a.2", "a", False),
        ("ab", "a", False),
        ("a", "a/b", False),
    ],
)
def test_a_reset_includes_what_is_below_a_branch_or_a_map(
    path: str, reset: str, expected: bool
) -> None:
    assert is_below(path, reset) is expected


def test_a_step_key_changes_only_with_the_run_the_segment_the_path_and_the_reset() -> None:
    keys = {
        step_key("run", 0, "a", 0),
        step_key("other", 0, "a", 0),
        step_key("run", 1, "a", 0),
        step_key("run", 0, "b", 0),
        step_key("run", 0, "a", 2),
    }
    assert len(keys) == 5
    assert step_key("run", 0, "a", 0) in keys
