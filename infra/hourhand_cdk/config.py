"""The settings of a deployment: one typed value, from the stage's defaults and the context.

Every field can be given as context (``-c stage=prod -c worker_concurrency=400``, or in
``cdk.json``). A name that no field has, or a value that its field does not take, ends the synthesis
with a sentence that names it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from hourhand.aws.worker_shares import (
    CALLS_PER_POLLER,
    CONCURRENCY_SHARES,
    LEAST_POLLED_CONCURRENCY,
    LEAST_WORKER_CONCURRENCY,
    MINIMUM_POLLERS,
    MOST_WORKER_CONCURRENCY,
    pollers_of,
    shared_out,
)
from hourhand.settings import (
    LEAST_LOOK_AHEAD_SECONDS,
    MAX_CLAIM_CHARACTERS,
    MAX_FAN_OUT_ENTRIES,
    MOST_LOOK_AHEAD_SECONDS,
    SCOPE_PREFIX,
    SCOPE_PREFIX_PATTERN,
    SCOPE_PREFIX_RULE,
    DelayRounding,
    DispatchMode,
    LeaderMode,
    MonitoringLevel,
)
from hourhand_cdk.environment import check_names
from hourhand_cdk.packing import PYTHON

LOG_RETENTIONS = {
    1: "ONE_DAY",
    3: "THREE_DAYS",
    5: "FIVE_DAYS",
    7: "ONE_WEEK",
    14: "TWO_WEEKS",
    30: "ONE_MONTH",
    60: "TWO_MONTHS",
    90: "THREE_MONTHS",
    180: "SIX_MONTHS",
    365: "ONE_YEAR",
    731: "TWO_YEARS",
    1827: "FIVE_YEARS",
    3653: "TEN_YEARS",
}
"""Days, and what the CDK calls them: some of what CloudWatch Logs takes (PutRetentionPolicy)."""


LEAST_SCHEDULER_RESERVE = 2
"""A tick may still run when the next one starts. With 0 Lambda would call no scheduler at all."""

MOST_SCHEDULER_RESERVE = 100
"""Well above what can run at a time: two ticks, and the 16 further invocations of each."""

LEAST_UNRESERVED = 100
"""What an account must leave to the functions without a reserve (Lambda guide, concurrency)."""


class Stage(StrEnum):
    """Which defaults a deployment starts from."""

    DEV = "dev"
    PROD = "prod"


class InvalidConfig(ValueError):
    """The context asks for something that cannot be deployed."""


_NOT_YET_KNOWN = "${Token["
"""In a CDK app, begins a placeholder for a text that only CloudFormation will know."""

_IN_WORDS = {
    "dict_type": 'must be a JSON object, such as {"NAME": "text"}',
    "string_type": "must be a string: put it in quotes",
}
"""Our sentences instead of pydantic's own words, by pydantic's type of the error."""


def _matching(pattern: str, allowed: str) -> AfterValidator:
    """Refuse what does not match, and say in words what is allowed."""
    known = re.compile(pattern)

    def check(value: str) -> str:
        if not known.fullmatch(value) and _NOT_YET_KNOWN not in value:
            raise ValueError(f"must be {allowed}, not {value!r}")
        return value

    return AfterValidator(check)


Memory = Annotated[int, Field(ge=128, le=10_240)]
Arn = Annotated[str, _matching(r"arn:\S+", "an ARN, which begins with arn:")]
Installation = Annotated[
    str,
    _matching(r"([a-z][a-z0-9-]{0,29})?", "up to 30 of a-z, 0-9 and -, a letter first"),
]
Email = Annotated[
    str, _matching(r"[^@\s]+@[^@\s]+", "one address of e-mail, such as ops@example.org")
]
TagKey = Annotated[
    str,
    _matching(
        r"(?!aws:)[\w .:/=+@-]{1,128}", "up to 128 letters, digits, spaces and .:/=+-@_, no aws:"
    ),
]
TagValue = Annotated[
    str, _matching(r"[\w .:/=+@-]{0,256}", "up to 256 letters, digits, spaces and .:/=+-@_")
]
MAX_TAGS = 40
"""Fewer than the 50 that most resources take: some are AWS's and ours."""

