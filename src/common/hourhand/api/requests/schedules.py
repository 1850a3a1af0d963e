"""The requests that create or replace a schedule, parsed into its definition.

What depends on the time of day (whether a schedule can ever fire) is judged by the services.
"""

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    PrivateAttr,
    Tag,
    model_validator,
)

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import MANY, ONE, invalid, refusal, validate
from hourhand.api.requests._exclusions import Exclusions, exclusions_of
from hourhand.api.requests._models import StrictModel
from hourhand.api.requests._rules import exclusion_faults, expression_faults, zone_faults
from hourhand.api.requests._times import Instant
from hourhand.api.requests.jobs import (
    HandlerName,
    OnLostName,
    PriorityName,
    RetentionSeconds,
    RetryInput,
    Tags,
    Tenant,
    TimeoutSeconds,
    payload_text,
    refuse_unsupported,
    retry_changes,
)
from hourhand.domain.errors import FieldError
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.recurrence import (
    EARLIEST,
    BadExpression,
    DstFold,
    DstGap,
    zone_named,
)
from hourhand.domain.schedules.rule import MAX_EXPRESSIONS
from hourhand.domain.schedules.schedule import (
    ORIGIN,
    Keep,
    Misfire,
    MisfirePolicy,
    ScheduleDefinition,
)
from hourhand.domain.times import rfc3339

_LOCAL = re.compile(r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2})?")

NOT_OF_A_SCHEDULE = {
    "run_at": "is not a field of a schedule: use `expression`, with at(...) for a single run",
    "delay_seconds": "is not a field of a schedule: `start_at` is the earliest time of a run",
    "expires_at": "is not a field of a schedule: use `end_at`, or `expires_after_seconds`",
    "idempotency_key": "is not a field of a schedule: each scheduled time creates one job only",
    "id": "is not a field of the body: the URL has the schedule's id, and each job gets its own",
}
"""What a job may have and a schedule may not, and why."""


def _since_1970(instant: datetime) -> datetime:
    if instant < EARLIEST:
        raise refusal(f"must be in the year {EARLIEST.year} or later")
    return instant


def _whole_second(anchor: datetime) -> datetime:
    if anchor.microsecond:
        raise refusal("must be a whole second, as scheduled times are")
    return anchor


def _form(value: object) -> str | None:
    if isinstance(value, str):
        return ONE
    return MANY if isinstance(value, list) else None


ExpressionText = Annotated[str, Field(min_length=1, max_length=limits.MAX_EXPRESSION_CHARACTERS)]
Expressions = Annotated[
    Annotated[ExpressionText, Tag(ONE)]
    | Annotated[list[ExpressionText], Field(min_length=1, max_length=MAX_EXPRESSIONS), Tag(MANY)],
    Discriminator(
        _form,
        custom_error_type="refused",
        custom_error_message=f"must be a string, or an array of 1 to {MAX_EXPRESSIONS} strings",
    ),
]
Note = Annotated[str, Field(max_length=limits.MAX_NOTE_CHARACTERS)]
GivenNote = Annotated[Note | None, "A note for people, such as the reason."]


def _known_origin(text: str) -> str:
    if ORIGIN.fullmatch(text) is None:
        raise refusal("must be code, or files: and a name of 1 to 64 of A-Z, a-z, 0-9, _, . and -")
    return text


Origin = Annotated[str, AfterValidator(_known_origin)]
FireTime = Annotated[Instant, AfterValidator(_since_1970)]
"""A time before, at or after which something fires."""

Anchor = Annotated[FireTime, AfterValidator(_whole_second)]
MisfirePolicyName = Annotated[MisfirePolicy, Field(strict=False)]
OverlapPolicyName = Annotated[OverlapPolicy, Field(strict=False)]
DstGapName = Annotated[DstGap, Field(strict=False)]
DstFoldName = Annotated[DstFold, Field(strict=False)]
Kept = Annotated[int, Field(ge=0, le=limits.MAX_KEPT)]


class MisfireInput(StrictModel):
    """What is done about missed nominal times; what is absent is default."""

    policy: Annotated[
        MisfirePolicyName | None,
        "Which missed times run: the latest (the default), all of them in order, the earliest, or"
        " none.",
    ] = None
    window_seconds: Annotated[
        Annotated[int, Field(ge=0, le=limits.MAX_WINDOW_SECONDS)] | None,
        "Times that were missed longer ago are skipped. Default 86400.",
    ] = None


MisfireGiven = Annotated[
    MisfireInput,
    BeforeValidator(
        lambda given: {"policy": given} if isinstance(given, str) else given,
        json_schema_input_type=MisfirePolicyName | MisfireInput,
    ),
]
"""The name of a policy alone is short for ``{"policy": name}``."""


class KeepInput(StrictModel):
    """How many ended occurrences the history tells of; what is absent is default."""

    succeeded: Annotated[Kept | None, "The number of succeeded occurrences. Default 100."] = None
    failed: Annotated[Kept | None, "The number of all other ended occurrences. Default 100."] = None


