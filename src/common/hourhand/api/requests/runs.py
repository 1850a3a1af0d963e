"""What callers send to durable runs: signals, completions of callbacks, redrives of parts."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field, PrivateAttr

from hourhand.api.requests._errors import invalid, validate
from hourhand.api.requests.filters import OrderName, StatusName
from hourhand.api.requests.jobs import STRICT, payload_text
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.domain.durable.names import MAX_PATH, PATH, SIGNAL_ID
from hourhand.domain.errors import FieldError
from hourhand.domain.jobs.log import ListOrder

MAX_REDRIVEN_PATHS = 100
MAX_ERROR_TYPE = 100
MAX_ERROR_MESSAGE = 2_000

RunPath = Annotated[str, Field(pattern=f"^({PATH.pattern})$", max_length=MAX_PATH)]
RunPaths = Annotated[list[RunPath], Field(min_length=1, max_length=MAX_REDRIVEN_PATHS)]
SignalId = Annotated[str, Field(pattern=f"^({SIGNAL_ID.pattern})$")]


class SignalInput(BaseModel):
    """A signal for a run. The same ``id`` again changes nothing; without one, each call is new."""

    model_config = STRICT

    payload: Any = None
    id: SignalId | None = None

    _payload_text: str = PrivateAttr(default="null")

    @classmethod
    def parse(cls, raw: object) -> SignalInput:
        """Return the signal that ``raw`` holds.

        Raises `InvalidInput` naming each wrong field, and `TooLarge`.
        """
        signal = validate(cls, raw, what="signal")
        signal._payload_text = payload_text(signal.payload)
        return signal

    @property
    def payload_text(self) -> str:
        """The payload as canonical JSON."""
        return self._payload_text


class CallbackResult(BaseModel):
    """The result of a callback."""

    model_config = STRICT

    result: Any = None

    _result_text: str = PrivateAttr(default="null")

    @classmethod
    def parse(cls, raw: object) -> CallbackResult:
        """Return the result that ``raw`` holds. Raises as `SignalInput.parse`."""
        completion = validate(cls, raw, what="completion")
        completion._result_text = payload_text(completion.result, field="result")
        return completion

    @property
    def result_text(self) -> str:
        """The result as canonical JSON."""
        return self._result_text


class CallbackErrorInput(BaseModel):
    """Why a callback failed."""

    model_config = STRICT

    type: Annotated[str, Field(min_length=1, max_length=MAX_ERROR_TYPE)] = "Error"
    message: Annotated[str, Field(max_length=MAX_ERROR_MESSAGE)] = ""


class CallbackFailure(BaseModel):
    """The failure of a callback."""

    model_config = STRICT

    error: CallbackErrorInput

    @classmethod
    def parse(cls, raw: object) -> CallbackFailure:
        """Return the failure that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        return validate(cls, raw, what="failure")


class RedriveInput(BaseModel):
    """How a durable run is redriven; any other job takes no fields."""

    model_config = STRICT

    paths: RunPaths | None = Field(default=None, alias="from")
    dry_run: bool = False
    fresh: bool = False
    new_keys: bool = False

    @classmethod
    def parse(cls, raw: object) -> RedriveInput:
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

    order: OrderName = ListOrder.OLDEST


class ChildrenRequest(PageRequest):
    """The query of the listing of a run's children.

    ``status``: only those in this state. ``path``: only those of this call.
    """

    status: StatusName | None = None
    path: RunPath | None = None
