"""The handlers that every worker has beside those of the user."""

from __future__ import annotations

from collections.abc import Callable

from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.domain.runs.built_in import BATCH, GRAPH
from hourhand.handlers._built_in.batches import run_batch
from hourhand.handlers._built_in.compensation import compensation_handler
from hourhand.handlers._built_in.graphs import run_graph
from hourhand.handlers._registry import Handler, Registry


def built_in_handler(name: str, find: Callable[[str], Handler]) -> Handler:
    """Return a handler of Hourhand. ``find`` returns those of the user."""
    functions = {BATCH: run_batch, GRAPH: run_graph}
    if name not in functions:
        return compensation_handler(find)
    return Registry().add(
        name, functions[name], run_timeout_seconds=int(DEFAULT_RUN.total_seconds())
    )
