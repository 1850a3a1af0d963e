"""Every test of a client asks both kinds of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.unit.client.callers import Answering, Caller, Kind


@pytest.fixture(params=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Kind:
    named: Kind = request.param
    return named


@pytest.fixture
def calling(kind: Kind) -> Iterator[Callable[..., Caller]]:
    """Make a caller of a client whose requests are answered by a function."""
    made: list[Caller] = []

    def make(answering: Answering, **options: Any) -> Caller:
        made.append(Caller(kind, answering, **options))
        return made[-1]

    yield make
    for caller in made:
        caller.close()
