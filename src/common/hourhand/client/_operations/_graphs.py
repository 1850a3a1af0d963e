"""Graphs, batches, and the child jobs of runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hourhand.answers.children import Batch, Child
from hourhand.answers.graphs import Graph, GraphRerun
from hourhand.client._operations._asking import (
    ask_for,
    filters_of,
    named,
    pages,
    target,
    whole_number,
)
from hourhand.client._steps import Operation, Session, Stream
from hourhand.client._values import Invalid, Submission, encoded, invalid, shortened, submission_of
from hourhand.domain.graphs.definition import GraphDefinition
from hourhand.domain.jobs.job import StatusChoice

if TYPE_CHECKING:
    from hourhand.handlers._graph import Graph as GraphInCode

MAX_MEMBERS = 100_000
"""Jobs of a batch, as the API allows."""

Member = Submission | Mapping[str, Any]
"""A job of a batch, without ``id``, ``idempotency_key``, ``unique`` and ``debounce``."""


def submit_graph(
    session: Session,
    definition: GraphInCode | GraphDefinition | Mapping[str, Any],
    *,
    id: str | None = None,  # noqa: A002 (the name of the field)
) -> Operation[Graph]:
    """Submit a graph and return it; it is submitted once, however often an answer is lost.

    ``definition``: a `hourhand.Graph`, or the body of ``POST /v1/graphs`` with its ``nodes``.
    ``id``: the same one with the same graph returns the graph that exists. Raises `Invalid` naming
    the wrong fields, and `Conflict` if the id was used with another graph.
    """
    fields = dict(_fields_of(definition))
    fields["id"] = id or fields.get("id") or session.new_job_id()
    return ask_for(Graph, session, "POST", target("graphs"), encoded(fields, "nodes"))


def get_graph(session: Session, graph_id: str) -> Operation[Graph]:
    """Return a graph with the state of each node. Raises `NotFound` also for any other job."""
    at = target("graphs", named("id", graph_id))
    return ask_for(Graph, session, "GET", at)


def rerun_graph(
    session: Session, graph_id: str, names: Sequence[str], *, dry_run: bool = False
) -> Operation[GraphRerun]:
    """Run the named nodes of a graph that has ended again, and all nodes after them.

    With ``dry_run``, only return which nodes those are. Raises `NotFound`, `Invalid` for a name
    that is not a node's, and `Conflict` for a graph that has not ended.
    """
    if isinstance(names, str):
        raise invalid("from", f"must be a list of names, not {shortened(names)}")
    fields: dict[str, Any] = {"from": list(names)}
    if dry_run:
        fields["dry_run"] = True
    at = target("graphs", named("id", graph_id), "rerun")
    return ask_for(GraphRerun, session, "POST", at, encoded(fields, "from"))


def submit_batch(
    session: Session,
    jobs: Iterable[Member],
    *,
    on_success: Member | None = None,
    on_complete: Member | None = None,
    on_failure: Member | None = None,
    id: str | None = None,  # noqa: A002 (the name of the field)
    open: bool = False,  # noqa: A002 (the name of the field)
    tenant: str | None = None,
) -> Operation[Batch]:
    """Submit up to 500 jobs with callbacks: once, however often an answer is lost.

    ``on_success`` is submitted once all jobs have succeeded, ``on_complete`` once all have ended,
    and ``on_failure`` once a job has failed. ``open``: `add` may add more, until `close`. ``id``:
    the same one with the same batch returns the batch that exists. Raises `Invalid` naming the
    wrong fields, and `Conflict` if the id was used with another batch.
    """
    callbacks = {"on_success": on_success, "on_complete": on_complete, "on_failure": on_failure}
    parts = [b'"jobs":' + _members(jobs)]
    for name, given in callbacks.items():
        if given is not None:
            parts.append(f'"{name}":'.encode() + _member(name, given))
    fields: dict[str, Any] = {"id": id or session.new_job_id()}
    if open:
        fields["open"] = True
    if tenant is not None:
        fields["tenant"] = tenant
    body = b",".join([encoded(fields, "id")[:-1], *parts]) + b"}"
    return ask_for(Batch, session, "POST", target("batches"), body)


def get_batch(session: Session, batch_id: str) -> Operation[Batch]:
    """Return a batch with its counts and callbacks. Raises `NotFound` also for any other job."""
    at = target("batches", named("id", batch_id))
    return ask_for(Batch, session, "GET", at)


def add_to_batch(
    session: Session, batch_id: str, jobs: Iterable[Member], *, first_index: int
) -> Operation[Batch]:
    """Add up to 500 jobs to an open batch; the same call again adds nothing.

    ``first_index``: the place of the first of them; those of all calls have no gaps in the end.
    Raises `NotFound`, `Invalid`, and `Conflict` (``batch_closed``).
    """
    whole_number("first_index", first_index, MAX_MEMBERS, least=0)
    body = f'{{"first_index":{first_index},"jobs":'.encode() + _members(jobs) + b"}"
    at = target("batches", named("id", batch_id), "jobs")
    return ask_for(Batch, session, "POST", at, body)


def close_batch(session: Session, batch_id: str, total: int | None = None) -> Operation[Batch]:
    """Close a batch, which then ends after its last job; closing again changes nothing.

    ``total``: how many jobs it must have; without it, those that it has. Raises `NotFound`,
    `Invalid`, and `Conflict` (``members_missing``: add the missing jobs, then close it again).
    """
    if total is not None:
        whole_number("total", total, MAX_MEMBERS, least=0)
    at = target("batches", named("id", batch_id), "close")
    fields = {} if total is None else {"total": total}
    return ask_for(Batch, session, "POST", at, encoded(fields, "total"))


def children(
    session: Session,
    job_id: str,
    status: StatusChoice | None = None,
    *,
    path: str | None = None,
    page_size: int = 100,
    limit: int | None = None,
) -> Stream[Child]:
    """Iterate over the child jobs of a durable run, a graph or a batch, in the order of its calls.

    ``status``: only those in this state. ``path``: only those of this call. Raises `NotFound`, and
    `Conflict` (``not_durable``) for a job that is no durable run.
    """
    listing = ("jobs", named("id", job_id), "children")
    query = filters_of({"status": status, "path": path})
    yield from pages(
        session, Child, listing, "children", page_size=page_size, limit=limit, query=query
    )


def _fields_of(
    definition: GraphInCode | GraphDefinition | Mapping[str, Any],
) -> Mapping[str, Any]:
    if isinstance(definition, Mapping):
        return definition
    made = definition if isinstance(definition, GraphDefinition) else definition.definition()
    return made.as_json()


def _members(jobs: Iterable[Member]) -> bytes:
    found = [_member(f"jobs[{position}]", given) for position, given in enumerate(jobs)]
    return b"[" + b",".join(found) + b"]"


def _member(place: str, given: Member) -> bytes:
    """Return a job as JSON; raise `Invalid` naming its field by its place in the request."""
    try:
        return submission_of(given).body()
    except Invalid as error:
        problem = error.errors[0]
        raise invalid(f"{place}.{problem.field}", problem.message) from None
