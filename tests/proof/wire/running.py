"""Plays the cells of the scenes, each scene in installations of its own."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hourhand.aws import clients
from tests.proof.wire.calls import Call
from tests.proof.wire.cells import Outcome, how, play
from tests.proof.wire.faults import SHORT_TIMEOUT_SECONDS
from tests.proof.wire.matrix import (
    SEND_ALONE,
    Cell,
    cells_of,
    companions_of,
    new_shapes,
    send_alone,
)
from tests.proof.wire.scenes import Scene
from tests.proof.wire.timeline import Timeline
from tests.proof.wire.wire import Wire
from tests.proof.wire.world import Cloud, World, installation

PLAYS_OF_AN_INSTALLATION = 40
"""The emulator slows down as its tables grow."""

SHARE_WITHOUT_TIMEOUTS = 0.7
"""Of a scene's time, where it is bounded: the rest is for the cells of timeouts."""

REHEARSALS = 3
"""The first play in a new installation asks some things that no later one does; what the last two
both ask, every later one does."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a cell ended: a word of `tests.proof.wire.cells.how`, and what was broken."""

    cell: Cell
    word: str
    outcome: Outcome


@dataclass(slots=True)
class Run:
    """A run over a cloud. ``calls``: what was called without a fault."""

    cloud: Cloud
    timeline: Timeline
    wire: Wire
    folder: Path
    calls: set[Call] = field(default_factory=set)
    known: set[tuple[Call, str]] = field(default_factory=set)
    left_out: int = 0
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def play(
        self,
        scenes: Sequence[Scene],
        wanted: Callable[[Cell], bool] = lambda _: True,
        seconds: float = math.inf,
    ) -> Iterator[Result]:
        """Yield what becomes of each cell of ``scenes``, as it is played.

        What there is no time for in ``seconds`` is left out, and counted: each scene has an equal
        share of what is left, and its cells are drawn in an order that is always the same.
        """
        ends_at = time.monotonic() + seconds
        for scenes_left, scene in zip(range(len(scenes), 0, -1), scenes, strict=True):
            begun = time.monotonic()
            share = (ends_at - begun) / scenes_left
            baseline, cells = self.rehearse(scene)
            chosen = [cell for cell in cells if wanted(cell)]
            random.Random(scene.name).shuffle(chosen)
            # The clients of one installation wait for one length of time.
            chosen.sort(key=lambda cell: cell.is_timeout)
            for is_timeout, group in itertools.groupby(chosen, lambda cell: cell.is_timeout):
                until = begun + share * (1 if is_timeout else SHARE_WITHOUT_TIMEOUTS)
                for batch in _batched(list(group), PLAYS_OF_AN_INSTALLATION):
                    yield from self._play_batch(scene, batch, baseline, until)

    def rehearse(self, scene: Scene) -> tuple[Outcome, list[Cell]]:
        """Play a scene without a fault; return how it goes, and its cells."""
        with self._installation() as world:
            plays, seen = [], []
            for _ in range(REHEARSALS):
                plays.append(play(world, scene, next(self._numbers)))
                seen.append(list(self.wire.seen))
            for function, name in SEND_ALONE.items():
                if name == scene.name:
                    play(world, scene, next(self._numbers), *companions_of(function))
                    self.calls |= {send_alone(function)} & {call for call, _ in self.wire.seen}
        for outcome in plays:
            if outcome.violations:
                told = "; ".join(outcome.violations)
                raise AssertionError(f"{scene.name} fails without a fault: {told}")
        shapes = new_shapes((one for one in seen[-1] if one in seen[-2]), self.known)
        self.calls |= set(shapes)
        return plays[-1], list(cells_of(scene, shapes))

    def _play_batch(
        self, scene: Scene, cells: Sequence[Cell], baseline: Outcome, until: float
    ) -> Iterator[Result]:
        left = list(cells)
        while left and time.monotonic() < until:
            with self._installation(is_timeout=left[0].is_timeout) as world:
                play(world, scene, next(self._numbers))
                while left and time.monotonic() < until:
                    cell = left.pop(0)
                    outcome = play(world, scene, next(self._numbers), *cell.plans)
                    yield Result(cell, how(outcome, baseline), outcome)
                    if outcome.violations:
                        # What is broken here must not be blamed on the next fault.
                        break
        self.left_out += len(left)

    @contextmanager
    def _installation(self, *, is_timeout: bool = False) -> Iterator[World]:
        with pytest.MonkeyPatch.context() as patch:
            if is_timeout and self.cloud.proxied is not None:
                patch.setattr(clients, "READ_TIMEOUT_SECONDS", SHORT_TIMEOUT_SECONDS)
            prefix = f"w{next(self._numbers)}"
            with installation(self.cloud, prefix, self.timeline, self.wire, self.folder) as world:
                yield world


def _batched(cells: list[Cell], size: int) -> Iterator[list[Cell]]:
    for start in range(0, len(cells), size):
        yield cells[start : start + size]
