"""Keys of limits: what a path may be, and which jobs share a key."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.limits.keys import (
    MAX_KEY_TEXT_BYTES,
    InvalidLimit,
    KeyFields,
    KeyPath,
    KeySource,
    key_digest,
    key_text,
    parse_key_path,
)


def fields(
    payload: Any = None, tenant: str | None = None, tags: dict[str, str] | None = None
) -> KeyFields:
    return KeyFields(tenant=tenant, tags=tags or {}, payload=lambda: payload)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("handler", KeyPath(KeySource.HANDLER)),
        ("tenant", KeyPath(KeySource.TENANT)),
        ("tags.customer", KeyPath(KeySource.TAGS, ("customer",))),
        ("tags.customer.region", KeyPath(KeySource.TAGS, ("customer.region",))),
        ("payload", KeyPath(KeySource.PAYLOAD)),
        ("payload.a", KeyPath(KeySource.PAYLOAD, ("a",))),
        ("payload.a.b c", KeyPath(KeySource.PAYLOAD, ("a", "b c"))),
        ("stripe", KeyPath(KeySource.LITERAL, ("stripe",))),
        ("payloads", KeyPath(KeySource.LITERAL, ("payloads",))),
    ],
)
def test_a_key_path_names_its_source_and_its_fields(text: str, path: KeyPath) -> None:
    assert parse_key_path(text) == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        None,
        5,
        "paylod.account",
        "handler.a",
        "tenant.a",
        "tags",
        "tags.",
        "tags.a:b",
        "payload.",
        "payload..a",
        "payload.a.",
        "payload.a\n",
        "two words",
        "payload." + ".".join("a" * 21),
        "x" * 257,
    ],
)
def test_a_path_that_cannot_be_parsed_is_refused_with_what_is_allowed(text: object) -> None:
    with pytest.raises(InvalidLimit, match=r"key must be handler, tenant, tags\.<name>") as refused:
        parse_key_path(text)
    assert refused.value.code == "invalid_limit"


@pytest.mark.parametrize(
    ("text", "divides"),
    [
        ("handler", False),
        ("stripe", False),
        ("tenant", True),
        ("tags.a", True),
        ("payload.a", True),
    ],
)
def test_a_limit_divides_if_jobs_of_a_handler_have_different_keys(text: str, divides: bool) -> None:
    assert parse_key_path(text).divides is divides


@pytest.mark.parametrize(
    ("text", "job", "value"),
    [
        ("tenant", fields(tenant="acme"), "acme"),
        ("tenant", fields(), None),
        ("tags.region", fields(tags={"region": "eu"}), "eu"),
        ("tags.region", fields(), None),
        ("payload.a.b", fields({"a": {"b": 7}}), 7),
        ("payload.a", fields({"a": [1, {"b": 2}]}), [1, {"b": 2}]),
        ("payload.a.b", fields({"a": 1}), None),
        ("payload.a.0", fields({"a": [1]}), None),
        ("payload.a", fields({}), None),
        ("payload.a", fields("text"), None),
        ("payload", fields([1]), [1]),
        ("stripe", fields(), "stripe"),
        ("handler", fields(tenant="acme"), None),
    ],
)
def test_a_key_is_the_json_value_at_its_path_or_null(
    text: str, job: KeyFields, value: object
) -> None:
    assert parse_key_path(text).value_of(job) == value


def test_no_payload_is_read_for_a_key_that_is_elsewhere() -> None:
    def unread() -> Any:
        raise AssertionError("the payload was read")

    job = KeyFields(tenant="acme", tags={"a": "b"}, payload=unread)
    for text in ("handler", "tenant", "tags.a", "stripe"):
        parse_key_path(text).value_of(job)


def test_keys_of_different_types_are_different_keys() -> None:
    values = [1, "1", None, "null", True, [1], {"a": 1}, "", [], {}, 0, False, "x" * 100_000]
    digests = {key_digest("sync.1", value) for value in values}
    assert len(digests) == len(values)
    assert {len(digest) for digest in digests} == {10}
    assert key_digest("sync.1", 1.0) == key_digest("sync.1", 1) != key_digest("sync.1", 1.5)
    assert key_digest("sync.1", {"a": 1, "b": 2}) == key_digest("sync.1", {"b": 2, "a": 1})


def test_the_limit_of_a_handler_is_not_that_of_the_key_null() -> None:
    handler, tenant = parse_key_path("handler"), parse_key_path("tenant")
    assert handler.digest("stripe", None) != tenant.digest("stripe", None)
    assert tenant.digest("stripe", None) == key_digest("stripe", None)
    assert tenant.digest("stripe", "a") != tenant.digest("stripes", "a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("acme", "acme"),
        (None, "null"),
        (5, "5"),
        ({"b": 1, "a": "ü"}, '{"a":"ü","b":1}'),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 61 + "…"),
        ("ü" * 33, "ü" * 30 + "…"),
        ("\ud800", "?"),
    ],
)
def test_the_text_of_a_key_is_cut_between_characters(value: object, text: str) -> None:
    assert key_text(value) == text
    assert len(key_text(value).encode()) <= MAX_KEY_TEXT_BYTES


def test_a_limit_with_a_single_key_shows_none() -> None:
    assert parse_key_path("handler").text(None) is None
    assert parse_key_path("tenant").text(None) == "null"
    assert parse_key_path("stripe").text("stripe") == "stripe"
