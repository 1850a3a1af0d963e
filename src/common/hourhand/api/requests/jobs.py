"""The requests that submit and change jobs, parsed into valid values.

Types are strict: "5" is no number and true is no 1. What depends on the time of day (how far in
the past ``run_at`` lies) is judged by the services.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
)

from hourhand.api.requests import _limits as limits
from hourhand.api.requests._errors import field_names, invalid, refusal, validate
from hourhand.api.requests._models import RequestModel, StrictModel
from hourhand.api.requests._times import Instant
from hourhand.domain.errors import FieldError, HourhandError, NotSupportedYet, TooLarge
from hourhand.domain.ids import OWN_ID, canonical_json, content_hash
from hourhand.domain.jobs.job import POOL, OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryChanges
from hourhand.domain.jobs.submission import JobChange, NewJob
from hourhand.domain.jobs.waiting import ChosenLimit
from hourhand.domain.limits.debounce import MAX_WAIT_SECONDS, Debounce, Mode
from hourhand.domain.limits.declarations import MAX_LIMITS, SHARED_NAME
from hourhand.domain.limits.keys import InvalidLimit, parse_key_path
from hourhand.domain.limits.unique_keys import MAX_UNIQUE_SECONDS, OnConflict, Unique, Until


def _readable(key: str) -> str:
    """Refuse a key path that cannot be read."""
    try:
        parse_key_path(key)
    except InvalidLimit as error:
        raise refusal(error.detail.removeprefix("key ").removesuffix(".")) from None
    return key


def _end_or_seconds(value: object, read: ValidatorFunctionWrapHandler) -> object:
    """Say in one sentence what a unique key may last until: the forms have no names of callers."""
    try:
        return read(value)
    except ValidationError:
        words = ", ".join(map(repr, map(str, Until)))
        most = f"{MAX_UNIQUE_SECONDS:,}"
        raise refusal(f"must be {words} or a whole number of seconds from 1 to {most}") from None


def _at_least_a_millisecond(seconds: float) -> float:
    """Refuse what is too little to wait for; DynamoDB has no numbers below 1e-130 either."""
    if 0 < seconds < limits.MIN_RETRY_SECONDS:
        raise refusal(f"must be 0 or at least {limits.MIN_RETRY_SECONDS}")
    return seconds


# A name of a choice comes as a JSON string; strict mode would want the enum's member itself.
PriorityName = Annotated[Priority, Field(strict=False)]
OnLostName = Annotated[OnLost, Field(strict=False)]
BackoffName = Annotated[Backoff, Field(strict=False)]
JitterName = Annotated[Jitter, Field(strict=False)]
UntilName = Annotated[Until, Field(strict=False)]
UntilSeconds = Annotated[int, Field(ge=1, le=MAX_UNIQUE_SECONDS)]
UntilWhen = Annotated[UntilName | UntilSeconds, WrapValidator(_end_or_seconds)]
ModeName = Annotated[Mode, Field(strict=False)]
DebounceSeconds = Annotated[float, Field(ge=1, le=MAX_WAIT_SECONDS)]
OnConflictName = Annotated[OnConflict, Field(strict=False)]

HandlerName = Annotated[str, Field(min_length=1, max_length=limits.MAX_HANDLER_CHARACTERS)]
IdempotencyKey = Annotated[str, Field(min_length=1, max_length=limits.MAX_KEY_CHARACTERS)]
KeyPath = Annotated[
    str,
    Field(min_length=1, max_length=limits.MAX_KEY_CHARACTERS),
    AfterValidator(_readable),
]
LimitName = Annotated[str, Field(pattern=f"^({SHARED_NAME.pattern})$")]
OwnId = Annotated[str, Field(pattern=f"^{OWN_ID.pattern}$")]
ConcurrencyKey = Annotated[str, Field(min_length=1, max_length=limits.MAX_KEY_CHARACTERS)]
Tenant = Annotated[str, Field(min_length=1, max_length=limits.MAX_TENANT_CHARACTERS)]
TagKey = Annotated[
    str, Field(min_length=1, max_length=limits.MAX_TAG_KEY_CHARACTERS, pattern="^[^:]*$")
]
TagValue = Annotated[str, Field(max_length=limits.MAX_TAG_VALUE_CHARACTERS)]
_Tags = Annotated[dict[TagKey, TagValue], Field(max_length=limits.MAX_TAGS)]
Tags = Annotated[
    _Tags,
    # Null means: not given, as it does for every other field.
    BeforeValidator(lambda tags: {} if tags is None else tags, json_schema_input_type=_Tags | None),
]
RetrySeconds = Annotated[
    float, Field(ge=0, le=limits.MAX_RETRY_SECONDS), AfterValidator(_at_least_a_millisecond)
]
DelaySeconds = Annotated[float, Field(ge=0, le=limits.MAX_DELAY_SECONDS)]
TimeoutSeconds = Annotated[int, Field(ge=1, le=limits.MAX_TIMEOUT_SECONDS)]
RetentionSeconds = Annotated[int, Field(ge=0, le=limits.MAX_RETENTION_SECONDS)]


class RetryInput(StrictModel):
    """How often and how late a failed attempt is followed by another; what is absent is default."""

    max_attempts: Annotated[
        Annotated[int, Field(ge=1, le=limits.MAX_ATTEMPTS)] | None,
        "The first attempt and all retries. Default 6.",
    ] = None
    backoff: Annotated[
        BackoffName | None, "How the delay grows with each failure. Default exponential."
    ] = None
    base_seconds: Annotated[
        RetrySeconds | None, "The delay from which the backoff grows. Default 1."
    ] = None
    max_delay_seconds: Annotated[RetrySeconds | None, "The maximum delay. Default 3600."] = None
    jitter: Annotated[
        JitterName | None, "The random part of each delay. Default additive: 0 to 500 ms more."
    ] = None


def retry_changes(given: RetryInput | None) -> RetryChanges | None:
    """Return the parts stated; to state none is the same as to leave it out."""
    stated = RetryChanges() if given is None else RetryChanges(**given.model_dump())
    return None if stated == RetryChanges() else stated


class UniqueInput(StrictModel):
    """How a job is unique; what is absent is the default."""

    key: Annotated[
        KeyPath,
        "Where the unique key is found: `payload.day`, `payload`, `tags.x`, `tenant`, `handler`,"
        " or a word that is the key.",
    ]
    until: Annotated[
        UntilWhen,
        "When the key is free again: `start`, `end` or `success` of the job, or a number of"
        " seconds after its submission. Default end.",
    ] = Until.END
    on_conflict: Annotated[
        OnConflictName,
        "What becomes of a submission whose key another job has: `return` that job, `reject` with"
        " 409, or `replace` its payload and time, which needs `until` `start`. Default return.",
    ] = OnConflict.RETURN

    @property
    def unique(self) -> Unique:
        """What was asked for. Raises `InvalidUnique`."""
        return Unique(self.key, until=self.until, on_conflict=self.on_conflict)


class DebounceInput(StrictModel):
    """How submissions that come shortly after one another become one job."""

    key: Annotated[KeyPath, "Where the key is found, as that of `unique`."]
    wait_seconds: Annotated[
        DebounceSeconds, "The job runs once no submission of its key came for so long."
    ]
    max_wait_seconds: Annotated[
        DebounceSeconds | None,
        "The job runs at the latest so long after the first submission. Default: submissions may"
        " put it off without end.",
    ] = None
    mode: Annotated[
        ModeName, "Whether the job runs with the `last` payload, the default, or the `first`."
    ] = Mode.LAST

    @field_validator("max_wait_seconds")
    @classmethod
    def _at_least_the_wait(cls, longest: float | None, info: ValidationInfo) -> float | None:
        wait = info.data.get("wait_seconds")
        if longest is not None and wait is not None and longest < wait:
            raise refusal(f"must be at least wait_seconds, {wait:g}")
        return longest

    @property
    def debounce(self) -> Debounce:
        """What was asked for. Raises `InvalidDebounce`."""
        return Debounce(
            self.key, wait=self.wait_seconds, max_wait=self.max_wait_seconds, mode=self.mode
        )


class LimitChoice(StrictModel):
    """A shared limit that the job keeps to."""

    name: Annotated[LimitName, "The name of a limit that handlers share."]
    key: Annotated[
        KeyPath | None,
        "Where the key of the job is found: `payload.account`, `payload`, `tags.x`, `tenant`,"
        " `handler`, or a word that is the key. Default: as the limit says.",
    ] = None

    @property
    def chosen(self) -> ChosenLimit:
        """What was asked for."""
        return ChosenLimit(self.name, self.key)


class JobSubmission(StrictModel):
    """A job as it is submitted; what is absent is decided by its handler."""

    handler: HandlerName
    payload: Any = None
    run_at: Instant | None = None
    delay_seconds: Annotated[DelaySeconds | None, "When to run, in seconds from now."] = None
    priority: PriorityName | None = None
    idempotency_key: IdempotencyKey | None = None
    id: OwnId | None = None
    timeout_seconds: TimeoutSeconds | None = None
    expires_at: Instant | None = None
    retention_seconds: RetentionSeconds | None = None
    on_lost: OnLostName | None = None
    tenant: Tenant | None = None
    tags: Tags = Field(default_factory=dict)
    retry: RetryInput | None = None
    pool: Literal["default"] | None = None
    concurrency_key: Annotated[
        ConcurrencyKey | None,
        "The key of the job under the first concurrency limit of its handler that has a key of"
        " its own, in place of that key.",
    ] = None
    limits: Annotated[list[LimitChoice], Field(min_length=1, max_length=MAX_LIMITS)] | None = None
    unique: Annotated[
        UniqueInput | None,
        "At most one job of a key exists at a time. Default: as its handler states.",
    ] = None
    debounce: Annotated[
        DebounceInput | None,
        "Submissions of a key that come shortly after one another are one job. Default: as its"
        " handler states.",
    ] = None

    @classmethod
    def parse(cls, raw: object) -> NewJob:
        """Return the submission that ``raw``, decoded JSON, holds.

        Raises `InvalidInput` naming each wrong field, `NotSupportedYet` and `TooLarge`.
        """
        if isinstance(raw, Mapping):
            refuse_unsupported(raw)
        submission = validate(cls, raw, what="job")
        _refuse_pairs(submission, ("run_at", "delay_seconds"), ("id", "idempotency_key"))
        _refuse_pairs(submission, ("unique", "debounce"), ("concurrency_key", "limits"))
        _refuse_twice_named(submission.limits or [])
        chosen, unique, debounce = submission.limits, submission.unique, submission.debounce
        stated = {name: getattr(submission, name) for name in _AS_GIVEN}
        return NewJob(
            payload_text=payload_text(submission.payload),
            retry=retry_changes(submission.retry),
            limits=None if chosen is None else tuple(one.chosen for one in chosen),
            unique=None if unique is None else unique.unique,
            debounce=None if debounce is None else debounce.debounce,
            body_hash=content_hash(canonical_json(raw)),
            **stated,
        )


_AS_GIVEN = NewJob.__dataclass_fields__.keys() & JobSubmission.model_fields.keys() - {
    *("retry", "limits", "unique", "debounce")
}
"""The fields of a submission that are those of the new job."""


class BatchRequest(StrictModel):
    """Jobs that are submitted together; each is checked on its own."""

    jobs: Annotated[
        list[Any], Field(max_length=limits.MAX_BATCH_JOBS), "The jobs, each as for `POST /v1/jobs`."
    ]

    @classmethod
    def parse(cls, raw: object) -> list[NewJob | HourhandError]:
        """Return each job, or what is wrong with it, in the order sent.

        Raises `InvalidInput` where the batch as a whole is wrong.
        """
        return [_submission_or_error(job) for job in validate(cls, raw, what="batch").jobs]


NEVER_NULL = ("run_at", "delay_seconds", "priority")
"""The fields of a `JobPatch` that may be left out, but not given as null."""


class JobPatch(StrictModel):
    """What changes of a job that is not yet running.

    Only ``expires_at`` and ``payload`` may be given as null: that removes the one, and the other
    becomes null.
    """

    run_at: Annotated[
        Instant | None,
        "When to run: RFC 3339 with an offset, at most a day in the past, before 2201. Not"
        " together with `delay_seconds`.",
    ] = None
    delay_seconds: Annotated[DelaySeconds | None, "When to run, in seconds from now."] = None
    priority: Annotated[PriorityName | None, "The queue of the job."] = None
    payload: Annotated[Any, "Any JSON, up to 2.5 MB, in place of the old payload."] = None
    expires_at: Annotated[
        Instant | None,
        "If the job has not started by then, it ends EXPIRED. Null removes the expiry.",
    ] = None

    @classmethod
    def parse(cls, raw: object) -> JobChange:
        """Return the change that ``raw`` asks for.

        Raises `InvalidInput` naming each wrong field, and `TooLarge`.
        """
        patch = validate(cls, raw, what="change")
        given = patch.model_fields_set
        if not given:
            known = ", ".join(field_names(cls))
            raise invalid("change", [FieldError("body", f"must have at least one of {known}")])
        nulls = [
            FieldError(name, "must not be null: leave it out to keep it as it is")
            for name in NEVER_NULL
            if name in given and getattr(patch, name) is None
        ]
        if nulls:
            raise invalid("change", nulls)
        _refuse_pairs(patch, ("run_at", "delay_seconds"))
        return JobChange(
            run_at=patch.run_at,
            delay_seconds=patch.delay_seconds,
            priority=patch.priority,
            payload_text=payload_text(patch.payload) if "payload" in given else None,
            expires_at=patch.expires_at,
            changes_expiry="expires_at" in given,
        )


def _submission_or_error(raw: object) -> NewJob | HourhandError:
    try:
        return JobSubmission.parse(raw)
    except HourhandError as error:
        return error


def payload_text(
    payload: Any, *, field: str = "payload", max_bytes: int = limits.MAX_PAYLOAD_BYTES
) -> str:
    """Return ``payload`` as canonical JSON of at most ``max_bytes``; errors name ``field``.

    Raises `InvalidInput` for what is no JSON or nested too deeply, and `TooLarge`.
    """
    if _is_nested_deeper(payload, limits.MAX_NESTING):
        message = f"must not nest arrays and objects more than {limits.MAX_NESTING} deep"
        raise invalid("payload", [FieldError(field, message)])
    try:
        text = canonical_json(payload)
    except (ValueError, TypeError) as error:
        message = "must be JSON: finite numbers, strings, true, false, null, arrays and objects"
        raise invalid("payload", [FieldError(field, message)]) from error
    size_bytes = len(text.encode())
    if size_bytes > max_bytes:
        message = f"is {size_bytes:,} bytes of JSON; at most {max_bytes:,} are allowed"
        raise TooLarge("The payload is too large.", errors=(FieldError(field, message),))
    return text


def _is_nested_deeper(value: Any, levels: int) -> bool:
    """Walk level by level, so that no depth can exhaust the stack."""
    level = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(levels):
        if not level:
            return False
        level = [
            child
            for container in level
            for child in (container.values() if isinstance(container, dict) else container)
            if isinstance(child, (dict, list, tuple))
        ]
    return bool(level)


def refuse_unsupported(
    raw: Mapping[Any, Any], *, prefix: str = "", fields: Collection[str] = ()
) -> None:
    """Raise `NotSupportedYet` for what is known and would have to be ignored.

    ``fields``: names of such fields, beside the pool.
    """
    errors = []
    pool = raw.get("pool")
    if isinstance(pool, str) and pool != POOL:
        errors.append(
            FieldError(f"{prefix}pool", f"must be {POOL!r}: other values are not supported yet")
        )
    errors += [
        FieldError(prefix + name, "is not supported yet; leave it out")
        for name in fields
        if raw.get(name) is not None
    ]
    if errors:
        raise NotSupportedYet(errors=tuple(errors))


def _refuse_twice_named(chosen: Sequence[LimitChoice]) -> None:
    names = [one.name for one in chosen]
    errors = [
        FieldError(f"limits[{position}].name", "must not be named twice")
        for position, name in enumerate(names)
        if name in names[:position]
    ]
    if errors:
        raise invalid("job", errors)


def _refuse_pairs(given: BaseModel, *pairs: tuple[str, str]) -> None:
    errors = [
        FieldError(second, f"must not be given together with {first}")
        for first, second in pairs
        if getattr(given, first) is not None and getattr(given, second) is not None
    ]
    if errors:
        raise invalid("request", errors)


class ResweepInput(RequestModel):
    """From which time on the sweep is to read every bucket again."""

    since: Instant