HttpsUrl = Annotated[str, _matching(r"https://\S+", "a URL that begins with https://")]
ScopePrefix = Annotated[str, _matching(SCOPE_PREFIX_PATTERN, SCOPE_PREFIX_RULE)]
ClaimName = Annotated[
    str, _matching(rf"\S{{1,{MAX_CLAIM_CHARACTERS}}}", "the name of a claim, without spaces")
]
PageUrl = Annotated[
    str,
    _matching(
        r"https?://[^\s#?]{1,200}",
        "a URL of up to 200 characters, without ? and #, of http or https",
    ),
]
AlarmedHandler = Annotated[
    str,
    _matching(r"[A-Za-z0-9_.-]{1,64}", "the name of a handler (up to 64 of A-Z, a-z, 0-9 and _.-)"),
]
AlarmedTag = Annotated[
    str,
    _matching(
        r"[A-Za-z0-9_-]{1,64}:[A-Za-z0-9_.-]{1,64}",
        "a tag such as team:billing (key and value of up to 64 letters, digits, _ and -)",
    ),
]
MAX_ALARMED = 20
"""Handlers, and as many tags, with an alarm of their own: each is paid for every month."""


def _listed(value: object) -> object:
    """Let a list be given as one text, its parts separated by commas: ``-c`` knows only texts."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _number_or_none(value: object) -> object:
    """Let ``none`` stand for no number: ``-c`` knows only texts."""
    return None if value == "none" else value


def _parsed(value: object) -> object:
    """Let a mapping be given as a JSON text; what is none stays the text, which is then refused."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        return value


