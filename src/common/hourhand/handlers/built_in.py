"""The handlers that every worker has beside those of the user."""

from __future__ import annotations

from collections.abc import Callable

from hourhand.domain.durable.built_in import BATCH, GRAPH
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.handlers._registry import Handler, Registry
from hourhand.handlers.batch_run import run_batch
from hourhand.handlers.compensation import compensation_handler
from hourhand.handlers.graph_run import run_graph


def built_in_handler(name: str, find: Callable[[str], Handler]) -> Handler:
    """Return a handler of Hourhand. ``find`` returns those of the user."""
    functions = {BATCH: run_batch, GRAPH: run_graph}
    if name not in functions:
        return compensation_handler(find)
    return Registry().add(
        name, functions[name], run_timeout_seconds=int(DEFAULT_RUN.total_seconds())
    )
