"""The servers that are attacked: the local cloud, all of it, over memory or over moto."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from hourhand.api.app import ROUTES
from hourhand.local.cloud import CloudOptions, LocalCloud
from hourhand.local.events import ApiAnswered, News

HANDLERS = "proof.api.handlers"


class Answered:
    """Counts what the API answered, as the cloud tells of it from many threads."""

    def __init__(self) -> None:
        self.by_route: dict[str, Counter[int]] = {}
        self._lock = Lock()

    def __call__(self, news: News) -> None:
        if not isinstance(news, ApiAnswered):
            return
        matching = [r for r in ROUTES if r.method == news.method and r.match(news.path) is not None]
        route = f"{matching[0].method} {matching[0].path}" if matching else "any other"
        with self._lock:
            self.by_route.setdefault(route, Counter())[news.status] += 1

    def never_succeeded(self) -> list[str]:
        """Return the routes of which no call did what it asks: they were not really tried."""
        return sorted(
            name
            for name in (f"{route.method} {route.path}" for route in ROUTES)
            if not any(status < 300 for status in self.by_route.get(name, ()))
        )


@contextmanager
def served(backend: str, answered: Answered, handlers: str = HANDLERS) -> Iterator[str]:
    """Run a local cloud with its scheduler and workers; yield its address.

    ``handlers``: the module of its handlers.
    """
    options = CloudOptions(handlers=handlers, port=0, backend=backend, workers=2)
    cloud = LocalCloud(options, answered)
    cloud.start()
    try:
        yield cloud.url
    finally:
        cloud.stop()