class Config(BaseModel):
    """The settings of a deployment.

    The defaults are those of ``dev``; `STAGES` has the differences.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    stage: Stage = Stage.DEV
    installation: Installation = Field(
        default="",
        description="The prefix of every name; two deployments in an account need two. "
        "hourhand-<stage>.",
    )

    tags: Annotated[dict[TagKey, TagValue], Field(max_length=MAX_TAGS)] = Field(
        default_factory=dict, description="Additional tags of all resources, as a JSON object."
    )

    # The user's handlers.
    handlers: str = Field(
        default="examples/quickstart.py", description="The folder or the file to pack."
    )
    handlers_module: str | None = Field(default=None, description="The module that registers them.")
    handlers_environment: dict[str, str] = Field(
        default_factory=dict,
        description=("Additional environment variables of the worker, as a JSON object."),
    )
    handlers_policies: list[Arn] = Field(
        default_factory=list, description="ARNs of managed policies that the handlers need."
    )

    # Functions.
    python: Literal["3.12", "3.13", "3.14"] = PYTHON
    architecture: Literal["arm64", "x86_64"] = "arm64"
    pack_for: Literal["lambda", "this-machine"] = Field(
        default="lambda", description="this-machine: for an emulator that runs functions here."
    )
    require_bytecode: bool = Field(
        default=False,
        description="Whether a package without bytecode is an error instead of a warning.",
    )
    api_memory_mb: Memory = 1024
    scheduler_memory_mb: Memory = 1024
    worker_memory_mb: Memory = 1024
    worker_concurrency: (
        Annotated[int, Field(ge=LEAST_WORKER_CONCURRENCY, le=MOST_WORKER_CONCURRENCY)] | None
    ) = Field(
        default=None,
        description="Workers at a time, shared among the priorities. none: no ceiling, and "
        "fewer polls of idle queues.",
    )
    provisioned_pollers: bool = Field(
        default=False,
        description="Pollers of one's own, paid by the hour, instead of MaximumConcurrency; "
        "each calls up to 10 workers.",
    )
    snap_start: bool = False
    provisioned_concurrency: int = Field(
        default=0, ge=0, description="Workers, and one API, kept warm and paid by the hour."
    )
    scheduler_reserved_concurrency: int | None = Field(
        default=None,
        ge=LEAST_SCHEDULER_RESERVE,
        le=MOST_SCHEDULER_RESERVE,
        description="Concurrency that Lambda keeps for the scheduler alone, and its ceiling. The "
        f"account must keep {LEAST_UNRESERVED} unreserved beside it, or Lambda refuses.",
    )
    allow_recursion: bool = Field(
        default=True,
        description="Whether the worker may send messages to the queues that invoke it. Off only "
        "in a partition whose Lambda does not know the property RecursiveLoop.",
    )
    tracing: Literal["off", "xray", "opentelemetry"] = "off"
    opentelemetry_layer: Arn | None = Field(default=None, description="The ARN of its layer.")
    log_retention_days: int = 14

    # Flags: they change the functions' environment, never their code.
    leader: LeaderMode = LeaderMode.ELECTED
    look_ahead_seconds: int | None = Field(
        default=None, ge=LEAST_LOOK_AHEAD_SECONDS, le=MOST_LOOK_AHEAD_SECONDS
    )
    fan_out_entries: int = Field(default=20_000, ge=0, le=MAX_FAN_OUT_ENTRIES)
    dispatch: DispatchMode = DispatchMode.BATCH
    delay_rounding: DelayRounding = DelayRounding.NEAREST

    # Data.
    protect_data: bool = Field(
        default=False, description="Deletion protection; tables and bucket outlive the stack."
    )
    customer_key: bool = Field(
        default=False,
        description="A KMS key of this deployment's own. Once on, never off: without it in the "
        "stack, no function may read what was stored under it. It outlives the stack.",
    )
    enforce_tls: bool = Field(default=True, description="Off only for an emulator without TLS.")

    # The API.
    api_authorization: Literal["iam", "jwt"] = "iam"
    jwt_issuer: HttpsUrl | None = None
    jwt_audience: list[str] = Field(default_factory=list)
    jwt_scope_prefix: ScopePrefix = SCOPE_PREFIX
    jwt_tenant_claim: ClaimName | None = None
    api_requests_per_second: int = Field(default=100, ge=1)
    api_burst: int = Field(default=200, ge=1)
    public_callbacks: bool = Field(
        default=False,
        description="A route without authorisation that completes callbacks of durable runs by "
        "their tokens, with bodies of at most 64 KB.",
    )
    public_callbacks_per_second: int = Field(default=20, ge=1)
    public_callbacks_burst: int = Field(default=40, ge=1)

    # Metrics, alarms and dashboard.
    monitoring: MonitoringLevel = Field(
        default=MonitoringLevel.BASIC,
        description="full: metrics of our own, all alarms, a dashboard. basic: three alarms on "
        "AWS's own metrics. none: neither metrics nor alarms.",
    )
    alarm_email: Email | None = None
    runbook_url: PageUrl | None = Field(
        default=None,
        description="Where the runbook is published: alarms link to its entries.",
    )
    console_url: PageUrl | None = Field(
        default=None,
        description="Where the console is served, without a path of its own: alarms link to its "
        "pages.",
    )
    alarm_handlers: Annotated[list[AlarmedHandler], Field(max_length=MAX_ALARMED)] = Field(
        default_factory=list,
        description="Handlers with an alarm of their own on dead jobs. Only with monitoring=full.",
    )
    alarm_tags: Annotated[list[AlarmedTag], Field(max_length=MAX_ALARMED)] = Field(
        default_factory=list,
        description="Tags (key:value) with an alarm of their own on dead jobs. Only with "
        "monitoring=full.",
    )
    lateness_alarm_ms: int = Field(default=5_000, ge=100)
    oldest_due_alarm_seconds: int = Field(default=300, ge=1)
    dead_jobs_alarm: int = Field(
        default=1,
        ge=1,
        description="The number of unresolved DEAD jobs from which the alarm is raised.",
    )
    duplicates_alarm_percent: int = Field(default=20, ge=1, le=100)
    errors_alarm_percent: int = Field(default=5, ge=1, le=100)
    jobs_alarm_per_hour: int = Field(default=1_000_000, ge=1)
    skew_alarm_ms: int = Field(default=1_000, ge=1)
    metric_math: bool = Field(
        default=True, description="Off only for an emulator whose alarms know no metric math."
    )

    _lists = field_validator(
        "handlers_policies", "jwt_audience", "alarm_handlers", "alarm_tags", mode="before"
    )(_listed)
    _no_ceiling = field_validator("worker_concurrency", mode="before")(_number_or_none)
    _mappings = field_validator("handlers_environment", "tags", mode="before")(_parsed)

    @field_validator("handlers_environment")
    @classmethod
    def _names_are_free(cls, environment: dict[str, str]) -> dict[str, str]:
        check_names(environment)
        return environment

    @field_validator("log_retention_days")
    @classmethod
    def _kept_so_long(cls, days: int) -> int:
        if days not in LOG_RETENTIONS:
            raise ValueError(f"must be one of {', '.join(map(str, LOG_RETENTIONS))}")
        return days

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        if self.api_authorization == "jwt" and not (self.jwt_issuer and self.jwt_audience):
            raise ValueError("api_authorization=jwt needs jwt_issuer and jwt_audience")
        if self.snap_start and self.provisioned_concurrency:
            raise ValueError("snap_start and provisioned_concurrency exclude each other")
        if self.tracing == "opentelemetry" and not self.opentelemetry_layer:
            raise ValueError("tracing=opentelemetry needs opentelemetry_layer, the ARN of a layer")
        if self.alarm_email and self.monitoring is MonitoringLevel.NONE:
            raise ValueError(
                "alarm_email needs monitoring=basic or full: otherwise there are no alarms"
            )
        if (self.alarm_handlers or self.alarm_tags) and (
            self.monitoring is not MonitoringLevel.FULL
        ):
            raise ValueError("alarm_handlers and alarm_tags need monitoring=full")
        for name in ("alarm_handlers", "alarm_tags"):
            if len(set(getattr(self, name))) < len(getattr(self, name)):
                raise ValueError(f"{name}: must name each one once")
        if self.provisioned_pollers and (self.worker_concurrency or 0) < LEAST_POLLED_CONCURRENCY:
            raise ValueError(
                f"provisioned_pollers needs a worker_concurrency of {LEAST_POLLED_CONCURRENCY} or "
                f"more, not {self.worker_concurrency or 'none'}: a queue has at least "
                f"{MINIMUM_POLLERS} pollers of {CALLS_PER_POLLER} workers each, and low has the "
                "smallest share"
            )
        return self

    @property
    def prefix(self) -> str:
        """The prefix of every name of this deployment."""
        return self.installation or f"hourhand-{self.stage}"

    @property
    def concurrency(self) -> Mapping[str, int | None]:
        """MaximumConcurrency of each priority's event source; ``None``: it has none."""
        if self.worker_concurrency is None:
            return dict.fromkeys(CONCURRENCY_SHARES)
        return shared_out(self.worker_concurrency)

    @property
    def pollers(self) -> Mapping[str, int | None]:
        """The most provisioned pollers of each priority's event source; ``None``: it has none."""
        if self.worker_concurrency is None or not self.provisioned_pollers:
            return dict.fromkeys(CONCURRENCY_SHARES)
        return pollers_of(self.worker_concurrency)

    @property
    def most_workers(self) -> int | None:
        """The maximum number of workers that run at a time, when every queue has a backlog.

        ``None``: as many as the account has room for.
        """
        if self.provisioned_pollers:
            return CALLS_PER_POLLER * sum(filter(None, self.pollers.values()))
        return self.worker_concurrency


