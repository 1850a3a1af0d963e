"""The requests of listings and bulk operations: filters, page size, cursor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import invalid, refusal, validate
from hourhand.api.requests._models import QueryModel, StrictModel
from hourhand.api.requests._times import Instant
from hourhand.api.requests.jobs import HandlerName, IdempotencyKey, Tenant
from hourhand.api.requests.schedules import Note
from hourhand.domain.callers import MAX_IDENTITY_CHARACTERS
from hourhand.domain.errors import FieldError
from hourhand.domain.jobs.dead_letter_groups import GROUP_ID
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.log import ListOrder
from hourhand.domain.jobs.searches import AuditSearch, BulkChange, JobFilter

StatusName = Annotated[JobStatus, Field(strict=False)]
ScheduleId = Annotated[str, Field(min_length=1, max_length=limits.MAX_SCHEDULE_ID_CHARACTERS)]
Cursor = Annotated[str, Field(min_length=1, max_length=limits.MAX_CURSOR_CHARACTERS)]


AuditedId = Annotated[str, Field(min_length=1, max_length=limits.MAX_SCHEDULE_ID_CHARACTERS)]
CallerIdentity = Annotated[str, Field(min_length=1, max_length=MAX_IDENTITY_CHARACTERS)]


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


def _only_dead(value: object) -> object:
    if value != JobStatus.DEAD:
        raise refusal("must be DEAD")
    return value


def _true_or_false(value: object) -> object:
    """Read a boolean as a query string writes it."""
    try:
        return {"true": True, "false": False}[str(value)]
    except KeyError:
        raise refusal("must be true or false") from None


Tag = Annotated[
    tuple[str, str],
    BeforeValidator(_split_tag),
    WithJsonSchema({"type": "string", "pattern": "^[^:]+:", "examples": ["customer:42"]}),
]
ExpectedCount = Annotated[int, Field(ge=0, le=limits.MAX_EXPECTED_COUNT)]
ErrorType = Annotated[str, Field(min_length=1, max_length=limits.MAX_ERROR_TYPE_CHARACTERS)]
ErrorGroup = Annotated[str, Field(pattern=f"^{GROUP_ID.pattern}$")]
PageSize = Annotated[
    int, whole_number(1, limits.MAX_PAGE_JOBS), Field(ge=1, le=limits.MAX_PAGE_JOBS)
]
LettersRead = Annotated[
    int, whole_number(1, limits.MAX_DEAD_LETTERS_READ), Field(ge=1, le=limits.MAX_DEAD_LETTERS_READ)
]
LogLines = Annotated[
    int, whole_number(1, limits.MAX_LOG_LINES), Field(ge=1, le=limits.MAX_LOG_LINES)
]
OrderName = Annotated[
    ListOrder,
    Field(strict=False),
    WithJsonSchema({"type": "string", "enum": [order.value for order in ListOrder]}),
]
Dead = Annotated[
    StatusName,
    BeforeValidator(_only_dead),
    WithJsonSchema({"type": "string", "enum": [JobStatus.DEAD.value]}),
]


class JobFilters(StrictModel):
    """Which jobs are meant; all that is given must hold."""

    status: StatusName | None = None
    handler: HandlerName | None = None
    schedule_id: ScheduleId | None = None
    tenant: Tenant | None = None
    tag: Tag | None = None
    error_type: ErrorType | None = None
    error_group: ErrorGroup | None = None
    created_after: Instant | None = None
    created_before: Instant | None = None
    discarded: bool | None = None

    @property
    def filters(self) -> JobFilter:
        """Which jobs are meant."""
        return JobFilter(**{name: getattr(self, name) for name in JobFilters.model_fields})


class ListRequest(JobFilters):
    """The query of ``GET /jobs``: filters, or the key of one job."""

    discarded: Annotated[bool, BeforeValidator(_true_or_false)] | None = None
    idempotency_key: IdempotencyKey | None = None
    limit: PageSize = limits.DEFAULT_PAGE_JOBS
    cursor: Cursor | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> ListRequest:
        """Return what a query string asks for; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, query, what="query")
        if request.idempotency_key is not None:
            _refuse_beside_key(query)
        return request


class GroupsRequest(JobFilters, QueryModel):
    """The query of ``GET /dead-letters/groups``."""

    status: Dead = JobStatus.DEAD
    discarded: Annotated[bool, BeforeValidator(_true_or_false)] | None = False
    limit: LettersRead = limits.MAX_DEAD_LETTERS_READ
    cursor: Cursor | None = None


class LogRequest(QueryModel):
    """The query of ``GET /jobs/{id}/logs``."""

    order: OrderName = ListOrder.OLDEST
    limit: LogLines = limits.DEFAULT_LOG_LINES
    cursor: Cursor | None = None


class AuditRequest(StrictModel):
    """The query of ``GET /audit``: whose events, and of which time."""

    job: AuditedId | None = None
    schedule: AuditedId | None = None
    handler: HandlerName | None = None
    caller: CallerIdentity | None = None
    start: Instant | None = Field(default=None, alias="from")
    end: Instant | None = Field(default=None, alias="to")
    tenant: Tenant | None = None
    limit: PageSize = limits.DEFAULT_PAGE_JOBS
    cursor: Cursor | None = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> AuditSearch:
        """Return what a query string asks for; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, query, what="query")
        given = [n for n in ("job", "schedule", "handler") if getattr(request, n) is not None]
        if len(given) > 1:
            message = f"must not be given together with {given[0]}"
            raise invalid("query", [FieldError(given[1], message)])
        if request.handler is not None and request.tenant is not None:
            message = "must not be given together with tenant: a handler belongs to none"
            raise invalid("query", [FieldError("handler", message)])
        if request.start is not None and request.end is not None and request.start >= request.end:
            raise invalid("query", [FieldError("to", "must be after from")])
        return AuditSearch(**dict(request))


class BulkRequest(JobFilters):
    """The body of a bulk operation: filters, or ``all``; never neither."""

    everything: bool = Field(default=False, alias="all")
    dry_run: bool = False
    expected_count: ExpectedCount | None = None
    cursor: Cursor | None = None

    @classmethod
    def parse(cls, raw: object) -> BulkChange:
        """Return the request that ``raw`` holds; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, raw, what="request")
        if request.filters.is_empty and not request.everything:
            message = "must be true if no filter is given"
            raise invalid("request", [FieldError("all", message)])
        return BulkChange(
            filters=request.filters,
            dry_run=request.dry_run,
            expected_count=request.expected_count,
            cursor=request.cursor,
            note=getattr(request, "note", None) or "",
        )


class BulkDiscard(BulkRequest):
    """The body of a bulk discard, which may have a note."""

    note: Note | None = None


def _refuse_beside_key(query: Mapping[str, str]) -> None:
    """Refuse filters beside an idempotency key: the key and its tenant name one job."""
    others = sorted(query.keys() - {"idempotency_key", "tenant", "limit"})
    if others:
        message = "cannot be combined with idempotency_key, which takes no filter but tenant"
        raise invalid("query", [FieldError(name, message) for name in others])
