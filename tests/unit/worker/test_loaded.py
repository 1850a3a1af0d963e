"""Handlers are imported once; what is told of a failure is what the first import raised."""

from __future__ import annotations

import threading

import pytest

from hourhand.handlers import HandlersNotLoaded, Registry
from hourhand.worker import LoadedHandlers


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


def test_handlers_that_were_imported_are_not_imported_again() -> None:
    imports = Imports()
    handlers = LoadedHandlers(imports)
    assert handlers.load() is None
    handlers.forget_failure()
    assert handlers.wait(0)
    assert handlers.load() is None
    assert handlers.registry() is imports.registry
    assert (imports.threads, handlers.failures) == ([threading.current_thread()], 0)


def test_before_the_import_has_ended_there_are_no_handlers() -> None:
    handlers = LoadedHandlers(Imports())
    assert not handlers.wait(0)
    with pytest.raises(HandlersNotLoaded):
        handlers.registry()


@pytest.mark.parametrize("error", [LookupError("not yet"), SystemExit(1)])
def test_an_import_that_failed_is_tried_again_and_waited_for(error: BaseException) -> None:
    imports = Imports(error)
    handlers = LoadedHandlers(imports)
    assert handlers.load() is error
    handlers.forget_failure()
    assert not handlers.wait(0), "nobody is to be told of it before it was tried again"
    assert handlers.load() is None
    assert handlers.registry() is imports.registry
    assert handlers.failures == 1


def test_what_the_first_import_raised_is_told_not_what_it_left_behind() -> None:
    second = ValueError("Duplicated timeseries in CollectorRegistry: jobs_total")
    handlers = LoadedHandlers(Imports(LookupError("the settings are missing"), second))
    handlers.load()
    handlers.forget_failure()
    assert handlers.load() is second
    assert handlers.wait(0)
    assert handlers.failures == 2
    with pytest.raises(LookupError, match="the settings are missing"):
        handlers.registry()
