"""The settings of a function, read once from the environment.

All that is missing or wrong is named in one error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from enum import StrEnum
from typing import Any

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import Timings

API_URL = "HOURHAND_API_URL"
"""Where the API is, for the addresses of callbacks: a worker can do without."""

_NAMES = {
    "jobs_table": "HOURHAND_JOBS_TABLE",
    "control_table": "HOURHAND_CONTROL_TABLE",
    "idempotency_table": "HOURHAND_IDEMPOTENCY_TABLE",
    "schedules_table": "HOURHAND_SCHEDULES_TABLE",
    "bucket": "HOURHAND_BUCKET",
    "queue_high": "HOURHAND_QUEUE_HIGH_URL",
    "queue_medium": "HOURHAND_QUEUE_MEDIUM_URL",
    "queue_low": "HOURHAND_QUEUE_LOW_URL",
    "dead_letter_queue": "HOURHAND_DEAD_LETTER_QUEUE_URL",
    "clock_queue": "HOURHAND_CLOCK_QUEUE_URL",
    "scheduler_function": "HOURHAND_SCHEDULER_FUNCTION",
    "handlers": "HOURHAND_HANDLERS",
    "manifest": "HOURHAND_MANIFEST",
    "stage": "HOURHAND_STAGE",
    "region": "HOURHAND_REGION",
    "account": "HOURHAND_ACCOUNT",
    "api_url": API_URL,
}

INSTALLATION = "hourhand"
"""The name of a deployment that was given none."""

SELF = "self"
"""As the scheduler's function: the scheduler's own, by the very alias or version it runs as."""

SCOPE_PREFIX = "hourhand/"
"""As Amazon Cognito writes the scopes of a resource server with the identifier ``hourhand``."""

MAX_CLAIM_CHARACTERS = 100

LEAST_LOOK_AHEAD_SECONDS = 120
"""Two ticks: with less, a tick that EventBridge fires late makes jobs late on any day."""

MOST_LOOK_AHEAD_SECONDS = 840
"""What SQS holds a message for (900 s) less a tick: a clock that is off widens the look-ahead."""

MAX_FAN_OUT_ENTRIES = 10**9

SCOPE_PREFIX_PATTERN = r"[\x21\x23-\x5b\x5d-\x7e]{1,100}"
SCOPE_PREFIX_RULE = "1 to 100 visible ASCII characters, without quotes and backslashes"
"""What a scope may consist of (RFC 6749, section 3.3)."""

_INSTALLATION_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
"""What tables, queues, functions and metrics can all be named by."""

API_NEEDS = (
    "jobs_table",
    "control_table",
    "schedules_table",
    "bucket",
    "queue_high",
    "queue_medium",
    "queue_low",
    "dead_letter_queue",
    "manifest",
)
SCHEDULER_NEEDS = (
    "jobs_table",
    "control_table",
    "schedules_table",
    "bucket",
    "queue_high",
    "queue_medium",
    "queue_low",
    "dead_letter_queue",
    "clock_queue",
    "manifest",
)
WORKER_NEEDS = (
    "jobs_table",
    "control_table",
    "idempotency_table",
    "schedules_table",
    "bucket",
    "queue_high",
    "queue_medium",
    "queue_low",
    "dead_letter_queue",
    "handlers",
    "manifest",
)


class LeaderMode(StrEnum):
    """Whether this scheduler may lead: ``HOURHAND_LEADER``.

    For moving between two deployments over the same tables. It is safe if both are
    elected. While none is, nothing is swept: jobs beyond the look-ahead wait, and none is lost.
    """

    ELECTED = "elected"
    STANDBY = "standby"


class DispatchMode(StrEnum):
    """How jobs are marked whose messages were sent: ``HOURHAND_DISPATCH``.

    ``single``: one UpdateItem for each job.
    ``batch``: 25 jobs to a call by PartiQL, several times as fast and at the same price; only where
    the store honours the condition of each statement (DynamoDB and ministack do, moto does not).
    ``economy``: in batches, and not at all where the record of a whole sweep will do: a delayed
    job costs a write unit less, and is shown as PENDING until it is claimed.
    """

    SINGLE = "single"
    BATCH = "batch"
    ECONOMY = "economy"


class DelayRounding(StrEnum):
    """How a message's delay becomes whole seconds: ``HOURHAND_DELAY_ROUNDING``.

    ``down``: precise, and the worker waits for the rest of the second inside a billed call.
    ``nearest``: a job starts up to half a second after its time, and the worker waits for up to
    half a second. ``up``: a job starts up to a second after its time, and no worker waits. SQS's
    own delay comes on top of each.
    """

    DOWN = "down"
    NEAREST = "nearest"
    UP = "up"

    @property
    def length(self) -> timedelta:
        """The value of `Timings.delay_rounding` that it stands for."""
        # Up: a whole second would delay a job that is due at a whole second by one more.
        return timedelta(milliseconds={"down": 0, "nearest": 500, "up": 999}[self.value])


class MonitoringLevel(StrEnum):
    """How much is measured: ``HOURHAND_MONITORING``.

    ``full``: the functions write metrics of their own. ``basic`` and ``none``: they write logs
    alone. Which alarms there are is the deployment's matter.
    """

    FULL = "full"
    BASIC = "basic"
    NONE = "none"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Names and addresses of what a function works on, and the flags for how.

    ``installation`` identifies one deployment of an account: it is the prefix of the name under
    which logs and metrics are written. ``handlers`` is the module that registers the user's
    handlers (workers only); ``manifest`` the path of the JSON file that names them and
    their limits. ``scheduler_function``: what is invoked for shards that are too much for one
    invocation; `SELF`, a name or an ARN, or empty where nothing can be. Queues are URLs.
    ``tracing``: report every call to X-Ray. ``stage``, ``region`` and ``account`` say where the
    deployment is, for people: no decision depends on them. They are empty where nothing set them.

    The flags can be changed while the system runs, for one function or for all; every value that
    is taken is safe. ``leader``, ``dispatch`` and ``monitoring``: see there.
    ``timings.look_ahead``, by ``HOURHAND_LOOK_AHEAD_SECONDS``: how long before it is due a job's
    message is sent; below 300 s, a lost tick makes jobs late. ``timings.delay_rounding``, by
    ``HOURHAND_DELAY_ROUNDING``: see `DelayRounding`. ``fan_out_entries``, by
    ``HOURHAND_FAN_OUT_ENTRIES``: the index entries that one invocation takes on before it hands
    shards to others; 0: it never does.

    ``jwt_scope_prefix``, by ``HOURHAND_JWT_SCOPE_PREFIX``, stands before the names of a token's
    scopes. ``jwt_tenant_claim``, by ``HOURHAND_JWT_TENANT_CLAIM``, names the claim that binds a
    token to a tenant; empty: none does. Both are read by the API alone.
    """

    installation: str = INSTALLATION
    jobs_table: str = ""
    control_table: str = ""
    idempotency_table: str = ""
    schedules_table: str = ""
    bucket: str = ""
    queue_high: str = ""
    queue_medium: str = ""
    queue_low: str = ""
    dead_letter_queue: str = ""
    clock_queue: str = ""
    scheduler_function: str = ""
    handlers: str = ""
    manifest: str = ""
    stage: str = ""
    region: str = ""
    account: str = ""
    api_url: str = ""
    timings: Timings = field(default_factory=Timings)
    leader: LeaderMode = LeaderMode.ELECTED
    dispatch: DispatchMode = DispatchMode.SINGLE
    fan_out_entries: int = 20_000
    tracing: bool = False
    monitoring: MonitoringLevel = MonitoringLevel.FULL
    jwt_scope_prefix: str = SCOPE_PREFIX
    jwt_tenant_claim: str = ""

    @property
    def writes_metrics(self) -> bool:
        """Whether the functions write metrics of their own."""
        return self.monitoring is MonitoringLevel.FULL

    @property
    def queues(self) -> dict[Priority, str]:
        """The URL of each priority queue."""
        return {
            Priority.HIGH: self.queue_high,
            Priority.MEDIUM: self.queue_medium,
            Priority.LOW: self.queue_low,
        }