class ScheduleFields(StrictModel):
    """All of a schedule but its handler. ``None`` means: not given; the default holds."""

    expression: Expressions
    timezone: Annotated[str, Field(min_length=1, max_length=limits.MAX_ZONE_CHARACTERS)] | None = (
        None
    )
    anchor: Anchor | None = None
    dst_gap: DstGapName | None = None
    dst_fold: DstFoldName | None = None
    exclude: Exclusions | None = None
    start_at: FireTime | None = None
    end_at: FireTime | None = None
    max_occurrences: Annotated[int, Field(ge=1, le=limits.MAX_OCCURRENCES)] | None = None
    jitter_seconds: Annotated[float, Field(ge=0, le=limits.MAX_JITTER_SECONDS)] | None = None
    misfire: MisfireGiven | None = None
    expires_after_seconds: Annotated[int, Field(ge=1, le=limits.MAX_WINDOW_SECONDS)] | None = None
    overlap: OverlapPolicyName | None = None
    max_running: Annotated[int, Field(ge=1, le=limits.MAX_RUNNING)] | None = None
    buffer_limit: Annotated[int, Field(ge=1, le=limits.MAX_BUFFER)] | None = None
    pause_on_failure: bool | None = None
    paused: bool | None = None
    note: Note | None = None
    managed_by: Origin | None = None
    keep: KeepInput | None = None
    payload: Any = None
    priority: PriorityName | None = None
    timeout_seconds: TimeoutSeconds | None = None
    retention_seconds: RetentionSeconds | None = None
    on_lost: OnLostName | None = None
    retry: RetryInput | None = None
    tenant: Tenant | None = None
    tags: Tags = Field(default_factory=dict)
    pool: Literal["default"] | None = None
    concurrency_key: Annotated[None, "Not supported yet."] = None

    _definition: ScheduleDefinition | None = PrivateAttr(default=None)

    @model_validator(mode="before")
    @classmethod
    def _place_anchor(cls, raw: Any) -> Any:
        """Take an anchor without an offset as a local time of the schedule's zone."""
        anchor = raw.get("anchor") if isinstance(raw, Mapping) else None
        if isinstance(anchor, str) and _LOCAL.fullmatch(anchor):
            with suppress(ValueError, BadExpression):
                zone = zone_named(str(raw.get("timezone") or "UTC"))
                local = datetime.fromisoformat(anchor).replace(tzinfo=zone)
                return {**raw, "anchor": rfc3339(local)}
        return raw

    @property
    def definition(self) -> ScheduleDefinition:
        """What the schedule runs and when, its defaults filled in."""
        assert self._definition is not None, "made by parse alone"
        return self._definition

    @property
    def origin(self) -> str | None:
        """What is to manage the schedule: empty for people, ``None`` for what does so already."""
        return self.managed_by or "" if "managed_by" in self.model_fields_set else None

    def settle(self, handler: str, *, prefix: str = "") -> None:
        """Judge the fields together and make the definition; errors name fields under ``prefix``.

        Raises `InvalidInput` and `TooLarge`.
        """
        definition = _definition_of(self, handler, prefix)
        faults = _faults(definition, prefix)
        if faults:
            raise invalid("schedule", faults)
        self._definition = definition


class ScheduleInput(ScheduleFields):
    """A schedule as it is put. Without ``paused``, one that is replaced stays as it is."""

    handler: HandlerName

    @classmethod
    def parse(cls, raw: object) -> Self:
        """Return the schedule that ``raw``, decoded JSON, holds.

        Raises `InvalidInput` naming each wrong field, `NotSupportedYet` and `TooLarge`.
        """
        refuse_what_jobs_have(raw)
        request = validate(cls, raw, what="schedule")
        request.settle(request.handler)
        return request


def refuse_what_jobs_have(raw: object, *, prefix: str = "") -> None:
    """Raise `InvalidInput` for fields that only a job has, each with the reason."""
    if not isinstance(raw, Mapping):
        return
    refuse_unsupported(raw, prefix=prefix, fields=("concurrency_key",))
    faults = [
        FieldError(prefix + name, reason)
        for name, reason in NOT_OF_A_SCHEDULE.items()
        if name in raw
    ]
    if faults:
        raise invalid("schedule", faults)


_AS_GIVEN = ScheduleDefinition.__dataclass_fields__.keys() & ScheduleFields.model_fields.keys() - {
    *("exclude", "misfire", "keep", "retry")
}
"""The fields that a definition has by the same name and of the same type."""


def _definition_of(given: ScheduleFields, handler: str, prefix: str) -> ScheduleDefinition:
    expression = given.expression
    return ScheduleDefinition(
        expressions=(expression,) if isinstance(expression, str) else tuple(expression),
        is_union=not isinstance(expression, str),
        handler=handler,
        exclude=exclusions_of(given.exclude or []),
        payload_text=payload_text(
            given.payload, field=f"{prefix}payload", max_bytes=limits.MAX_SCHEDULE_PAYLOAD_BYTES
        ),
        retry=retry_changes(given.retry),
        misfire=Misfire(**_present(given.misfire, ("policy", "window_seconds"))),
        keep=Keep(**_present(given.keep, ("succeeded", "failed"))),
        **_present(given, _AS_GIVEN),
    )


def _present(given: BaseModel | None, names: Collection[str]) -> dict[str, Any]:
    """Return what was given, so that the domain's defaults hold for the rest."""
    values = {name: getattr(given, name, None) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _faults(definition: ScheduleDefinition, prefix: str) -> list[FieldError]:
    """Return what is wrong with fields that are right each by itself."""
    field = f"{prefix}expression"
    texts = definition.expressions
    named = [
        (f"{field}[{index}]" if definition.is_union else field, text)
        for index, text in enumerate(texts)
    ]
    faults = [
        *zone_faults(f"{prefix}timezone", definition.timezone),
        *expression_faults(named),
        *exclusion_faults(f"{prefix}exclude", definition.exclude, definition.anchor),
    ]
    start_at, end_at = definition.start_at, definition.end_at
    if start_at is not None and end_at is not None and end_at <= start_at:
        faults.append(FieldError(f"{prefix}end_at", "must be after start_at"))
    return faults
