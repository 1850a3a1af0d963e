"""The requests of listings and bulk operations: filters, page size, cursor."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import invalid, refusal, validate
from hourhand.api.requests._models import QueryModel, StrictModel
from hourhand.api.requests._times import Instant
from hourhand.api.requests.jobs import HandlerName, IdempotencyKey, Tenant
from hourhand.api.requests.schedules import GivenNote
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

CursorOfFilters = Annotated[
    Cursor | None, "The `next_cursor` of the page before, with the same filters."
]
CursorOfOrder = Annotated[Cursor | None, "The `next_cursor` of the page before, in the same order."]
_DISCARDED = "True: only DEAD jobs that were discarded. False: only other jobs."
DiscardedQuery = Annotated[Annotated[bool, BeforeValidator(_true_or_false)] | None, _DISCARDED]


class JobFilters(StrictModel):
    """Which jobs are meant; all that is given must hold."""

    status: Annotated[StatusName | None, "Only jobs in this state."] = None
    handler: Annotated[HandlerName | None, "Only jobs of this handler."] = None
    schedule_id: Annotated[ScheduleId | None, "Only jobs that this schedule created."] = None
    tenant: Annotated[Tenant | None, "Only jobs of this tenant."] = None
    tag: Annotated[Tag | None, "Only jobs with this tag, as `key:value`."] = None
    error_type: Annotated[
        ErrorType | None, "Only jobs whose last failed attempt had this type of error."
    ] = None
    error_group: Annotated[ErrorGroup | None, "Only DEAD jobs of this group of dead letters."] = (
        None
    )
    created_after: Annotated[Instant | None, "Only jobs created after this time."] = None
    created_before: Annotated[Instant | None, "Only jobs created before this time."] = None
    discarded: Annotated[bool | None, _DISCARDED] = None

    @property
    def filters(self) -> JobFilter:
        """Which jobs are meant."""
        return JobFilter(**{name: getattr(self, name) for name in JobFilters.model_fields})


class ListRequest(JobFilters):
    """The query of ``GET /jobs``: filters, or the key of one job."""

    discarded: DiscardedQuery = None
    idempotency_key: Annotated[
        IdempotencyKey | None,
        "The job that was submitted under this key, of this `tenant` or of none. Takes no other"
        " filter.",
    ] = None
    limit: Annotated[PageSize, "The maximum number of jobs in a page."] = limits.DEFAULT_PAGE_JOBS
    cursor: CursorOfFilters = None

    @classmethod
    def parse(cls, query: Mapping[str, str]) -> Self:
        """Return what a query string asks for; raises `InvalidInput` naming each wrong field."""
        request = validate(cls, query, what="query")
        if request.idempotency_key is not None:
            _refuse_beside_key(query)
        return request


class GroupsRequest(JobFilters, QueryModel):
    """The query of ``GET /dead-letters/groups``."""

    status: Annotated[Dead, "Only DEAD: what a dead letter is."] = JobStatus.DEAD
    discarded: DiscardedQuery = False
    limit: Annotated[LettersRead, "The maximum number of dead letters to read for this page."] = (
        limits.MAX_DEAD_LETTERS_READ
    )
    cursor: CursorOfFilters = None


class LogRequest(QueryModel):
    """The query of ``GET /jobs/{id}/logs``."""

    order: Annotated[
        OrderName, "Which lines come first: the `oldest` (the default) or the `newest`."
    ] = ListOrder.OLDEST
    limit: Annotated[LogLines, "The maximum number of lines in a page."] = limits.DEFAULT_LOG_LINES
    cursor: CursorOfOrder = None


class AuditRequest(StrictModel):
    """The query of ``GET /audit``: whose events, and of which time."""

    job: Annotated[AuditedId | None, "Only what was done with this job."] = None
    schedule: Annotated[AuditedId | None, "Only what was done with this schedule."] = None
    handler: Annotated[HandlerName | None, "Only when this handler was paused and resumed."] = None
    caller: Annotated[
        CallerIdentity | None,
        "Only what this caller did: the whole ARN or subject, or `local`. With `*` at its end:"
        " what all did whose identity begins so.",
    ] = None
    start: Annotated[Instant | None, "Only what was done at this time or later."] = Field(
        default=None, alias="from"
    )
    end: Annotated[Instant | None, "Only what was done before this time."] = Field(
        default=None, alias="to"
    )
    tenant: Annotated[
        Tenant | None, "Only what was done with jobs and schedules of this tenant."
    ] = None
    limit: Annotated[
        PageSize, "The maximum number of events in a page; those of one job stay together."
    ] = limits.DEFAULT_PAGE_JOBS
    cursor: CursorOfFilters = None

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

    everything: Annotated[bool, "Must be true if no filter is given."] = Field(
        default=False, alias="all"
    )
    dry_run: Annotated[bool, "Only count the jobs; change nothing."] = False
    expected_count: Annotated[
        ExpectedCount | None,
        "The count that the caller saw. If more than 1.1 times as many jobs match, nothing is"
        " changed. Read only if there is no cursor.",
    ] = None
    cursor: Annotated[
        Cursor | None, "The `next_cursor` of the call before, with the same filters."
    ] = None

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

    note: GivenNote = None


def _refuse_beside_key(query: Mapping[str, str]) -> None:
    """Refuse filters beside an idempotency key: the key and its tenant name one job."""
    others = sorted(query.keys() - {"idempotency_key", "tenant", "limit"})
    if others:
        message = "cannot be combined with idempotency_key, which takes no filter but tenant"
        raise invalid("query", [FieldError(name, message) for name in others])
