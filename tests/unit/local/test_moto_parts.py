"""Parts of moto are replaced where moto is what the replacement was written for, or not at all."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.local import moto_queues, moto_statements, moto_tables
from hourhand.local.moto_parts import Part, replace_parts


class Motos:
    def answer(self, question: str) -> str:
        return f"slow {question}"

    @property
    def count(self) -> int:
        return 1


def ours(self: Any, question: str) -> str:
    return f"quick {question}"


@pytest.fixture
def motos() -> Any:
    return type("Motos", (), dict(Motos.__dict__))


def test_parts_that_are_known_are_replaced_as_often_as_one_likes(motos: Any) -> None:
    count = property(lambda self: 2)
    parts = [Part(motos, "answer", ours, "self question"), Part(motos, "count", count)]
    assert replace_parts(parts)
    assert replace_parts(parts)
    assert motos().answer("why") == "quick why"
    assert motos().count == 2


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("answer", "self question language"), ("answer", ""), ("count", "self"), ("reply", "self")],
)
def test_where_one_part_is_not_as_expected_none_is_replaced_and_it_is_said(
    motos: Any, name: str, parameters: str, caplog: pytest.LogCaptureFixture
) -> None:
    known = Part(motos, "answer", ours, "self question")
    assert not replace_parts([known, Part(motos, name, ours, parameters)])
    assert motos().answer("why") == "slow why"
    assert f"Motos.{name}" in caplog.text


@pytest.mark.parametrize(
    "replace",
    [
        moto_tables.keep_tables_in_order,
        moto_queues.keep_queues_in_order,
        moto_statements.understand_statements,
    ],
)
def test_the_moto_that_is_installed_is_the_one_that_ours_was_written_for(replace: Any) -> None:
    assert replace()
