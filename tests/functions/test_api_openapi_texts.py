"""What the OpenAPI document says in words speaks of JSON, to people who never see our code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from hourhand.api.openapi import openapi_document
from hourhand.api.openapi_texts import SHAPE_TEXTS

SCHEMAS: dict[str, Any] = openapi_document()["components"]["schemas"]


def texts_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        text = value.get("description")
        # A field may have that name, too: then it is a schema.
        if isinstance(text, str):
            yield text
        yield from (text for member in value.values() for text in texts_of(member))
    elif isinstance(value, list):
        yield from (text for member in value for text in texts_of(member))


def test_every_shape_is_explained() -> None:
    assert [name for name, schema in SCHEMAS.items() if not schema.get("description")] == []


def test_texts_speak_neither_python_nor_its_markup() -> None:
    found = list(texts_of(openapi_document()))
    assert len(found) > len(SCHEMAS)
    assert [text for text in found if re.search(r"``|\bNone\b|_text\b|_hash\b", text)] == []


@pytest.mark.parametrize("name", SHAPE_TEXTS)
def test_each_text_of_a_shape_is_in_use(name: str) -> None:
    assert SCHEMAS[name]["description"] == SHAPE_TEXTS[name]


@pytest.mark.parametrize("name", ["JobPatch", "BackfillInput"])
def test_fields_that_a_text_names_exist(name: str) -> None:
    named = set(re.findall(r"`(\w+)`", SHAPE_TEXTS[name]))
    assert named <= set(SCHEMAS[name]["properties"])
