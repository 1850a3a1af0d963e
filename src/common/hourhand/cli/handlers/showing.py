"""The output of ``hourhand handlers``: a table, and one handler with the fields that it takes."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hourhand.answers.system import (
    Handler,
    HandlerDebounce,
    HandlerLimit,
    HandlerPause,
    HandlerPolicies,
    HandlerUnique,
)
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import Column, fact, facts
from hourhand.cli.output.times import NOTHING, Times, duration
from hourhand.cli.schedules.listing import expression_text
from hourhand.cli.session import Session
from hourhand.domain.limits.keys import parse_key_path

COLUMNS = (
    Column("NAME", is_whole=True),
    Column("PAYLOAD", is_flexible=True),
    Column("TIME LIMIT", rank=2),
    Column("PRIORITY", rank=3),
    Column("PAUSED", rank=1),
    Column("DESCRIPTION", rank=4, is_flexible=True),
)
_WHEN_FULL = {
    "skip": "others are cancelled",
    "replace_waiting": "one waits, and a newer one replaces it",
    "cancel_running": "a newer one stops those that run",
}
_HELD = {
    "job": "a slot is held until the job ends",
    "success": "a slot is held until the job succeeds",
}
_ON_CONFLICT = {
    "return": "another submission returns it",
    "reject": "another submission is refused",
    "replace": "another submission replaces its payload and time",
}
FIELD_COLUMNS = (
    Column("FIELD", is_whole=True),
    Column("TYPE", is_flexible=True),
    Column("REQUIRED"),
    Column("DEFAULT", rank=1, is_flexible=True),
    Column("DESCRIPTION", rank=2, is_flexible=True),
)
ANY_JSON = "any JSON"
MAX_DEPTH = 4
"""How many schemas within schemas the words for a type name."""

Schema = Mapping[str, Any]


def list_found(session: Session) -> None:
    """Print the handlers, by name."""
    found = session.client.handlers()
    session.print_list(lambda **_: found, None, COLUMNS, _row, none="No handler is registered.")


def show(session: Session, handler: Handler) -> None:
    """Print one handler."""
    if session.gives_json(handler):
        return
    session.print(facts(_facts(handler, session.times)))
    schema = handler.payload_schema
    rows = [] if schema is None else list(_field_rows(schema))
    if rows:
        session.print("")
        session.print_table(FIELD_COLUMNS, rows, without_empty=True)
    command = submission_of(handler.name, handler.payload_schema, handler.payload_examples)
    if command is not None:
        session.print("")
        session.print_text(f"A submission that works:\n  hourhand jobs submit {command}")


def show_state(session: Session, handler: Handler) -> None:
    """Print one line about a handler that was paused or resumed, or all of it as JSON."""
    if session.gives_json(handler):
        return
    state = (
        "not paused"
        if handler.paused is None
        else f"paused {_pause_words(handler.paused, session.times)}"
    )
    session.print(cell(f"{handler.name}  {state}"))


def submission_of(handler: str, schema: Schema | None, examples: Sequence[Any]) -> str | None:
    """Return the arguments that submit a job of ``handler``; ``None`` if no payload is known."""
    if examples:
        payload = json.dumps(examples[0])
    elif schema is None:
        payload = "{}"
    else:
        return None
    return f"{shlex.quote(handler)} {shlex.quote(payload)}"


def _row(session: Session, handler: Handler) -> tuple[str, ...]:
    policies, schema = handler.policies, handler.payload_schema
    paused = handler.paused
    return (
        handler.name,
        ANY_JSON if schema is None else _payload_words(schema),
        NOTHING if policies.timeout_seconds is None else duration(policies.timeout_seconds),
        policies.priority or NOTHING,
        NOTHING if paused is None else f"since {session.times.short(paused.since)}",
        handler.description,
    )


def _facts(handler: Handler, times: Times) -> Iterator[tuple[str, str]]:
    yield "handler", handler.name
    yield from fact("description", handler.description)
    schema = handler.payload_schema
    yield "payload", ANY_JSON if schema is None else _type_words(schema, schema, 0)
    checks = "refused at submission" if handler.payload_validated else "found by the worker only"
    yield "a wrong payload is", checks
    yield from _policy_facts(handler.policies)
    for limit in handler.limits:
        yield f"limit {limit.name}", _limit_words(limit)
    yield from fact("unique", handler.unique, _unique_words)
    yield from fact("debounced", handler.debounce, _debounce_words)
    if handler.schedule is not None:
        rule = expression_text(handler.schedule.expression)
        yield (
            "declared schedule",
            f"{rule} ({handler.schedule.timezone}), with the ID {handler.name}",
        )
    yield from fact("paused", handler.paused, lambda each: _pause_words(each, times))


def _pause_words(pause: HandlerPause, times: Times) -> str:
    end = "" if pause.until is None else f" until {times.full(pause.until)}"
    note = f": {pause.note}" if pause.note else ""
    return f"since {times.full(pause.since)}{end}{note}"


def _policy_facts(policies: HandlerPolicies) -> Iterator[tuple[str, str]]:
    seconds = policies.timeout_seconds
    yield from fact("time limit", seconds, lambda each: f"{duration(each)} per attempt")
    yield from fact("priority", policies.priority)
    if policies.retry is not None:
        retry = policies.retry
        yield "attempts", f"at most {retry.max_attempts}, {retry.backoff} backoff"
    if policies.on_lost is not None:
        yield "if its worker is lost", "runs again" if policies.on_lost == "retry" else "ends DEAD"
    seconds = policies.retention_seconds
    yield from fact("kept", seconds, lambda each: f"{duration(each)} after the end")


def _limit_words(limit: HandlerLimit) -> str:
    """Return what a limit allows, such as ``2 run at a time for each payload.account``."""
    path = parse_key_path(limit.key)
    of = f" for each {limit.key}" if path.divides else ""
    verb = "s" if limit.max == 1 else ""
    if limit.per_seconds is not None:
        return f"{limit.max} start{verb} in {duration(limit.per_seconds)}{of}"
    options = (
        _WHEN_FULL.get(limit.on_full or ""),
        None if limit.max_waiting is None else f"at most {limit.max_waiting} wait",
        _HELD.get(limit.holds or ""),
        "tenants take turns" if limit.order == "fair" else None,
    )
    return "; ".join([f"{limit.max} run{verb} at a time{of}", *filter(None, options)])


def _unique_words(unique: HandlerUnique) -> str:
    """Return ``one job of payload.day until its end; another submission is refused``."""
    until = unique.until
    end = f"its {until}" if isinstance(until, str) else f"{duration(until)} after its submission"
    conflict = _ON_CONFLICT.get(unique.on_conflict, unique.on_conflict)
    return f"one job of {unique.key} until {end}; {conflict}"


def _debounce_words(debounce: HandlerDebounce) -> str:
    """Return ``one job of payload.shop, 10 s after the last submission``, and the options."""
    longest = debounce.max_wait_seconds
    latest = "" if longest is None else f", at most {duration(longest)} after the first"
    payload = "; it has the first payload" if debounce.mode == "first" else ""
    wait = f"{duration(debounce.wait_seconds)} after the last submission"
    return f"one job of {debounce.key}, {wait}{latest}{payload}"


def _payload_words(schema: Schema) -> str:
    """Return the fields of an object, else the words for its type, on one line."""
    fields = _resolved(schema, schema).get("properties", {})
    if not fields:
        return _type_words(schema, schema, 0)
    required = _resolved(schema, schema).get("required", ())
    return ", ".join(name if name in required else f"{name}?" for name in fields)


def _field_rows(root: Schema) -> Iterator[tuple[str, ...]]:
    schema = _resolved(root, root)
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        described = {**_resolved(field, root), **field} if isinstance(field, Mapping) else {}
        default = json.dumps(described["default"]) if "default" in described else ""
        yield (
            name,
            _type_words(field, root, 0),
            "yes" if name in required else "no",
            default,
            str(described.get("description", "")),
        )


def _resolved(schema: Any, root: Schema) -> Schema:
    """Return the schema that a reference names, else the schema itself."""
    for _ in range(MAX_DEPTH):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema:
            return schema
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2])
    return {}


def _type_words(schema: Any, root: Schema, depth: int) -> str:
    """Return a type as people write it: ``Line[]``, ``string (date-time) or null``."""
    found = _resolved(schema, root)
    if depth > MAX_DEPTH or not found:
        return "any"
    if "const" in found:
        return json.dumps(found["const"])
    if "enum" in found:
        return " | ".join(map(json.dumps, found["enum"]))
    for several in ("anyOf", "oneOf"):
        if several in found:
            each = (_type_words(one, root, depth + 1) for one in found[several])
            return " or ".join(dict.fromkeys(each))
    kind = found.get("type", "any")
    if kind == "array":
        return f"{_type_words(found.get('items', {}), root, depth + 1)}[]"
    if kind == "object":
        return str(found.get("title", kind))
    words = " or ".join(kind) if isinstance(kind, list) else str(kind)
    return f"{words} ({found['format']})" if "format" in found else words
