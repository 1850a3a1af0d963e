"""The bases of all that callers send."""

from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict

from hourhand.api.requests._errors import validate


class StrictModel(BaseModel):
    """An object that callers send: its types are strict, and it has no unknown field."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class RequestModel(StrictModel):
    """A body of its own; ``what`` names it in the sentence of an error."""

    what: ClassVar[str] = "request"

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        return validate(cls, raw, what=cls.what)


class QueryModel(RequestModel):
    """The fields of a query string."""

    what: ClassVar[str] = "query"
