"""YAML is read as JSON would be: nothing turns into a date, a time or a boolean by surprise."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.cli.schedules import yaml_values
from hourhand.cli.schedules.yaml_values import YamlProblem, read_documents


def value_of(text: str) -> Any:
    [document] = read_documents(text)
    assert document.problems == []
    return document.value


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("30 2 * * 1", "30 2 * * 1"),
        ("2026-12-25", "2026-12-25"),
        ("2027-01-01T09:00:00Z", "2027-01-01T09:00:00Z"),
        ('"yes"', "yes"),
        ("'12:30'", "12:30"),
        ("!!str yes", "yes"),
        ("|\n  two\n  lines\n", "two\nlines\n"),
        ("true", True),
        ("False", False),
        ("5", 5),
        ("-0.5", -0.5),
        ("1e3", "1e3"),
        ("~", None),
        ("", None),
        ("[a, {b: 1}]", ["a", {"b": 1}]),
    ],
)
def test_a_value_is_what_was_written(written: str, read: object) -> None:
    assert value_of(f"field: {written}") == {"field": read}


@pytest.mark.parametrize(
    ("text", "path", "line", "problem"),
    [
        ("a: 1\npaused: yes", "paused", 2, "YAML reads as a boolean"),
        ("tags:\n  env: off", "tags.env", 2, "YAML reads as a boolean"),
        ("on: 1", "on", 1, 'a key that YAML reads as a boolean: write "on"'),
        ("note: 12:30", "note", 1, 'a number of its own: for text write "12:30"'),
        ("tenant: 007", "tenant", 1, 'a number of its own: for text write "007"'),
        ("n: 0x1f", "n", 1, "a number of its own"),
        ("n: .inf", "n", 1, "a number of its own"),
        ("list:\n- a\n- no", "list[1]", 3, "YAML reads as a boolean"),
        ("a: 1\nb: 2\na: 3", "a", 3, "is given twice"),
        ("a: !!python/object:os.system x", "a", 1, "has the tag"),
        ("a: !custom [1]", "a", 1, "has the tag !custom"),
        ("a: !!binary aGk=", "a", 1, "has the tag"),
        ("? [1]\n: 2", "", 1, "must have names as keys"),
        ("<<: {a: 1}", "<<", 1, "merge key"),
    ],
)
def test_what_readers_understand_differently_is_refused_with_field_and_line(
    text: str, path: str, line: int, problem: str
) -> None:
    [document] = read_documents(text)
    [(found_path, found_line, message)] = document.problems
    assert (found_path, found_line) == (path, line)
    assert problem in message


def test_each_field_knows_its_line() -> None:
    [document] = read_documents("- id: a\n  retry:\n    max_attempts: 3\n- id: b\n")
    assert document.lines["[0].retry.max_attempts"] == 3
    assert document.lines["[1].id"] == 4


def test_documents_follow_each_other() -> None:
    assert [document.value for document in read_documents("id: a\n---\nid: b\n---\n")] == [
        {"id": "a"},
        {"id": "b"},
        None,
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [1", "line 1: it is not valid YAML"),
        ("a: 1\n\t- b", "line 2: it is not valid YAML"),
        ("a: \x01", "it is not valid YAML"),
        ("a: &loop [*loop]", "nested more than 100 deep"),
    ],
)
def test_what_is_no_yaml_is_told_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(YamlProblem, match=problem):
        list(read_documents(text))


def test_a_few_lines_cannot_stand_for_billions_of_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_values, "MAX_VALUES", 1_000)
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]
    with pytest.raises(YamlProblem, match="more than 1,000 values"):
        list(read_documents("\n".join(lines)))