def read_settings(environ: Mapping[str, str], needs: tuple[str, ...]) -> Settings:
    """Read the settings of a function that needs ``needs``.

    Raises `InvalidInput` naming every variable that is missing or wrong.
    """
    errors = [
        FieldError(_NAMES[name], "must be set")
        for name in needs
        if not environ.get(_NAMES[name], "").strip()
    ]
    values: dict[str, Any] = {
        name: environ.get(variable, "").strip() for name, variable in _NAMES.items()
    }
    settings = Settings(**values)
    for read in _READERS:
        try:
            settings = read(settings, environ)
        except InvalidInput as error:
            errors.extend(error.errors)
    if errors:
        named = ", ".join(f"{error.field} {error.message}" for error in errors)
        raise InvalidInput(f"The environment is not complete: {named}.", errors=tuple(errors))
    return settings


def _read_installation(settings: Settings, environ: Mapping[str, str]) -> Settings:
    name = environ.get("HOURHAND_INSTALLATION", "").strip()
    if not name:
        return settings
    if not _INSTALLATION_NAME.fullmatch(name):
        allowed = "a letter, then up to 39 letters, digits, hyphens and underscores"
        raise _wrong("HOURHAND_INSTALLATION", f"must be {allowed}")
    return replace(settings, installation=name)


