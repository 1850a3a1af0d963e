"""The requests of listings and bulk operations: filters, page size, cursor."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import invalid, refusal, validate
from hourhand.api.requests._times import Instant
from hourhand.api.requests.jobs import STRICT, HandlerName, Tenant
from hourhand.domain.errors import FieldError
from hourhand.domain.ids import canonical_json, content_hash
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.times import rfc3339

StatusName = Annotated[JobStatus, Field(strict=False)]
ScheduleId = Annotated[str, Field(min_length=1, max_length=limits.MAX_SCHEDULE_ID_CHARACTERS)]
Cursor = Annotated[str, Field(min_length=1, max_length=limits.MAX_CURSOR_CHARACTERS)]


def _split_tag(value: object) -> tuple[str, str]:
    """Read ``key:value``; keys hold no colon, so the first one parts the two."""
    key, colon, tag_value = value.partition(":") if isinstance(value, str) else ("", "", "")
    longest = (limits.MAX_TAG_KEY_CHARACTERS, limits.MAX_TAG_VALUE_CHARACTERS)
    if not key or not colon or len(key) > longest[0] or len(tag_value) > longest[1]:
        raise refusal(f"must be key:value, of at most {longest[0]} and {longest[1]} characters")
    return key, tag_value


def whole_number(least: int, most: int) -> BeforeValidator:
    """Return what reads a number as a query string writes it."""

    def read(value: object) -> object:
        is_number = isinstance(value, str) and value.isascii() and value.isdigit()
        if isinstance(value, str) and is_number and len(value) <= len(str(most)):
            return int(value)
        raise refusal(f"must be a whole number from {least} to {most}")

    return BeforeValidator(read)


Tag = Annotated[
    tuple[str, str],
    BeforeValidator(_split_tag),
    WithJsonSchema({"type": "string", "pattern": "^[^:]+:", "examples": ["customer:42"]}),
]
PageSize = Annotated[
    int, whole_number(1, limits.MAX_PAGE_JOBS), Field(ge=1, le=limits.MAX_PAGE_JOBS)
]


class JobFilters(BaseModel):
    """Which jobs are meant; all that is given must hold."""

    model_config = STRICT

    status: StatusName | None = None
    handler: HandlerName | None = None
    schedule_id: ScheduleId | None = None
    tenant: Tenant | None = None
    tag: Tag | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None

    @classmethod
    def parse_query(cls, query: Mapping[str, str]) -> JobFilters:
        """Return the filters of a query string; raises `InvalidInput` naming each wrong one."""
        return validate(cls, query, what="filter")

    @property
    def is_empty(self) -> bool:
        """Whether every job is meant."""
        return all(getattr(self, name) is None for name in JobFilters.model_fields)

    @property
    def fingerprint(self) -> str:
        """What two equal sets of filters share, and no others."""
        values = {name: getattr(self, name) for name in JobFilters.model_fields}
        return content_hash("filters", canonical_json({k: _plain(v) for k, v in values.items()}))


class ListRequest(JobFilters):
    """The query of ``GET /jobs``."""

    limit: PageSize = limits.DEFAULT_PAGE_JOBS
    cursor: Cursor | None = None

    @classmethod
    def parse_query(cls, query: Mapping[str, str]) -> ListRequest:
        """Return what a query string asks for; raises `InvalidInput` naming each wrong field."""
        return validate(cls, query, what="query")

    @property
    def filters(self) -> JobFilters:
        """The filters alone."""
        return _filters_of(self)


class BulkRequest(JobFilters):
    """The body of a bulk operation: filters, or ``all``; never neither."""

    everything: bool = Field(default=False, alias="all")
    dry_run: bool = False
    cursor: Cursor | None = None

    @classmethod
    def parse(cls, raw: object) -> BulkRequest:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="request")
        if request.is_empty and not request.everything:
            message = "must be true if no filter is given"
            raise invalid("request", [FieldError("all", message)])
        return request

    @property
    def filters(self) -> JobFilters:
        """The filters alone."""
        return _filters_of(self)


def _filters_of(request: JobFilters) -> JobFilters:
    return JobFilters.model_construct(
        **{name: getattr(request, name) for name in JobFilters.model_fields}
    )


def _plain(value: Any) -> Any:
    return rfc3339(value) if isinstance(value, datetime) else value
