"""The web console: one page, and its servers.

Serving it for a deployed API is looked up when first used: the local cloud needs no HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hourhand.console.proxy import RunningConsole, serve_console

__all__ = ["RunningConsole", "serve_console"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("hourhand.console.proxy"), name)
