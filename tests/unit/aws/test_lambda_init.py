"""A function is wired in Lambda's init phase, by its first call elsewhere, and once."""

from __future__ import annotations

import gc
import itertools
import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hourhand.aws.lambda_init import INITIALIZATION_TYPE, YOUNG_OBJECTS, LambdaInit

EVERY_LAMBDA = ["on-demand", "provisioned-concurrency", "snap-start", "lambda-managed-instances"]


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """Leave the collector of cycles to the other tests as quick as it was."""
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)


class Function:
    """Wires a number, each time the next one; keeps what was made ready and in which thread."""

    def __init__(self, begun: str | None) -> None:
        self.numbers = itertools.count(1)
        self.made: list[int] = []
        self.readied: list[tuple[int, threading.Thread]] = []
        environ = {} if begun is None else {INITIALIZATION_TYPE: begun}
        self.services = LambdaInit(self.wire, environ, get_ready=self.get_ready)

    def wire(self) -> int:
        self.made.append(next(self.numbers))
        return self.made[-1]

    def get_ready(self, wired: int) -> None:
        self.readied.append((wired, threading.current_thread()))


def test_outside_lambda_importing_the_function_wires_nothing() -> None:
    function = Function(None)
    assert (function.made, function.readied) == ([], [])
    assert [function.services(), function.services()] == [1, 1]
    assert (function.made, function.readied) == ([1], [])


@pytest.mark.parametrize("begun", ["on-demand", "provisioned-concurrency", "something-new"])
def test_in_lambda_the_calls_get_what_the_init_phase_wired(begun: str) -> None:
    function = Function(begun)
    assert function.made == [1]
    assert [function.services(), function.services()] == [1, 1]
    assert [wired for wired, _ in function.readied] == [1]


def test_what_the_init_phase_makes_is_never_looked_through_again() -> None:
    states: list[bool] = []
    frozen = gc.get_freeze_count()
    LambdaInit(lambda: states.append(gc.isenabled()), {INITIALIZATION_TYPE: "on-demand"})
    assert states == [False]
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen
    assert gc.get_threshold()[0] == YOUNG_OBJECTS


def test_the_collector_works_on_where_the_wiring_fails() -> None:
    def fail() -> None:
        raise RuntimeError("no table")

    with pytest.raises(RuntimeError, match="no table"):
        LambdaInit(fail, {INITIALIZATION_TYPE: "on-demand"})
    assert gc.isenabled()


def test_elsewhere_the_collector_is_let_alone() -> None:
    before = (gc.get_threshold(), gc.get_freeze_count())
    LambdaInit(lambda: 1, {})()
    assert (gc.get_threshold(), gc.get_freeze_count()) == before


def test_each_copy_of_a_snapshot_wires_for_itself() -> None:
    function = Function("snap-start")
    assert function.made == [1]
    assert [function.services(), function.services()] == [2, 2]
    assert [wired for wired, _ in function.readied] == [1], "the imports are in the snapshot"


@pytest.fixture
def randomness() -> Iterator[None]:
    state = random.getstate()
    yield
    random.setstate(state)


def test_two_copies_of_a_snapshot_do_not_share_their_random_numbers(randomness: None) -> None:
    function, copy = Function("snap-start"), Function("snap-start")
    snapshot = random.getstate()
    function.services()
    drawn = random.getrandbits(64)
    random.setstate(snapshot)
    copy.services()
    assert random.getrandbits(64) != drawn


@pytest.mark.parametrize("begun", EVERY_LAMBDA)
def test_it_gets_ready_in_the_first_thread(begun: str) -> None:
    """A handlers' module may set a signal handler at import, which only that thread may."""
    assert [thread for _, thread in Function(begun).readied] == [threading.current_thread()]


@pytest.mark.parametrize("begun", EVERY_LAMBDA)
def test_what_is_wrong_fails_the_init_phase(begun: str) -> None:
    def wire() -> int:
        raise LookupError("no such table")

    with pytest.raises(LookupError, match="no such table"):
        LambdaInit(wire, {INITIALIZATION_TYPE: begun})


def test_a_first_call_that_failed_is_tried_again_by_the_next() -> None:
    answers: Iterator[Exception | int] = iter([LookupError("not yet"), 7])

    def wire() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    services = LambdaInit(wire, {})
    with pytest.raises(LookupError):
        services()
    assert services() == 7


def test_calls_side_by_side_share_one_wiring() -> None:
    function = Function(None)
    together = threading.Barrier(8)

    def call(_: int) -> int:
        together.wait(20)
        return function.services()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(call, range(8))) == [1] * 8
    assert function.made == [1]
