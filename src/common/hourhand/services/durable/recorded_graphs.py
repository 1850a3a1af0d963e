"""The definition of a graph, as its run recorded it."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hourhand.domain.durable.built_in import DEFINITION
from hourhand.domain.durable.records import Record
from hourhand.domain.graphs.definition import GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.jobs.job import Job
from hourhand.services.durable.runs import DurableRuns
from hourhand.services.durable.signals import scope_at
from hourhand.services.durable.values import Values


def recorded_graph(
    runs: DurableRuns, job: Job, records: Iterable[Record]
) -> GraphDefinition | None:
    """Return the definition of a graph that began; ``None`` for any other run.

    Raises `Unavailable`.
    """
    record = next((one for one in records if one.path == DEFINITION), None)
    if record is None:
        return None
    text = Values(runs.ports, scope_at(job, runs.ports)).text_of(record)
    return None if text is None else parse_graph(json.loads(text))
