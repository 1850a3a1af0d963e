"""Plays the cells of the scenes, each scene in installations of its own."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from hourhand.aws import clients
from proof.wire.calls import Call
from proof.wire.cells import NOT_MET, Outcome, how, how_together, play
from proof.wire.faults import SHORT_TIMEOUT_SECONDS
from proof.wire.matrix import (
    SEND_ALONE,
    Cell,
    cells_of,
    companions_of,
    new_shapes,
    send_alone,
    together,
)
from proof.wire.stage import Scene
from proof.wire.timeline import Timeline
from proof.wire.wire import Plan, Wire
from proof.wire.world import Cloud, World, installation

PLAYS_OF_AN_INSTALLATION = 40
"""The emulator slows down as its tables grow."""

MOST_VAIN = 12
"""How often a cell is played again that was not met: some requests are made only where one worker
comes before another."""

REHEARSALS = 3
"""The first play in a new installation asks some things that no later one does; what the last two
both ask, every later one does."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a cell ended: a word of `proof.wire.table.WORDS`, and what was broken.

    ``met``: the kinds of its requests whose clients saw its fault; ``injected``: in how many sends.
    """

    cell: Cell
    word: str
    met: frozenset[str] = frozenset()
    injected: int = 0
    violations: tuple[str, ...] = ()


@dataclass(slots=True)
class Run:
    """A run over a cloud. ``calls``: what was called without a fault; ``made``: at all.

    ``shapes``: what must meet every fault, ``shapes_made``: all that was asked; ``repeated``: plays
    that were repeated since a fault was not met or left no trace. ``broken_together``: what was
    broken where a fault befell many calls in one play.
    """

    cloud: Cloud
    timeline: Timeline
    wire: Wire
    folder: Path
    calls: set[Call] = field(default_factory=set)
    made: set[Call] = field(default_factory=set)
    known: set[tuple[Call, str]] = field(default_factory=set)
    shapes: set[tuple[Call, str]] = field(default_factory=set)
    shapes_made: set[tuple[Call, str]] = field(default_factory=set)
    plays: int = 0
    repeated: int = 0
    broken_together: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def play(
        self, scenes: Sequence[Scene], wanted: Callable[[Cell], bool] = lambda _: True
    ) -> Iterator[Result]:
        """Yield what becomes of each cell of ``scenes``, as it is played."""
        for scene in scenes:
            baseline, cells = self.rehearse(scene)
            groups = sorted(
                together(cell for cell in cells if wanted(cell)),
                key=lambda group: group[0].is_timeout,
            )
            # The clients of one installation wait for one length of time.
            for is_timeout, chosen in itertools.groupby(groups, lambda g: g[0].is_timeout):
                left = deque(chosen)
                while left:
                    yield from self._play_some(scene, left, baseline, is_timeout=is_timeout)

    def rehearse(self, scene: Scene) -> tuple[Outcome, list[Cell]]:
        """Play a scene without a fault; return how it goes, and its cells."""
        with self._installation() as world:
            plays, seen = [], []
            for _ in range(REHEARSALS):
                plays.append(self._play(world, scene))
                seen.append(list(self.wire.seen))
            for function, name in SEND_ALONE.items():
                if name == scene.name:
                    self._play(world, scene, *companions_of(function))
                    self.calls |= {send_alone(function)} & {call for call, _ in self.wire.seen}
        for outcome in plays:
            if outcome.violations:
                told = "; ".join(outcome.violations)
                raise AssertionError(f"{scene.name} fails without a fault: {told}")
        shapes = new_shapes((one for one in seen[-1] if one in seen[-2]), self.known)
        self.calls |= set(shapes)
        cells = list(cells_of(scene, shapes))
        self.shapes |= {(cell.call, shape) for cell in cells for shape in cell.shapes}
        return plays[-1], cells

    def _play_some(
        self,
        scene: Scene,
        left: deque[tuple[Cell, ...]],
        baseline: Outcome,
        *,
        is_timeout: bool,
    ) -> Iterator[Result]:
        """Play what is ``left`` in one installation, as far as it serves."""
        with self._installation(is_timeout=is_timeout) as world:
            self._play(world, scene)
            for _ in range(PLAYS_OF_AN_INSTALLATION):
                if not left:
                    return
                group = left.popleft()
                outcome = self._play(world, scene, *(plan for cell in group for plan in cell.plans))
                if len(group) == 1:
                    yield from self._look_at(group[0], outcome, baseline, left)
                else:
                    yield from self._share_out(group, outcome, baseline, left)
                if outcome.violations:
                    # What is broken here must not be blamed on the next fault.
                    return

    def _look_at(
        self, cell: Cell, outcome: Outcome, baseline: Outcome, left: deque[tuple[Cell, ...]]
    ) -> Iterator[Result]:
        """Yield how a cell ended that was played by itself.

        What did not meet its fault is ``left`` once more: the machine may have been too busy to be
        late in time. What leaves no trace again is a violation.
        """
        if outcome.violations:
            yield _result(cell, how(outcome, baseline), outcome)
            return
        met = outcome.met(cell.call, cell.fault.name)
        missing = cell.shapes - met
        if met:
            # With all of its own met, it is a companion that left none.
            told = () if missing else tuple(outcome.without_trace())
            yield replace(_result(cell, how(outcome, baseline), outcome), violations=told)
        if met and not missing:
            return
        if met or cell.vain < MOST_VAIN:
            self.repeated += 1
            vain = 0 if met else cell.vain + 1
            left.appendleft((replace(cell, shapes=missing, vain=vain),))
        else:
            yield Result(cell, NOT_MET, violations=tuple(outcome.without_trace()))

    def _share_out(
        self,
        group: tuple[Cell, ...],
        outcome: Outcome,
        baseline: Outcome,
        left: deque[tuple[Cell, ...]],
    ) -> Iterator[Result]:
        """Yield how each of many cells ended; what must be played by itself is ``left``."""
        first = group[0]
        self.broken_together += [
            f"{first.fault.told}, {first.span}, on {len(group)} calls of {first.scene.name}: {told}"
            for told in outcome.violations
        ]
        for cell in group:
            word = how_together(outcome, baseline, cell.call, cell.fault.name)
            if word is None:
                left.appendleft((cell,))
                continue
            yield _result(cell, word, outcome)
            missing = cell.shapes - outcome.met(cell.call, cell.fault.name)
            if missing:
                self.repeated += 1
                left.appendleft((replace(cell, shapes=missing),))

    def _play(self, world: World, scene: Scene, *plans: Plan) -> Outcome:
        outcome = play(world, scene, next(self._numbers), *plans)
        self.plays += 1
        self.made |= {call for call, _ in self.wire.seen}
        self.shapes_made |= set(self.wire.seen)
        return outcome

    @contextmanager
    def _installation(self, *, is_timeout: bool = False) -> Iterator[World]:
        with pytest.MonkeyPatch.context() as patch:
            if is_timeout and self.cloud.proxied is not None:
                patch.setattr(clients, "READ_TIMEOUT_SECONDS", SHORT_TIMEOUT_SECONDS)
            prefix = f"w{next(self._numbers)}"
            with installation(self.cloud, prefix, self.timeline, self.wire, self.folder) as world:
                yield world


def _result(cell: Cell, word: str, outcome: Outcome) -> Result:
    met = outcome.met(cell.call, cell.fault.name) & cell.shapes
    injected = sum(outcome.befallen[cell.call, shape, cell.fault.name] for shape in met)
    return Result(cell, word, met, injected, tuple(outcome.violations))
