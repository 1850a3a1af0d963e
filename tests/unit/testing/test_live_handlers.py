"""The handlers of a test: as they are registered at each moment, and what stands in for them."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.handlers import Concurrency, InvalidHandler, JobContext, Registry, UnknownHandler, job
from hourhand.testing.live_handlers import LiveHandlers


def greet(context: JobContext, payload: Any) -> None:
    """Greet somebody."""


def other(context: JobContext) -> None:
    """Do something else."""


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
def handlers(registry: Registry) -> LiveHandlers:
    return LiveHandlers(registry)


def test_a_handler_that_is_registered_later_is_known(
    handlers: LiveHandlers, registry: Registry
) -> None:
    assert handlers.find("greet") is None
    registry.add("greet", greet)
    info = handlers.find("greet")
    assert info is not None
    assert info.description == "Greet somebody."
    assert handlers.get("greet").function is greet


def test_a_stub_goes_before_the_handler_and_keeps_its_policies(
    handlers: LiveHandlers, registry: Registry
) -> None:
    job("greet", timeout=7, registry=registry)(greet)
    handlers.stub("greet", other)
    assert handlers.get("greet").function is other
    assert handlers.get("greet").policies.timeout_seconds == 7
    handlers.stub("greet", greet)
    assert handlers.get("greet").function is greet


def test_a_stub_needs_no_handler(handlers: LiveHandlers) -> None:
    handlers.stub("elsewhere", other)
    assert handlers.find("elsewhere") is not None


def test_a_stub_is_called_as_a_handler_is(handlers: LiveHandlers) -> None:
    with pytest.raises(InvalidHandler, match="must take"):
        handlers.stub("greet", lambda: None)


def test_every_handler_is_listed_by_name(handlers: LiveHandlers, registry: Registry) -> None:
    registry.add("greet", greet)
    handlers.stub("greet", other)
    handlers.stub("elsewhere", other)
    assert [info.name for info in handlers.all()] == ["elsewhere", "greet"]


def test_an_unknown_handler_cannot_be_had(handlers: LiveHandlers) -> None:
    with pytest.raises(UnknownHandler, match="missing"):
        handlers.get("missing")


def test_a_handler_may_be_named_by_its_function(handlers: LiveHandlers, registry: Registry) -> None:
    registry.add("greet", greet)
    registry.add("other", other)
    assert handlers.name_of(other) == "other"
    assert handlers.name_of("anything") == "anything"
    with pytest.raises(ValueError, match="is not a registered handler"):
        handlers.name_of(print)


def test_a_stub_takes_what_the_handler_takes(handlers: LiveHandlers, registry: Registry) -> None:
    def count(context: JobContext, payload: int) -> None: ...

    registry.add("count", count)
    handlers.stub("count", greet)
    info = handlers.find("count")
    assert info is not None
    assert info.payload_schema == {"type": "integer"}
    assert info.payload_check == {"type": "int", "strict": True}
    assert [one.payload_check for one in handlers.all()] == [info.payload_check]


def test_a_stub_keeps_to_the_limits_of_the_handler(
    handlers: LiveHandlers, registry: Registry
) -> None:
    limits = (Concurrency(2),)
    registry.add("greet", greet, limits=limits)
    handlers.stub("greet", greet)
    info = handlers.find("greet")
    assert info is not None
    assert info.limits == limits
