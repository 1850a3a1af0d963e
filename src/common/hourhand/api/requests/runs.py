"""What callers send to durable runs: signals, completions of callbacks, redrives of parts."""

from typing import Annotated, Any, Self

from pydantic import Field

from hourhand.api.requests._errors import invalid, validate
from hourhand.api.requests._limits import DEFAULT_PAGE_JOBS
from hourhand.api.requests._models import RequestModel, StrictModel
from hourhand.api.requests.filters import Cursor, CursorOfOrder, OrderName, PageSize, StatusName
from hourhand.api.requests.jobs import payload_text
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.domain.errors import FieldError
from hourhand.domain.jobs.log import ListOrder
from hourhand.domain.runs.names import MAX_PATH, PATH, SIGNAL_ID

MAX_REDRIVEN_PATHS = 100
MAX_ERROR_TYPE = 100
MAX_ERROR_MESSAGE = 2_000

RunPath = Annotated[str, Field(pattern=f"^({PATH.pattern})$", max_length=MAX_PATH)]
RunPaths = Annotated[list[RunPath], Field(min_length=1, max_length=MAX_REDRIVEN_PATHS)]
SignalId = Annotated[str, Field(pattern=f"^({SIGNAL_ID.pattern})$")]


class SignalInput(RequestModel):
    """A signal for a run. The same ``id`` again changes nothing; without one, each call is new."""

    what = "signal"

    payload: Annotated[Any, "What the wait returns."] = None
    id: Annotated[
        SignalId | None, "The same id again changes nothing. Default: each call is a new signal."
    ] = None

    @property
    def payload_text(self) -> str:
        """The payload as canonical JSON. Raises `InvalidInput` and `TooLarge`."""
        return payload_text(self.payload)


class CallbackResult(RequestModel):
    """The result of a callback."""

    what = "completion"

    result: Annotated[Any, "What the wait returns."] = None

    @property
    def result_text(self) -> str:
        """The result as canonical JSON. Raises `InvalidInput` and `TooLarge`."""
        return payload_text(self.result, field="result")


class CallbackErrorInput(StrictModel):
    """Why a callback failed."""

    type: Annotated[
        str, Field(min_length=1, max_length=MAX_ERROR_TYPE), "The name of the error."
    ] = "Error"
    message: Annotated[str, Field(max_length=MAX_ERROR_MESSAGE), "What happened."] = ""


class CallbackFailure(RequestModel):
    """The failure of a callback."""

    what = "failure"

    error: Annotated[CallbackErrorInput, "Why the work failed; the wait raises it."]


class RedriveInput(StrictModel):
    """How a durable run is redriven; any other job takes no fields."""

    paths: Annotated[
        RunPaths | None,
        "Of a durable run: paths of calls that run again, with all below a branch or a map of"
        " that name. Default: the calls that failed.",
    ] = Field(default=None, alias="from")
    dry_run: Annotated[bool, "Only answer which calls would run again. Needs `from`."] = False
    fresh: Annotated[bool, "Of a durable run: run all of it again, with an empty journal."] = False
    new_keys: bool = False

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        asked = validate(cls, raw, what="request")
        if asked.fresh and asked.paths is not None:
            raise invalid("request", [FieldError("fresh", "cannot be given together with from")])
        for name in ("dry_run", "new_keys"):
            if getattr(asked, name) and asked.paths is None:
                raise invalid("request", [FieldError(name, "needs from")])
        return asked


class StepsRequest(PageRequest):
    """The query of ``GET /jobs/{id}/steps``."""

    limit: Annotated[PageSize, "The maximum number of calls in a page."] = DEFAULT_PAGE_JOBS
    cursor: CursorOfOrder = None
    order: Annotated[
        OrderName, "Which calls come first: the `oldest` (the default) or the `newest`."
    ] = ListOrder.OLDEST


class ChildrenRequest(PageRequest):
    """The query of the listing of a run's children.

    ``status``: only those in this state. ``path``: only those of this call.
    """

    limit: Annotated[PageSize, "The maximum number of children in a page."] = DEFAULT_PAGE_JOBS
    cursor: Annotated[
        Cursor | None, "The `next_cursor` of the page before, with the same filter."
    ] = None
    status: Annotated[StatusName | None, "Only children in this state."] = None
    path: Annotated[RunPath | None, "Only children of this call, also in the counts."] = None
