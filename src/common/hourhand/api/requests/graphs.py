"""The requests that submit and rerun graphs, and the jobs that graphs and batches consist of."""

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr

from hourhand.api.requests._errors import OTHER_WORDS, field_names, invalid, validate
from hourhand.api.requests._limits import MAX_FIELD_ERRORS
from hourhand.api.requests._models import RequestModel, StrictModel
from hourhand.api.requests.jobs import JobSubmission, OwnId, PriorityName, Tenant
from hourhand.domain.errors import FieldError, unknown_field
from hourhand.domain.graphs.definition import MAX_NODES, GraphDefinition
from hourhand.domain.graphs.parsing import parse_graph
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.runs.built_in import GRAPH
from hourhand.domain.runs.names import MAX_NAME, NAME

_NAMED_BY_RUN = "cannot be given: the run that submits the job names it"
_ONE_JOB = "cannot be given: each job of a graph or a batch is a job of its own"
REFUSED_OF_MEMBERS: Mapping[str, str] = {
    "id": _NAMED_BY_RUN,
    "idempotency_key": _NAMED_BY_RUN,
    "unique": _ONE_JOB,
    "debounce": _ONE_JOB,
}
"""The fields of a submission that a job of a graph or a batch has not, and why."""

NodeName = Annotated[str, Field(pattern=f"^({NAME.pattern})$", max_length=MAX_NAME)]
NodeNames = Annotated[list[NodeName], Field(min_length=1, max_length=MAX_NODES)]


def parse_member(raw: object, around: Collection[str] = ()) -> NewJob:
    """Return a job that a graph or a batch is to submit.

    ``around``: the names of the fields that the caller states beside those of the job. Raises
    `InvalidInput` naming each wrong field, `NotSupportedYet` and `TooLarge`.
    """
    if isinstance(raw, Mapping):
        problems = list(islice(_refused_fields(raw, around), MAX_FIELD_ERRORS))
        if problems:
            raise invalid("job", problems)
        raw = {name: value for name, value in raw.items() if name not in REFUSED_OF_MEMBERS}
    return JobSubmission.parse(raw)


def _refused_fields(raw: Mapping[Any, Any], around: Collection[str]) -> list[FieldError]:
    all_fields = field_names(JobSubmission)
    known = [*(name for name in all_fields if name not in REFUSED_OF_MEMBERS), *around]
    words = {other: ours for other, ours in OTHER_WORDS.items() if ours.split(".")[0] in known}
    problems: list[FieldError] = []
    for name, value in raw.items():
        if name not in all_fields:
            message = unknown_field(str(name), known, words, lists_all=not problems)
            problems.append(FieldError(str(name), message))
        elif name in REFUSED_OF_MEMBERS and value is not None:
            problems.append(FieldError(name, REFUSED_OF_MEMBERS[name]))
    return problems


class GraphInput(StrictModel):
    """A graph to submit. The same ``id`` with the same graph returns the graph that exists."""

    nodes: Annotated[dict[str, Any], "The nodes by their names, 1 to 1,000; 256 KB of JSON in all."]
    id: Annotated[OwnId | None, "The id of the graph and of its job. Default: a random id."] = None
    tenant: Tenant | None = None
    priority: Annotated[
        PriorityName | None, "The queue of the graph's own job. Default medium."
    ] = None

    _definition: GraphDefinition = PrivateAttr()

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the graph that ``raw`` holds.

        Raises `InvalidInput` naming each wrong field, and `TooLarge`. The jobs of the nodes are
        checked when the graph is submitted.
        """
        asked = validate(cls, raw, what="graph")
        asked._definition = parse_graph({"nodes": asked.nodes})
        return asked

    @property
    def definition(self) -> GraphDefinition:
        """The graph that is defined."""
        return self._definition

    @property
    def job(self) -> NewJob:
        """The job that runs the graph."""
        given = {"id": self.id, "tenant": self.tenant, "priority": self.priority}
        return run_submission(GRAPH, self.definition.as_json(), given)


def run_submission(handler: str, payload: object, given: Mapping[str, Any]) -> NewJob:
    """Return the submission of the run of a graph or a batch; ``given`` fields may be None."""
    fields = {name: value for name, value in given.items() if value is not None}
    return JobSubmission.parse({"handler": handler, "payload": payload, **fields})


class RerunInput(RequestModel):
    """From which nodes on a graph runs again."""

    names: Annotated[
        NodeNames, "The names of the nodes to run again, with all nodes after them."
    ] = Field(alias="from")
    dry_run: Annotated[bool, "Only answer which nodes would run again; change nothing."] = False