STAGES: dict[Stage, dict[str, Any]] = {
    Stage.DEV: {},
    Stage.PROD: {
        "protect_data": True,
        "worker_concurrency": 200,
        "api_requests_per_second": 500,
        "api_burst": 1000,
        "log_retention_days": 90,
        "monitoring": MonitoringLevel.FULL,
    },
}


def read_config(context: Mapping[str, Any]) -> Config:
    """Return the settings that ``context`` asks for; raise `InvalidConfig` naming what is wrong."""
    given = {name: value for name, value in context.items() if not _is_of_the_cdk(name)}
    try:
        stage = Stage(given.get("stage", Stage.DEV))
    except ValueError as error:
        known = " or ".join(Stage)
        raise InvalidConfig(f"stage must be {known}, not {given['stage']!r}.") from error
    try:
        return Config(**{**STAGES[stage], **given})
    except ValidationError as error:
        raise InvalidConfig(_told(error)) from error


def _is_of_the_cdk(name: str) -> bool:
    """Whether a name is a flag of the CDK, or a value it looked up (``vpc-provider:account=...``).

    No setting has a colon in its name.
    """
    return ":" in name or name.startswith(("@", "cdk-"))


def _told(error: ValidationError) -> str:
    sentences = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        reason = _IN_WORDS.get(problem["type"], problem["msg"].removeprefix("Value error, "))
        if problem["type"] == "extra_forbidden":
            reason = _no_setting(name)
        sentences.append(f"{name}: {reason}" if name else reason)
    return "The context is invalid: " + "; ".join(sentences) + "."


def _no_setting(name: str) -> str:
    alike = get_close_matches(name, Config.model_fields)
    if alike:
        return f"is not a setting; did you mean {' or '.join(alike)}?"
    return f"is not a setting. The settings are: {', '.join(Config.model_fields)}"
