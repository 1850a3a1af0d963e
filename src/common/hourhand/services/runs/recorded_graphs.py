"""The definition of a graph, as its run recorded it, or as it was submitted."""

from __future__ import annotations

import json
from collections.abc import Iterable

from hourhand.domain.graphs.definition import GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.jobs.job import Job
from hourhand.domain.runs.built_in import DEFINITION, GRAPH
from hourhand.domain.runs.records import Record
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.results import Values
from hourhand.services.runs.signals import scope_at


def graph_of(
    runs: DurableRuns, contents: PayloadStore, job: Job, records: Iterable[Record]
) -> GraphDefinition | None:
    """Return the definition of a graph; ``None`` for any other run.

    A registered graph has none before it began. Raises `Unavailable`.
    """
    return _recorded(runs, job, records) or _submitted(contents, job)


def _recorded(runs: DurableRuns, job: Job, records: Iterable[Record]) -> GraphDefinition | None:
    record = next((one for one in records if one.path == DEFINITION), None)
    if record is None:
        return None
    text = Values(runs.ports, scope_at(job, runs.ports)).text_of(record)
    return None if text is None else parse_graph(json.loads(text))


def _submitted(contents: PayloadStore, job: Job) -> GraphDefinition | None:
    if job.handler != GRAPH:
        return None
    text = contents.read(job.id, job.payload)
    return None if text is None else parse_graph(json.loads(text))
