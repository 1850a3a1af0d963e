"""The requests that read limits and change their numbers."""

from typing import Annotated, Self

from pydantic import Field

from hourhand.api.requests._errors import invalid, validate
from hourhand.api.requests._models import QueryModel, RequestModel, StrictModel
from hourhand.domain.errors import FieldError
from hourhand.domain.ids import JOB_ID
from hourhand.domain.jobs.quotas import MAX_QUOTA
from hourhand.domain.limits.declarations import MAX_RATE_COUNT
from hourhand.domain.limits.overrides import MAX_KEYS, LimitChanges

MAX_KEY_CHARACTERS = 256

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)]
Number = Annotated[int, Field(ge=0, le=MAX_RATE_COUNT)]
QuotaNumber = Annotated[int, Field(ge=0, le=MAX_QUOTA)]


class LimitQuery(QueryModel):
    """The query of one limit."""

    key: Annotated[
        Key | None, "One key of a limit that has keys, such as the name of a tenant."
    ] = None


class LimitInput(StrictModel):
    """New numbers of a limit. What is not given stays; null restores the number in the code."""

    max: Annotated[
        Number | None,
        "The number of each key that has none of its own. 0 lets no job start; null restores the"
        " number in the code. Default: it stays.",
    ] = None
    overrides: Annotated[
        Annotated[dict[Key, Number | None], Field(max_length=MAX_KEYS)] | None,
        "Numbers of keys, at most 200. Null removes one. Keys that are not named stay.",
    ] = None

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="limit")
        if not request.model_fields_set:
            raise invalid("limit", [FieldError("max", "or overrides must be given")])
        return request

    @property
    def changes(self) -> LimitChanges:
        """What is to be changed."""
        sets_max = "max" in self.model_fields_set
        return LimitChanges(sets_max=sets_max, max=self.max, keys=self.overrides or {})


class RetimeInput(RequestModel):
    """Which key of a rate limit is retimed, and where a call before this one ended."""

    key: Annotated[
        Key | None, "The key whose jobs are meant: required for a rate with keys, such as `tenant`."
    ] = None
    cursor: Annotated[
        Annotated[str, Field(min_length=1)] | None,
        "The `next_cursor` of the call before, to go on. Default: begin.",
    ] = None


class FreeInput(RequestModel):
    """Which job's slot is freed."""

    job_id: Annotated[
        str, Field(pattern=f"^({JOB_ID.pattern})$"), "The DEAD job whose slot is freed."
    ]


class QuotaInput(StrictModel):
    """A quota of a tenant or a caller. What is not given, or null, is not bounded."""

    accepted_per_minute: QuotaNumber | None = None
    live: QuotaNumber | None = None

    @classmethod
    def parse(cls, raw: object, name: str) -> Self:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="quota")
        if request.accepted_per_minute is None and request.live is None:
            raise invalid("quota", [FieldError("accepted_per_minute", "or live must be given")])
        if len(name) > MAX_KEY_CHARACTERS:
            message = f"must have at most {MAX_KEY_CHARACTERS} characters"
            raise invalid("quota", [FieldError("name", message)])
        return request
