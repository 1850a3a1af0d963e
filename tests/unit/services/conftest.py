"""The wired system in memory, for every test of a service."""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any

import pytest

from hourhand.domain.errors import WrittenByNewer
from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.schedules.schedule import Schedule
from hourhand.ports import Found
from tests.world.world import World


@pytest.fixture
def world() -> World:
    """Return a world in which nothing has happened yet."""
    return World()


JOB_CALLS = ("get", "get_many", "get_details", "put", "transition")
MANY = frozenset({"get_many", "get_definitions", "get_calendars"})

TurnNewer = Callable[..., None]


def _ids(asked: Any) -> set[str]:
    if isinstance(asked, str):
        return {asked}
    if isinstance(asked, Job | Schedule):
        return {asked.id}
    if isinstance(asked, Transition):
        return {asked.job_id}
    return {one[0] if isinstance(one, tuple) else one for one in asked}


def _leaving(plain: Callable[..., Any], ids: Set[str], *, is_of_many: bool) -> Callable[..., Any]:
    """Return a method of a store that leaves what concerns ``ids`` to a newer version."""

    def call(asked: Any, *args: Any, **named: Any) -> Any:
        met = ids & _ids(asked)
        if not met:
            return plain(asked, *args, **named)
        left = WrittenByNewer("It has version 2.", ids=met)
        if not is_of_many:
            raise left
        return Found(plain([one for one in asked if not ids & _ids([one])]), left)

    return call


@pytest.fixture
def turn_newer(monkeypatch: pytest.MonkeyPatch) -> TurnNewer:
    """Return what has these methods of a store leave what concerns these ids."""

    def turn(
        store: Any,
        *ids: str,
        methods: tuple[str, ...] = JOB_CALLS,
        patch: pytest.MonkeyPatch = monkeypatch,
    ) -> None:
        for method in methods:
            plain = getattr(store, method)
            leaving = _leaving(plain, frozenset(ids), is_of_many=method in MANY)
            patch.setattr(store, method, leaving)

    return turn
