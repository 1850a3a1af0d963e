"""Imports the module that registers a deployment's handlers."""

from __future__ import annotations

import importlib
import re

from hourhand.handlers._errors import HandlersNotLoaded
from hourhand.handlers._registry import Registry, default_registry
from hourhand.ports.handler_directory import HandlerInfo

_MODULE_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def load_handlers(module: str, registry: Registry | None = None) -> Registry:
    """Import ``module`` and return the registry that it filled (the default one).

    Raises `HandlersNotLoaded` with the reason, whatever error the module's own code raised; that
    error is its cause. May be called again after a failure.
    """
    target = default_registry if registry is None else registry
    if not _MODULE_NAME.fullmatch(module):
        raise HandlersNotLoaded(
            f"Handlers are named by their module, such as examples.quickstart, not {module!r}."
        )
    try:
        importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        target.forget_failed_modules()
        raise HandlersNotLoaded(_reason(module, error)) from error
    if not len(target):
        raise HandlersNotLoaded(f'{module} registers no handlers: none has @job("name").')
    return target


def describe(registry: Registry) -> list[HandlerInfo]:
    """Return the manifest's entry of every handler, by name.

    Raises `hourhand.handlers.InvalidHandler` for one whose payload type cannot be used: packing
    reports it.
    """
    for handler in registry:
        handler.check()
    return [handler.info for handler in registry]


def _reason(module: str, error: BaseException) -> str:
    parents = {module.rsplit(".", depth)[0] for depth in range(module.count(".") + 1)}
    if isinstance(error, ModuleNotFoundError) and error.name in parents:
        return f"There is no module {error.name} on the import path."
    return f"Importing {module} failed: {type(error).__name__}: {error}"
