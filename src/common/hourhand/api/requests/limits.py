"""The requests that read limits and change their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, Field

from hourhand.api.requests._errors import invalid, validate
from hourhand.api.requests.jobs import STRICT
from hourhand.domain.errors import FieldError
from hourhand.domain.ids import JOB_ID
from hourhand.domain.jobs.quotas import MAX_QUOTA
from hourhand.domain.limits.declarations import MAX_RATE_COUNT
from hourhand.domain.limits.overrides import MAX_KEYS, LimitChanges

MAX_KEY_CHARACTERS = 256

Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY_CHARACTERS)]
Number = Annotated[int, Field(ge=0, le=MAX_RATE_COUNT)]
QuotaNumber = Annotated[int, Field(ge=0, le=MAX_QUOTA)]


class LimitQuery(BaseModel):
    """The query of one limit."""

    model_config = STRICT

    key: Key | None = None

    @classmethod
    def parse_query(cls, query: Mapping[str, str]) -> Self:
        """Return what a query string asks for; raises `InvalidInput` naming each wrong field."""
        return validate(cls, query, what="query")


class LimitInput(BaseModel):
    """New numbers of a limit. What is not given stays; null restores the number in the code."""

    model_config = STRICT

    max: Number | None = None
    overrides: Annotated[dict[Key, Number | None], Field(max_length=MAX_KEYS)] | None = None

    @classmethod
    def parse(cls, raw: object) -> LimitInput:
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


class RetimeInput(BaseModel):
    """Which key of a rate limit is retimed, and where a call before this one ended."""

    model_config = STRICT

    key: Key | None = None
    cursor: Annotated[str, Field(min_length=1)] | None = None

    @classmethod
    def parse(cls, raw: object) -> RetimeInput:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        return validate(cls, raw, what="request")


class FreeInput(BaseModel):
    """Which job's slot is freed."""

    model_config = STRICT

    job_id: Annotated[str, Field(pattern=f"^({JOB_ID.pattern})$")]

    @classmethod
    def parse(cls, raw: object) -> FreeInput:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        return validate(cls, raw, what="request")


class QuotaInput(BaseModel):
    """A quota of a tenant or a caller. What is not given, or null, is not bounded."""

    model_config = STRICT

    accepted_per_minute: QuotaNumber | None = None
    live: QuotaNumber | None = None

    @classmethod
    def parse(cls, raw: object, name: str) -> QuotaInput:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="quota")
        if request.accepted_per_minute is None and request.live is None:
            raise invalid("quota", [FieldError("accepted_per_minute", "or live must be given")])
        if len(name) > MAX_KEY_CHARACTERS:
            message = f"must have at most {MAX_KEY_CHARACTERS} characters"
            raise invalid("quota", [FieldError("name", message)])
        return request
