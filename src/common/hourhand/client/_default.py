"""The client that handlers are submitted with: the one in use, else a default one."""

from __future__ import annotations

import atexit
import threading
from types import TracebackType

from hourhand.client._async_client import AsyncClient
from hourhand.client._client import Client
from hourhand.handlers import Submitters, current_submitters


class _Use:
    """Restores the previous submitters at the end of a ``with``."""

    def __init__(self, before: Submitters) -> None:
        self._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        current_submitters.replace(self._before)


def use(client: Client | AsyncClient) -> _Use:
    """Let ``handler.submit`` use this client from now on, in every thread of the process.

    An `AsyncClient` is used by ``handler.submit_async``. In a ``with``, only until its end. The
    client stays yours to close.
    """
    before = current_submitters.get()
    if isinstance(client, AsyncClient):
        changed = Submitters(blocking=before.blocking, awaiting=client)
    else:
        changed = Submitters(blocking=client, awaiting=before.awaiting)
    current_submitters.replace(changed)
    return _Use(before)


_lock = threading.Lock()
_default: list[Client] = []


def default_client() -> Client:
    """Return this process's client, created from the environment at its first use."""
    with _lock:
        if not _default:
            client = Client()
            atexit.register(client.close)
            _default.append(client)
        return _default[0]
