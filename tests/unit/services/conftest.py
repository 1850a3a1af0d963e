"""The wired system in memory, for every test of a service."""

from __future__ import annotations

import pytest

from tests.world.world import World


@pytest.fixture
def world() -> World:
    """Return a world in which nothing has happened yet."""
    return World()