def _read_timings(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """``HOURHAND_TIMINGS``: a JSON object of timing names and seconds."""
    text = environ.get("HOURHAND_TIMINGS", "")
    if not text:
        return settings
    known = {f.name for f in fields(Timings)}
    try:
        given = json.loads(text)
        unknown = sorted(set(given) - known)
        if unknown:
            raise ValueError(f"has unknown timings: {', '.join(unknown)}")
        changes = {name: timedelta(seconds=float(seconds)) for name, seconds in given.items()}
        return replace(settings, timings=replace(settings.timings, **changes))
    except (ValueError, TypeError, AttributeError) as error:
        raise _wrong("HOURHAND_TIMINGS", f"must be a JSON object of seconds: {error}") from error


def _read_look_ahead(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """``HOURHAND_LOOK_AHEAD_SECONDS`` takes precedence over ``HOURHAND_TIMINGS``."""
    variable = "HOURHAND_LOOK_AHEAD_SECONDS"
    seconds = _number(environ, variable, LEAST_LOOK_AHEAD_SECONDS, MOST_LOOK_AHEAD_SECONDS)
    if seconds is None:
        return settings
    look_ahead = timedelta(seconds=seconds)
    return replace(settings, timings=replace(settings.timings, look_ahead=look_ahead))


def _read_rounding(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """``HOURHAND_DELAY_ROUNDING`` replaces what ``HOURHAND_TIMINGS`` says of it."""
    rounding = _choice(environ, "HOURHAND_DELAY_ROUNDING", tuple(DelayRounding))
    if not rounding:
        return settings
    timings = replace(settings.timings, delay_rounding=DelayRounding(rounding).length)
    return replace(settings, timings=timings)


def _read_fan_out(settings: Settings, environ: Mapping[str, str]) -> Settings:
    entries = _number(environ, "HOURHAND_FAN_OUT_ENTRIES", 0, MAX_FAN_OUT_ENTRIES)
    return settings if entries is None else replace(settings, fan_out_entries=entries)


def _read_leader(settings: Settings, environ: Mapping[str, str]) -> Settings:
    leader = _choice(environ, "HOURHAND_LEADER", tuple(LeaderMode))
    return replace(settings, leader=LeaderMode(leader)) if leader else settings


def _read_dispatch(settings: Settings, environ: Mapping[str, str]) -> Settings:
    dispatch = _choice(environ, "HOURHAND_DISPATCH", tuple(DispatchMode))
    return replace(settings, dispatch=DispatchMode(dispatch)) if dispatch else settings


def _read_monitoring(settings: Settings, environ: Mapping[str, str]) -> Settings:
    level = _choice(environ, "HOURHAND_MONITORING", tuple(MonitoringLevel))
    return replace(settings, monitoring=MonitoringLevel(level)) if level else settings


def _read_tracing(settings: Settings, environ: Mapping[str, str]) -> Settings:
    return replace(settings, tracing=_choice(environ, "HOURHAND_TRACING", ("0", "1")) == "1")


def _read_claims(settings: Settings, environ: Mapping[str, str]) -> Settings:
    prefix = environ.get("HOURHAND_JWT_SCOPE_PREFIX", "").strip() or SCOPE_PREFIX
    if not re.fullmatch(SCOPE_PREFIX_PATTERN, prefix):
        raise _wrong("HOURHAND_JWT_SCOPE_PREFIX", f"must be {SCOPE_PREFIX_RULE}")
    claim = environ.get("HOURHAND_JWT_TENANT_CLAIM", "").strip()
    if len(claim) > MAX_CLAIM_CHARACTERS:
        raise _wrong(
            "HOURHAND_JWT_TENANT_CLAIM", f"must be at most {MAX_CLAIM_CHARACTERS} characters long"
        )
    return replace(settings, jwt_scope_prefix=prefix, jwt_tenant_claim=claim)


_READERS = (
    _read_installation,
    _read_timings,
    _read_look_ahead,
    _read_rounding,
    _read_fan_out,
    _read_leader,
    _read_dispatch,
    _read_monitoring,
    _read_tracing,
    _read_claims,
)
"""Each takes what the ones before it have read."""


def _number(environ: Mapping[str, str], variable: str, least: int, most: int) -> int | None:
    text = environ.get(variable, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= most:
        raise _wrong(variable, f"must be a whole number from {least} to {most}")
    return int(text)


def _choice(environ: Mapping[str, str], variable: str, allowed: Sequence[str]) -> str:
    text = environ.get(variable, "").strip()
    if text and text not in allowed:
        raise _wrong(variable, f"must be {' or '.join(allowed)}")
    return text


def _wrong(variable: str, message: str) -> InvalidInput:
    return InvalidInput(errors=(FieldError(variable, message),))


def settings_environment(settings: Settings) -> dict[str, str]:
    """Return the environment that `read_settings` reads as ``settings``: for child processes.

    An empty value replaces the one that a child would inherit.
    """
    environment = {variable: getattr(settings, name) for name, variable in _NAMES.items()}
    standard = Timings()
    named = [r.value for r in DelayRounding if r.length == settings.timings.delay_rounding]
    if named:
        standard = replace(standard, delay_rounding=settings.timings.delay_rounding)
    changed = {
        f.name: getattr(settings.timings, f.name).total_seconds()
        for f in fields(Timings)
        if getattr(settings.timings, f.name) != getattr(standard, f.name)
    }
    if changed:
        environment["HOURHAND_TIMINGS"] = json.dumps(changed)
    is_usual = settings.jwt_scope_prefix == SCOPE_PREFIX
    changed_prefix = "" if is_usual else settings.jwt_scope_prefix
    return environment | {
        "HOURHAND_INSTALLATION": settings.installation,
        "HOURHAND_LOOK_AHEAD_SECONDS": "",
        "HOURHAND_DELAY_ROUNDING": "".join(named),
        "HOURHAND_FAN_OUT_ENTRIES": str(settings.fan_out_entries),
        "HOURHAND_LEADER": settings.leader.value,
        "HOURHAND_DISPATCH": settings.dispatch.value,
        "HOURHAND_MONITORING": settings.monitoring.value,
        "HOURHAND_TRACING": "1" if settings.tracing else "0",
        "HOURHAND_JWT_SCOPE_PREFIX": changed_prefix,
        "HOURHAND_JWT_TENANT_CLAIM": settings.jwt_tenant_claim,
    }
