"""The API over the whole system in memory."""

from __future__ import annotations

import pytest

from hourhand.api.app import create_app
from tests.functions.api_client import ApiClient
from tests.functions.cli_rig import Shell, one_command_tree
from tests.functions.schedule_fakes import FakeServices, fake_services
from tests.world.world import World

commands = pytest.fixture(one_command_tree, scope="session", autouse=True, name="commands")


@pytest.fixture
def world() -> World:
    return World(handlers=("greet", "report"))


@pytest.fixture
def api(world: World) -> ApiClient:
    return ApiClient(create_app(world.api))


@pytest.fixture
def services(world: World) -> FakeServices:
    return fake_services(world)


@pytest.fixture
def shell(world: World, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return Shell(world, monkeypatch)
