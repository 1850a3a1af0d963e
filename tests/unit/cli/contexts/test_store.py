"""The file of contexts: private, replaced at once, and never silently ignored when damaged."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from hourhand.cli.contexts.store import (
    MAX_CONTEXTS,
    MAX_FILE_BYTES,
    Context,
    Contexts,
    contexts_file,
    enter_context,
    read_contexts,
    write_contexts,
)
from hourhand.cli.exits import CommandError

PROD = Context(
    endpoint="https://prod.example",
    profile="ops",
    region="eu-west-1",
    stack="p",
    is_production=True,
)
DEV = Context(endpoint="http://127.0.0.1:8787")
BOTH = Contexts(current="prod", contexts={"prod": PROD, "dev": DEV})


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "hourhand" / "contexts.json"


def flags(**given: str | None) -> dict[str, Any]:
    names = ("context", "endpoint", "profile", "region", "stack")
    return {**dict.fromkeys(names), **given}


def test_without_a_file_there_are_no_contexts() -> None:
    assert read_contexts() == Contexts()
    assert enter_context(given := flags()) is None
    assert given == flags()


def test_what_is_written_is_read_again_and_only_its_owner_may_read_it(file: Path) -> None:
    write_contexts(BOTH)
    assert read_contexts() == BOTH
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert os.listdir(file.parent) == [file.name]  # noqa: PTH208 - hidden files, too


def test_a_write_that_fails_leaves_the_file_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_contexts(BOTH)

    def fail(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(CommandError, match="cannot be written: No space left on device"):
        write_contexts(Contexts())
    assert read_contexts() == BOTH
    assert [each.name for each in file.parent.iterdir()] == [file.name]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "Expecting property name"),
        ("[]", "file should be an object"),
        ('{"version": 2}', "its version is 2, and this release reads 1"),
        ('{"version": 1, "current": "x"}', "its current context 'x' is not one of them"),
        ('{"version": 1, "contexts": {"a": {"region": 7}}}', "file.contexts.a.region should be"),
        ("[" * 100_000, "recursion"),
        (" " * (MAX_FILE_BYTES + 1), "it has more than 1,000,000 bytes"),
    ],
    ids=["cut off", "no object", "newer", "no such context", "wrong type", "deep", "large"],
)
def test_a_damaged_file_is_named_with_the_reason(file: Path, text: str, reason: str) -> None:
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(CommandError) as raised:
        enter_context(flags())
    assert str(file) in str(raised.value)
    assert reason in str(raised.value)
    assert str(raised.value).endswith("Correct or delete it.")
    assert raised.value.exit_code == 2


def test_a_file_that_may_not_be_read_is_an_error(file: Path) -> None:
    file.mkdir(parents=True)
    with pytest.raises(CommandError, match="cannot be read"):
        read_contexts()


@pytest.mark.parametrize(
    ("environ", "base"),
    [
        ({"XDG_CONFIG_HOME": "/x"}, Path("/x")),
        ({}, Path.home() / ".config"),
        ({"XDG_CONFIG_HOME": "relative"}, Path.home() / ".config"),
    ],
)
def test_the_file_is_where_the_standard_says(environ: dict[str, str], base: Path) -> None:
    assert contexts_file(environ) == base / "hourhand" / "contexts.json"


def test_a_context_fills_in_only_what_was_not_given() -> None:
    write_contexts(BOTH)
    given = flags(profile="mine")
    chosen = enter_context(given)
    assert str(chosen) == "the production context prod (https://prod.example)"
    assert given == flags(
        endpoint="https://prod.example", profile="mine", region="eu-west-1", stack="p"
    )


def test_a_command_without_a_flag_is_not_given_one() -> None:
    write_contexts(BOTH)
    given: dict[str, Any] = {"context": None, "region": None}
    enter_context(given)
    assert given == {"context": None, "region": "eu-west-1"}


def test_a_context_that_is_named_comes_before_the_current_one() -> None:
    write_contexts(BOTH)
    given = flags(context="dev")
    chosen = enter_context(given)
    assert chosen is not None
    assert (chosen.name, given["endpoint"], given["profile"]) == ("dev", DEV.endpoint, None)


def test_the_current_context_is_left_out_where_another_api_is_named() -> None:
    """Otherwise a request to this machine would be made with the profile of production."""
    write_contexts(BOTH)
    given = flags(endpoint="http://127.0.0.1:9")
    assert enter_context(given) is None
    assert given == flags(endpoint="http://127.0.0.1:9")


def test_a_context_that_does_not_exist_is_an_error_that_lists_the_others() -> None:
    with pytest.raises(
        CommandError, match="There are no contexts yet: `hourhand context add`"
    ) as e:
        enter_context(flags(context="prod"))
    assert e.value.exit_code == 2
    write_contexts(BOTH)
    with pytest.raises(CommandError, match=r"no context 'x'. The contexts are dev, prod\."):
        enter_context(flags(context="x"))


def test_names_and_their_number_are_bounded() -> None:
    for name in ("", "-x", "a b", "a/b", "x" * 65):
        with pytest.raises(CommandError, match="must be 1 to 64"):
            BOTH.with_added(name, DEV, replaces=False)
    full = Contexts(contexts={f"c{n}": DEV for n in range(MAX_CONTEXTS)})
    with pytest.raises(CommandError, match="Remove one first"):
        full.with_added("one-more", DEV, replaces=False)
    assert full.with_added("c7", PROD, replaces=True).contexts["c7"] == PROD


def test_a_context_is_not_replaced_by_accident() -> None:
    with pytest.raises(CommandError, match="--replace replaces it"):
        BOTH.with_added("prod", DEV, replaces=False)


def test_a_context_that_is_removed_is_not_current_any_more() -> None:
    assert BOTH.without("prod") == Contexts(contexts={"dev": DEV})
    assert BOTH.without("dev").current == "prod"


def test_the_file_holds_what_a_person_can_read(file: Path) -> None:
    write_contexts(BOTH)
    assert json.loads(file.read_text()) == {
        "version": 1,
        "current": "prod",
        "contexts": {
            "dev": {"endpoint": "http://127.0.0.1:8787"},
            "prod": {
                "endpoint": "https://prod.example",
                "profile": "ops",
                "region": "eu-west-1",
                "stack": "p",
                "production": True,
            },
        },
    }
