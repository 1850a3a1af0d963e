"""The environment, read once: everything that a function must be told.

All that is missing or wrong is named in one error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.model import Priority
from hourhand.domain.timings import Timings

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
}

_SWITCHES = {"tracing": "HOURHAND_TRACING", "batch_marks": "HOURHAND_BATCH_MARKS"}

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
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Names and addresses of what a function works on.

    ``handlers`` is the module that registers the user's handlers (workers only); ``manifest`` the
    path of the JSON file that names them (API and scheduler). ``scheduler_function`` is empty
    where no further invocations can be started. Queues are URLs. ``tracing``: tell X-Ray of every
    call.
    ``batch_marks``: mark dispatched jobs 25 to a call by PartiQL, five times as fast as singly;
    only where the store honours its conditions (DynamoDB and ministack do, moto does not).
    """

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
    timings: Timings = field(default_factory=Timings)
    fan_out_entries: int = 20_000
    tracing: bool = False
    batch_marks: bool = False

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
    for read in (_read_timings, _read_fan_out, _read_switches):
        try:
            settings = read(settings, environ)
        except InvalidInput as error:
            errors.extend(error.errors)
    if errors:
        named = ", ".join(f"{error.field} {error.message}" for error in errors)
        raise InvalidInput(f"The environment is not complete: {named}.", errors=tuple(errors))
    return settings


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
            raise ValueError(f"knows no {', '.join(unknown)}")
        changes = {name: timedelta(seconds=float(seconds)) for name, seconds in given.items()}
        return replace(settings, timings=replace(settings.timings, **changes))
    except (ValueError, TypeError, AttributeError) as error:
        problem = FieldError("HOURHAND_TIMINGS", f"must be a JSON object of seconds: {error}")
        raise InvalidInput(errors=(problem,)) from error


def _read_fan_out(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """``HOURHAND_FAN_OUT_ENTRIES``: index entries that one invocation takes on by itself."""
    text = environ.get("HOURHAND_FAN_OUT_ENTRIES", "")
    if not text:
        return settings
    if not text.isdigit() or int(text) == 0:
        problem = FieldError("HOURHAND_FAN_OUT_ENTRIES", "must be a positive whole number")
        raise InvalidInput(errors=(problem,))
    return replace(settings, fan_out_entries=int(text))


def _read_switches(settings: Settings, environ: Mapping[str, str]) -> Settings:
    """Each is ``1`` or, as without it, ``0``."""
    texts = {variable: environ.get(variable, "").strip() for variable in _SWITCHES.values()}
    errors = [
        FieldError(variable, "must be 0 or 1")
        for variable, text in texts.items()
        if text not in {"", "0", "1"}
    ]
    if errors:
        raise InvalidInput(errors=tuple(errors))
    tracing, batch_marks = (texts[variable] == "1" for variable in _SWITCHES.values())
    return replace(settings, tracing=tracing, batch_marks=batch_marks)


def settings_environment(settings: Settings) -> dict[str, str]:
    """Return the environment that `read_settings` reads as ``settings``: for child processes."""
    environment = {variable: getattr(settings, name) for name, variable in _NAMES.items()}
    standard = Timings()
    changed = {
        f.name: getattr(settings.timings, f.name).total_seconds()
        for f in fields(Timings)
        if getattr(settings.timings, f.name) != getattr(standard, f.name)
    }
    if changed:
        environment["HOURHAND_TIMINGS"] = json.dumps(changed)
    environment["HOURHAND_FAN_OUT_ENTRIES"] = str(settings.fan_out_entries)
    for name, variable in _SWITCHES.items():
        environment[variable] = "1" if getattr(settings, name) else "0"
    return environment
