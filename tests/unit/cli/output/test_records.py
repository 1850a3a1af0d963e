"""Records are printed as JSON, as YAML, or as the columns that were named."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours
from rich.console import Console

from hourhand.cli.output.fields import read_fields
from hourhand.cli.output.records import ROWS_A_TABLE, Form, Records

HOSTILE = {"id": "a", "note": "\x1b[2J\u202e größer\nsecond line", "at": "2026-01-05T09:00:00.000Z"}
OTHER = {"id": "b", "note": None, "at": "yes"}


def printed(form: Form, fields: str | None, *records: dict[str, Any]) -> tuple[str, str]:
    """Return what was printed, before the records end and after."""
    stream = io.StringIO()
    console = Console(file=stream, width=80, color_system=None)
    made = Records(console, form, None if fields is None else read_fields(fields))
    for record in records:
        made.add(record)
    before = stream.getvalue()
    made.flush()
    return before, stream.getvalue()


def test_json_is_one_plain_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    printed("json", None, HOSTILE, OTHER)
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == [HOSTILE, OTHER]
    assert all(line.isascii() and line.isprintable() for line in lines)


def test_yaml_is_one_document_for_each_and_a_terminal_may_show_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printed("yaml", None, HOSTILE, OTHER)
    out = capsys.readouterr().out
    # Times and words of YAML stay the texts that they are.
    assert list(yaml.safe_load_all(out)) == [HOSTILE, OTHER]
    assert out.startswith("id: a\n")
    assert out.count("---\n") == 1
    assert out.isascii()
    assert "\x1b" not in out


@pytest.mark.parametrize(("form", "read"), [("json", json.loads), ("yaml", yaml.safe_load)])
def test_fields_are_picked_in_every_form(
    form: Form, read: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(form, "at,id", OTHER)
    assert read(capsys.readouterr().out) == {"at": "yes", "id": "b"}


def test_a_table_has_the_fields_as_columns_and_comes_when_all_rows_are_known() -> None:
    before, after = printed("table", "id,note", HOSTILE, OTHER)
    assert before == ""
    header, *rows = after.splitlines()
    assert header.split() == ["ID", "NOTE"]
    assert rows[0].startswith("a   \\x1b[2J\\u202e größer\\nsecond line")
    assert rows[1].split() == ["b", "-"]


def test_a_long_listing_is_printed_table_by_table() -> None:
    before, after = printed("table", "id", *({"id": str(n)} for n in range(ROWS_A_TABLE + 1)))
    assert len(before.splitlines()) == ROWS_A_TABLE + 1
    assert len(after.splitlines()) == ROWS_A_TABLE + 3
