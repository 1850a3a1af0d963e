"""The grid of a schedule: its last runs, and the nodes of each that is a graph."""

from __future__ import annotations

from dataclasses import dataclass

from hourhand.domain.errors import NotFound, WrongState
from hourhand.domain.jobs.job import Job
from hourhand.services.runs.graphs import GraphService, GraphView
from hourhand.services.schedules.queries import OccurrenceQueries


@dataclass(frozen=True, slots=True)
class GridRow:
    """One run of a schedule; ``graph`` is absent where its job is none, or has not begun."""

    job: Job
    graph: GraphView | None


@dataclass(frozen=True, slots=True)
class ScheduleGrid:
    """The last runs of a schedule, and the nodes of each."""

    occurrences: OccurrenceQueries
    graphs: GraphService

    def rows(self, schedule_id: str, runs: int) -> tuple[GridRow, ...]:
        """Return the last runs of a schedule, newest first. Raises `NotFound`, `Unavailable`."""
        page = self.occurrences.history(schedule_id, limit=runs, cursor=None)
        jobs = [record.job for record in page.entries if record.job is not None]
        return tuple(GridRow(job, self._graph(job)) for job in jobs)

    def _graph(self, job: Job) -> GraphView | None:
        try:
            return self.graphs.view(job)
        except (NotFound, WrongState):
            return None
