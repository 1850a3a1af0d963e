"""The requests that submit batches, add jobs to them and close them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hourhand.api.requests._errors import validate
from hourhand.api.requests._limits import MAX_BATCH_JOBS
from hourhand.api.requests._models import RequestModel, StrictModel
from hourhand.api.requests.graphs import run_submission
from hourhand.api.requests.jobs import OwnId, Tenant, payload_text
from hourhand.domain.durable.built_in import BATCH, CALLBACKS, MEMBERS
from hourhand.domain.durable.joins import MAX_CHILDREN
from hourhand.domain.jobs.submission import NewJob

Members = Annotated[list[Any], Field(max_length=MAX_BATCH_JOBS)]
"""Jobs; each is checked when the batch, or the addition, is submitted."""


class BatchInput(StrictModel):
    """A batch as it is submitted. The same ``id`` with the same batch returns the same batch."""

    jobs: Members
    on_success: Any = None
    on_complete: Any = None
    on_failure: Any = None
    open: bool = False
    id: OwnId | None = None
    tenant: Tenant | None = None

    @classmethod
    def parse(cls, raw: object) -> BatchInput:
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

    first_index: Annotated[int, Field(ge=0, le=MAX_CHILDREN)]
    jobs: Annotated[Members, Field(min_length=1)]


class CloseInput(RequestModel):
    """How many jobs a batch must have when it is closed."""

    total: Annotated[int, Field(ge=0, le=MAX_CHILDREN)] | None = None
