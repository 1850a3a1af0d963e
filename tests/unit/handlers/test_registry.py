"""Handlers are registered by name, and stay the functions that they are."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.handlers import (
    InvalidHandler,
    Registry,
    Retry,
    UnknownHandler,
    default_registry,
    describe,
    job,
)
from hourhand.ports.handler_directory import HandlerInfo


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_the_decorated_function_stays_an_ordinary_callable(registry: Registry) -> None:
    @job("add", registry=registry)
    def add(ctx: None, payload: list[int]) -> int:
        return sum(payload)

    assert add(None, [1, 2]) == 3
    assert registry.get("add").function is add


def test_a_job_registers_in_the_default_registry_unless_told_another(registry: Registry) -> None:
    job("only-here", registry=registry)(lambda ctx: None)

    assert "only-here" in registry
    assert "only-here" not in default_registry


@pytest.mark.parametrize("name", ["a", "send-welcome", "v1.Report_2", "x" * 64])
def test_a_name_of_plain_characters_is_taken(registry: Registry, name: str) -> None:
    assert registry.add(name, lambda ctx: None).name == name


@pytest.mark.parametrize("name", ["", "x" * 65, "two words", "a/b", "naïve", "a\n", None, 7])
def test_any_other_name_is_refused(registry: Registry, name: Any) -> None:
    with pytest.raises(InvalidHandler, match="1 to 64 of the characters"):
        registry.add(name, lambda ctx: None)


def test_a_decorator_without_a_name_says_what_to_write() -> None:
    def lonely(ctx: None) -> None:
        return None

    with pytest.raises(InvalidHandler, match=r'write @job\("some-name"\)'):
        job(lonely)  # type: ignore[arg-type]


def first(ctx: None) -> None:
    return None


def second(ctx: None) -> None:
    return None


def test_a_name_belongs_to_one_function_and_the_error_names_both(registry: Registry) -> None:
    registry.add("twice", first)

    with pytest.raises(InvalidHandler, match=r"named twice: \S+\.first and \S+\.second"):
        registry.add("twice", second)
    assert registry.get("twice").function is first


def test_an_unknown_name_is_told_with_the_names_that_exist(registry: Registry) -> None:
    with pytest.raises(UnknownHandler, match="There are no handlers"):
        registry.get("x")
    for name in ("b", "a"):
        registry.add(name, lambda ctx: None)
    with pytest.raises(UnknownHandler, match="The handlers are a, b"):
        registry.get("x")


def test_a_long_list_of_names_is_cut_in_the_message(registry: Registry) -> None:
    for number in range(30):
        registry.add(f"n{number:02}", lambda ctx: None)

    with pytest.raises(UnknownHandler, match="n19 and 10 more"):
        registry.get("x")


def with_payload(ctx: None, payload: dict[str, Any]) -> dict[str, Any]:
    return payload


class Called:
    def __call__(self, ctx: None, payload: Any) -> Any:
        return payload


@pytest.mark.parametrize(
    "function",
    [
        with_payload,
        functools.partial(with_payload),
        Called(),
        lambda *arguments: arguments[1],
        lambda ctx, payload=None, *, unused=1: payload,
    ],
    ids=["function", "partial", "object", "any arguments", "defaults"],
)
def test_a_function_of_context_and_payload_is_given_both(registry: Registry, function: Any) -> None:
    handler = registry.add("both", function)

    assert handler.function(None, *handler.arguments('{"a": 1}')) == {"a": 1}


def test_a_function_of_the_context_alone_is_given_no_payload(registry: Registry) -> None:
    handler = registry.add("alone", lambda ctx: "ran")

    assert handler.arguments('{"a": 1}') == ()


@pytest.mark.parametrize(
    "function",
    [lambda: None, lambda payload: None, lambda a, b, c: None, lambda a, *, b: None, "text"],
    ids=["nothing", "payload alone", "three", "keyword", "no function"],
)
def test_any_other_signature_is_refused_when_it_is_registered(
    registry: Registry, function: Any
) -> None:
    with pytest.raises(InvalidHandler, match="The handler odd"):
        registry.add("odd", function)


def test_a_manifest_describes_every_handler_by_name(registry: Registry) -> None:
    @job("b", timeout=60, retry=Retry(max_attempts=2), priority="low", registry=registry)
    def documented(ctx: None) -> None:
        """Send it.

        At length.
        """

    job("a", registry=registry)(lambda ctx: None)

    assert describe(registry) == [
        HandlerInfo(name="a"),
        HandlerInfo(
            name="b",
            description="Send it.",
            policies=HandlerPolicies(
                timeout_seconds=60,
                priority=Priority.LOW,
                retry=registry.get("b").policies.retry,
            ),
        ),
    ]


def test_describing_finds_a_payload_type_that_cannot_be_used(registry: Registry) -> None:
    def odd(ctx: None, payload: NotDefined) -> None:  # type: ignore[name-defined]  # noqa: F821
        return None

    registry.add("odd", odd)

    with pytest.raises(InvalidHandler, match="NotDefined, cannot be read"):
        describe(registry)
