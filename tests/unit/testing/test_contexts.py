"""The context of a handler that a test calls itself."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.handlers import StopReason
from hourhand.memory import START
from hourhand.testing import make_context


def test_a_context_needs_nothing_said() -> None:
    context = make_context()
    assert (context.attempt, context.run_at, context.tags) == (1, START, {})
    assert not context.cancelled
    assert context.deadline == START + timedelta(seconds=300)


def test_a_context_is_as_a_test_says() -> None:
    later = START + timedelta(days=1)
    context = make_context(run_at=later, attempt=3, tenant="acme")
    assert (context.attempt, context.tenant) == (3, "acme")
    assert context.deadline > later
    context.cancelled.tell(StopReason.CANCELLED)
    assert context.cancelled


def test_a_field_that_no_context_has_is_refused() -> None:
    with pytest.raises(TypeError, match="attempts"):
        make_context(attempts=3)
