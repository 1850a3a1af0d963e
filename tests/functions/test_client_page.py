"""The Python on the client's page runs, from its first block to its last, against the real API."""

from __future__ import annotations

import builtins
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

import hourhand.client
from hourhand.client import ClientError, stand_in
from hourhand.handlers import Registry
from tests.functions.test_client_api import Api
from tests.world.world import World

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PAGE = (FOLDER / "client.md").read_text(encoding="utf-8")
FLOWS = (FOLDER / "graphs-and-batches.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE + FLOWS, flags=re.M | re.S)


class WorkingClock:
    """The world's clock; while somebody waits, the world works."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.clock.now()

    def monotonic(self) -> float:
        return self._world.clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._world.minute()


@pytest.fixture
def world() -> World:
    return World(handlers=("send-welcome", "report"))


def test_what_the_page_shows_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    # The page's own handler is not one of the other tests'.
    monkeypatch.setattr("hourhand.handlers._registry.default_registry", Registry())
    monkeypatch.setattr("hourhand.client._default._default", [])
    # The page speaks of now.
    world.clock.advance_to(datetime.now(UTC))
    printed: list[tuple[Any, ...]] = []
    monkeypatch.setattr(builtins, "print", lambda *told: printed.append(told))
    transport = httpx.MockTransport(Api(world))
    page = ModuleType("client_page")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    names = vars(page)

    with stand_in(transport=transport, async_transport=transport, clock=WorkingClock(world)):
        for block in BLOCKS:
            code = compile(block, "docs/reference/client.md", "exec", dont_inherit=True)
            exec(code, names)  # noqa: S102 - it is our own page

    assert names["ended"].status == "SUCCEEDED"
    assert names["failed"] == []
    assert names["counts"] == {"submitted": 1000, "not submitted": 0, "unknown": 0}
    assert {wrong for wrong, *_ in printed} >= {"run_at", "priority"}
    assert (1000, "done,", 0, "failed") in printed


def test_the_page_names_every_exception() -> None:
    kinds = [one for one in vars(hourhand.client).values() if isinstance(one, type)]
    errors = {one.__name__ for one in kinds if issubclass(one, ClientError)}

    assert len(errors) > 10
    assert {name for name in errors if f"`{name}`" not in PAGE} == set()
