"""Handlers are imported once; early where there is time, else while a batch waits for them."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from hourhand.handlers import HandlersNotLoaded, Registry
from hourhand.worker_runtime import LoadedHandlers
from tests.unit.worker_runtime.fakes import PATIENCE


class Imports:
    """Counts the imports of a module, and notes which thread made each."""

    def __init__(self, *answers: BaseException | None) -> None:
        self.answers = list(answers)
        self.threads: list[threading.Thread] = []
        self.registry = Registry()

    def __call__(self) -> Registry:
        self.threads.append(threading.current_thread())
        answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        return self.registry


def test_handlers_that_were_imported_early_are_not_imported_again() -> None:
    imports = Imports()
    handlers = LoadedHandlers(imports)
    handlers.load_early(PATIENCE)
    assert handlers.registry() is imports.registry
    handlers.forget_failure()
    handlers.load()
    assert handlers.wait(0)
    assert len(imports.threads) == 1


@pytest.mark.parametrize(
    "error",
    [
        ValueError("signal only works in main thread of the main interpreter"),
        SystemExit(1),
        KeyboardInterrupt(),
    ],
)
def test_an_early_import_that_failed_is_tried_again_in_the_first_thread(
    error: BaseException,
) -> None:
    imports = Imports(error)
    handlers = LoadedHandlers(imports)
    handlers.load_early(PATIENCE)
    assert not handlers.wait(0), "nobody is to be told of it yet"
    with pytest.raises(HandlersNotLoaded):
        handlers.registry()
    handlers.load()
    assert handlers.registry() is imports.registry
    assert imports.threads[1] is threading.current_thread()


def test_an_import_that_fails_again_is_what_the_attempts_are_told() -> None:
    handlers = LoadedHandlers(Imports(LookupError("early"), LookupError("late")))
    handlers.load_early(PATIENCE)
    handlers.forget_failure()
    handlers.load()
    assert handlers.wait(0)
    with pytest.raises(LookupError, match="late"):
        handlers.registry()


def test_an_import_that_takes_longer_than_the_init_phase_goes_on_and_is_waited_for() -> None:
    imports, may_end = Imports(), threading.Event()

    def slow() -> Registry:
        assert may_end.wait(PATIENCE)
        return imports()

    handlers = LoadedHandlers(slow)
    handlers.load_early(0)
    assert not handlers.wait(0)
    batch = threading.Thread(target=_begin_batch(handlers))
    batch.start()
    may_end.set()
    assert handlers.wait(PATIENCE)
    batch.join(PATIENCE)
    assert handlers.registry() is imports.registry
    assert len(imports.threads) == 1


def _begin_batch(handlers: LoadedHandlers) -> Callable[[], None]:
    def begin() -> None:
        handlers.forget_failure()
        handlers.load()

    return begin
