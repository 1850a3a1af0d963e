"""Redrives of parts of a run, and of a whole run from the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hourhand.domain.durable.calls import RunEnds
from hourhand.domain.durable.names import is_below
from hourhand.domain.durable.records import SIGNAL, RecordKind
from hourhand.domain.durable.reversals import compensation_id
from hourhand.domain.durable.signals import CONSUMED_KEPT, mark_consumed
from hourhand.domain.durable.writes import put_reset
from hourhand.domain.errors import Compensated, FieldError, InvalidInput, NotFound, WrongState
from hourhand.domain.graphs.decisions import downstream
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.durable.recorded_graphs import graph_of
from hourhand.services.durable.runs import DurableRuns
from hourhand.services.durable.signals import require_durable, scope_at
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.payload_store import PayloadStore

MAX_RESETS = 1_000
"""Paths that a reset record names, those of earlier redrives included."""


@dataclass(frozen=True, slots=True)
class RedrivePlan:
    """Which recorded calls, or which nodes of a graph, count as absent after a redrive."""

    reset: tuple[str, ...]
    kept: tuple[str, ...]
    is_graph: bool = False


@dataclass(frozen=True, slots=True)
class RunRedrives:
    """Redrives durable runs otherwise than `OperationsService.redrive` does."""

    runs: DurableRuns
    operations: OperationsService
    handlers: HandlerDirectory
    contents: PayloadStore

    def plan(self, job_id: str, paths: Sequence[str]) -> RedrivePlan:
        """Return what a redrive from these paths would run again; writes nothing.

        Raises `NotFound`, `NotDurable`, `Compensated`, `WrongState`, `InvalidInput`.
        """
        return self._plan(self._require_ended(job_id), paths)

    def redrive_from(self, job_id: str, paths: Sequence[str], *, actor: str) -> Job:
        """Run the calls at these paths again, with all below a branch or a map of that name.

        Of a graph, the nodes of these names, and all nodes after them.

        It works on any run that ended, also on one that succeeded. Raises as `plan`, and
        `Unavailable`.
        """
        job = self._require_ended(job_id)
        plan = self._plan(job, paths)
        paths = plan.reset if plan.is_graph else paths
        resets = {**self.runs.resets(job), **dict.fromkeys(paths, job.round + 1)}
        if len(resets) > MAX_RESETS:
            raise _invalid("from", f"would reset more than {MAX_RESETS:,} paths of this run")
        # A request that dies before the move leaves a record that the run does not name.
        name = self.runs.ports.randomness.nonce()
        scope = scope_at(job, self.runs.ports)
        self.runs.ports.side_items.write_item(put_reset(scope, name, resets))
        return self.operations.redrive(
            job_id, actor=actor, sets={"reset": name, "result": None}, reruns=job
        )

    def redrive_fresh(self, job_id: str, *, actor: str) -> Job:
        """Run the whole run again in a new segment: with an empty journal and new step keys.

        One whose steps are being reversed must wait for the end of that. Raises as `plan`, and
        `Unavailable`.
        """
        job = self._require_final(job_id)
        if job.compensated_round is not None:
            undo = self.runs.ports.jobs.get(
                compensation_id(job.id, job.segment, job.compensated_round)
            )
            if undo is None or undo.status is not JobStatus.SUCCEEDED:
                raise Compensated(
                    f"The steps of run {job_id} are being reversed. It can be redriven with "
                    "fresh: true once that has SUCCEEDED."
                )
        self._mark_signals(job)
        return self.operations.redrive(
            job_id,
            actor=actor,
            sets={
                "segment": job.segment + 1,
                "compensated_round": None,
                "reset": None,
                "journal_ends": None,
                "result": None,
            },
            reruns=job,
        )

    def _mark_signals(self, job: Job) -> None:
        """Keep the signals that waits have returned from those of the next segment.

        Before the move, as with a restart: then none is returned twice.
        """
        try:
            records = self.runs.read(job)
        except RunEnds:
            # A journal that is too long to be read: its waits are not known.
            return
        kept_until = self.runs.ports.clock.now() + CONSUMED_KEPT
        for record in records:
            if record.signal is not None:
                name = record.waits_for.removeprefix(SIGNAL)
                update = mark_consumed(
                    job.id, record.created_ms, name, record.signal, job.segment, kept_until
                )
                self.runs.ports.side_items.write_item(update)

    def _plan(self, job: Job, paths: Sequence[str]) -> RedrivePlan:
        try:
            records = self.runs.read(job)
        except RunEnds as ends:
            raise WrongState(ends.error.message) from None
        graph = graph_of(self.runs, self.contents, job, records)
        if graph is not None:
            # Also nodes without a record: they were skipped, and may run now.
            reset = downstream(graph, paths)
            kept = tuple(name for name in graph.names if name not in set(reset))
            return RedrivePlan(reset, kept, is_graph=True)
        no_calls = {RecordKind.CHANGE, RecordKind.DECISIONS}
        names = sorted({record.path for record in records if record.kind not in no_calls})
        unknown = [path for path in paths if not any(is_below(name, path) for name in names)]
        if unknown:
            raise _invalid("from", f"names {unknown[0]!r}, and the run has no call of this path")
        reset = tuple(name for name in names if any(is_below(name, path) for path in paths))
        return RedrivePlan(reset, tuple(name for name in names if name not in reset))

    def _require_final(self, job_id: str) -> Job:
        job = self.runs.ports.jobs.get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        require_durable(job, self.handlers)
        if not job.status.is_final:
            raise WrongState(f"Run {job_id} is {job.status}; only a run that ended is redriven.")
        if job.status is JobStatus.SUCCEEDED and job.parent is not None:
            # Its result is in the journal of its run, and a replay of that must find it again.
            raise WrongState(
                f"Run {job_id} SUCCEEDED as a child of run {job.parent.run_id}. Redrive that run "
                "from the call that submitted it."
            )
        if job.status is JobStatus.SUCCEEDED and job.unique_key is not None:
            # A submission of its key does not look at a job that succeeded.
            raise WrongState(
                f"Run {job_id} SUCCEEDED and gave up its unique key with that. Submit a new job."
            )
        return job

    def _require_ended(self, job_id: str) -> Job:
        job = self._require_final(job_id)
        if job.compensated_round is not None:
            raise Compensated(
                f"The steps of run {job_id} were reversed, so their results do not hold. Redrive "
                "it with fresh: true."
            )
        return job


def _invalid(field: str, message: str) -> InvalidInput:
    return InvalidInput(f"{field} {message}.", errors=(FieldError(field, message),))
