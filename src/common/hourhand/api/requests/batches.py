"""The requests that submit batches, add jobs to them and close them."""

from typing import Annotated, Any, Self

from pydantic import Field

from hourhand.api.requests._errors import validate
from hourhand.api.requests._limits import MAX_BATCH_JOBS
from hourhand.api.requests._models import RequestModel, StrictModel
from hourhand.api.requests.graphs import run_submission
from hourhand.api.requests.jobs import OwnId, Tenant, payload_text
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.runs.built_in import BATCH, CALLBACKS, MEMBERS
from hourhand.domain.runs.joins import MAX_CHILDREN

Members = Annotated[list[Any], Field(max_length=MAX_BATCH_JOBS)]
"""Jobs; each is checked when the batch, or the addition, is submitted."""


class BatchInput(StrictModel):
    """A batch to submit. The same ``id`` with the same batch returns the batch that exists."""

    jobs: Annotated[Members, "The jobs, at most 500; none is allowed."]
    on_success: Annotated[Any, "The job to submit once all jobs have succeeded."] = None
    on_complete: Annotated[Any, "The job to submit once all jobs have ended."] = None
    on_failure: Annotated[Any, "The job to submit once a job has failed."] = None
    open: Annotated[
        bool, "Whether more jobs may be added until the batch is closed. Default false."
    ] = False
    id: Annotated[OwnId | None, "The id of the batch and of its job. Default: a random id."] = None
    tenant: Tenant | None = None

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the batch that ``raw`` holds.

        Raises `InvalidInput` naming each wrong field, and `TooLarge`. Its jobs are checked when it
        is submitted.
        """
        asked = validate(cls, raw, what="batch")
        # Here, so that the error names the field that the caller knows.
        payload_text(asked._payload, field=MEMBERS)
        return asked

    @property
    def job(self) -> NewJob:
        """The job that runs the batch. Members of an open batch are added after it is there."""
        return run_submission(BATCH, self._payload, {"id": self.id, "tenant": self.tenant})

    @property
    def _payload(self) -> dict[str, Any]:
        callbacks = {name: getattr(self, name) for name in CALLBACKS}
        return {
            MEMBERS: [] if self.open else self.jobs,
            "open": self.open,
            **{name: spec for name, spec in callbacks.items() if spec is not None},
        }


class MembersInput(RequestModel):
    """Jobs that are added to an open batch."""

    first_index: Annotated[
        int,
        Field(ge=0, le=MAX_CHILDREN),
        "The place of the first of these jobs in the batch, from 0.",
    ]
    jobs: Annotated[Members, Field(min_length=1), "The jobs, 1 to 500."]


class CloseInput(RequestModel):
    """How many jobs a batch must have when it is closed."""

    total: Annotated[
        Annotated[int, Field(ge=0, le=MAX_CHILDREN)] | None,
        "How many jobs the batch must have. Default: those that it has.",
    ] = None
