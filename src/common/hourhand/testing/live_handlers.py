"""The handlers of a test: those that its code registers, and what stands in for some of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hourhand.domain.runs.built_in import BUILT_IN
from hourhand.handlers import Handler, Registry
from hourhand.ports.handler_directory import HandlerInfo


@dataclass(slots=True)
class StepFault:
    """A step that raises ``error`` in its next ``times`` tries; -1: in all."""

    step: str
    error: Exception
    times: int


class LiveHandlers:
    """Implements the port `HandlerDirectory` over a registry as it stands at each call.

    So a test may register handlers, or import the modules that do, at any moment. A stub takes
    precedence over the handler of its name.
    """

    advice = "Import the module that registers it before the test submits the job."

    def __init__(self, registry: Registry) -> None:
        """Look into ``registry``."""
        self._registry = registry
        self._stubs: dict[str, Handler] = {}
        self._step_faults: list[tuple[str | None, StepFault]] = []

    def stub(self, name: str, function: Callable[..., Any]) -> None:
        """Let ``function`` do the work of ``name``, under the policies of the real one if known.

        Raises `hourhand.handlers.InvalidHandler` for a name or function that no handler can have.
        """
        policies = self._registry.get(name).policies if name in self._registry else None
        self._stubs[name] = Registry().add(name, function, policies)

    def fail_step(self, handler: str | None, fault: StepFault) -> None:
        """Let a step of a durable handler, or of all, raise instead of being called."""
        self._step_faults.append((handler, fault))

    def before_step(self, handler: str, path: str) -> None:
        """Raise the error of the first fault of this step that is not used up."""
        # The reversal of a step has its path.
        meant = {handler} if handler in BUILT_IN else {None, handler}
        for wanted, fault in self._step_faults:
            if wanted in meant and fault.step == path and fault.times != 0:
                fault.times -= 1
                raise fault.error

    def get(self, name: str) -> Handler:
        """Return the handler of that name, raise `hourhand.handlers.UnknownHandler` if none is."""
        return self._stubs.get(name) or self._registry.get(name)

    def name_of(self, handler: str | Callable[..., Any]) -> str:
        """Return the name under which a function is registered; a name is taken as it is.

        Raises `ValueError` for a function that is no handler.
        """
        if isinstance(handler, str):
            return handler
        for known in self._registry:
            if known.function is handler:
                return known.name
        raise ValueError(f"{handler!r} is not a registered handler; give its name, or the function")

    def find(self, name: str) -> HandlerInfo | None:
        """Return what is known of the handler of that name.

        What a stub takes, and its limits, are those of the real one.
        """
        stub = self._stubs.get(name)
        if name not in self._registry:
            return None if stub is None else stub.info
        real = self._registry.get(name).info
        if stub is None:
            return real
        return replace(
            stub.info,
            payload_schema=real.payload_schema,
            payload_check=real.payload_check,
            limits=real.limits,
            unique=real.unique,
            debounce=real.debounce,
            run_timeout_seconds=real.run_timeout_seconds,
        )

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""
        names = {*self._stubs, *(handler.name for handler in self._registry)}
        return [info for name in sorted(names) if (info := self.find(name)) is not None]
