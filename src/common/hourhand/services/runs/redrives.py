"""Redrives of parts of a run, and of a whole run from the top."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hourhand.domain.errors import (
    Compensated,
    FieldError,
    InvalidInput,
    NotFound,
    Unavailable,
    WrongState,
)
from hourhand.domain.graphs.decisions import downstream
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.jobs.parents import child_id
from hourhand.domain.runs.answers import RunEnds
from hourhand.domain.runs.effects import MAX_EFFECTS, effects_of
from hourhand.domain.runs.names import is_below
from hourhand.domain.runs.records import SIGNAL, RecordKind
from hourhand.domain.runs.signals import CONSUMED_KEPT, mark_consumed
from hourhand.domain.runs.writes import put_reset
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.payload_store import PayloadStore
from hourhand.services.runs.compensation import Compensations
from hourhand.services.runs.journals import DurableRuns
from hourhand.services.runs.recorded_graphs import graph_of
from hourhand.services.runs.signals import require_run, scope_at

MAX_RESETS = 1_000
"""Paths that a reset record names, those of earlier redrives included."""

MAX_DISCARDED = 500
"""Failed children that a request discards whose calls run again: about 10 ms each."""

REPLACED = "replaced by a rerun"
"""The note of a child that was discarded so."""


@dataclass(frozen=True, slots=True)
class RedrivePlan:
    """Which recorded calls, or which nodes of a graph, count as absent after a redrive.

    ``new_keys``: whether the steps that run again get other keys.
    """

    reset: tuple[str, ...]
    kept: tuple[str, ...]
    is_graph: bool = False
    new_keys: bool = False


@dataclass(frozen=True, slots=True)
class RunRedrives:
    """Redrives durable runs otherwise than `OperationsService.redrive` does."""

    runs: DurableRuns
    operations: OperationsService
    handlers: HandlerDirectory
    contents: PayloadStore
    compensations: Compensations

    def plan(self, job_id: str, paths: Sequence[str], *, new_keys: bool = False) -> RedrivePlan:
        """Return what a redrive from these paths would run again; writes nothing.

        Raises `NotFound`, `NotDurable`, `Compensated`, `WrongState`, `InvalidInput`.
        """
        return self._plan(self._require_ended(job_id), paths, new_keys)

    def redrive_from(
        self, job_id: str, paths: Sequence[str], *, actor: str, new_keys: bool = False
    ) -> Job:
        """Run the calls at these paths again, with all below a branch or a map of that name.

        Of a graph, the nodes of these names, and all nodes after them. Steps keep their keys, so
        that a receiver which knows them has no second effect; ``new_keys`` gives them other ones.

        It works on any run that ended, also on one that succeeded. Raises as `plan`, and
        `Unavailable`.
        """
        job = self._require_ended(job_id)
        plan = self._plan(job, paths, new_keys)
        paths = plan.reset if plan.is_graph else paths
        resets, keys = self.runs.resets(job)
        resets = {**resets, **dict.fromkeys(paths, job.round + 1)}
        given = dict.fromkeys(paths, job.round + 1 if new_keys else 0)
        keys = {**given, **keys, **(given if new_keys else {})}
        if len(resets) > MAX_RESETS:
            raise _invalid("from", f"would reset more than {MAX_RESETS:,} paths of this run")
        # A request that dies before the move leaves a record that the run does not name.
        name = self.runs.ports.randomness.nonce()
        scope = scope_at(job, self.runs.ports)
        self.runs.ports.side_items.write_item(put_reset(scope, name, resets, keys))
        # Read before the move: after it the run may have new children under these paths.
        replaced = self._failed_children(job, plan.reset)
        redriven = self.operations.redrive(
            job_id, actor=actor, sets={"reset": name, "result": None}, reruns=job
        )
        self._discard(replaced[:MAX_DISCARDED], job_id, actor)
        return redriven

    def redrive_fresh(self, job_id: str, *, actor: str) -> Job:
        """Run the whole run again in a new segment: with an empty journal and new step keys.

        Its steps are reversed, if it did not succeed, by a compensation that goes on beside it.
        Raises as `plan`, and `Unavailable`.
        """
        job = self._require_final(job_id)
        if job.status is not JobStatus.SUCCEEDED:
            self.compensations.give_up(job)
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

    def _failed_children(self, run: Job, paths: Sequence[str]) -> list[str]:
        """Return the ids of the children of these calls that ended badly."""
        return [
            child_id(run.id, run.segment, record.joined.key, index)
            for record in self.runs.read(run)
            if record.joined is not None and record.path in paths
            for index in record.joined.failed_indexes()
        ]

    def _discard(self, job_ids: Sequence[str], run_id: str, actor: str) -> None:
        """Discard DEAD children whose calls run again with new children.

        Else they would count as dead letters of work that is repaired, and keep slots that are held
        until a success. The redrive stands, whatever fails here.
        """
        for job_id in job_ids:
            try:
                self.operations.discard(job_id, actor=actor, note=REPLACED)
            except (NotFound, WrongState):
                # It was cancelled, or redriven meanwhile.
                continue
            except Unavailable as error:
                self.runs.ports.telemetry.warning(
                    "Failed children that a rerun replaces stay dead letters. Discard them.",
                    job_id=run_id,
                    reason=error.detail,
                )
                return

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

    def _plan(self, job: Job, paths: Sequence[str], new_keys: bool) -> RedrivePlan:
        records = self.runs.show(job)
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
        full = [one.path for one in records if len(effects_of(one)) >= MAX_EFFECTS]
        if new_keys and (most := [path for path in full if path in reset]):
            raise _invalid(
                "new_keys",
                f"gives the step {most[0]} more than {MAX_EFFECTS} keys, and no more are reversed",
            )
        kept = tuple(name for name in names if name not in reset)
        return RedrivePlan(reset, kept, new_keys=new_keys)

    def _require_final(self, job_id: str) -> Job:
        job = require_run(self.runs.ports.jobs, self.handlers, job_id)
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
