"""Hostile bodies as large as they may be: nothing about them may cost more than their length."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count

from proof.api.attacks import REFUSED, Attack, request

KIND = "size"
EITHER = REFUSED | {200, 201}

BODY_BYTES = 5_900_000
"""Just below the 6 MB of a Lambda event."""

PAYLOAD_BYTES = 2_400_000
"""Just below what a payload, or the payloads of a batch, may have."""

SCHEDULE_BYTES = 250_000
"""Just below what the payload of a schedule may have."""

WHOLE_BODIES_TO = (("POST", "/v1/jobs"), ("PUT", "/v1/calendars/one"))
"""All routes read their bodies by one reader; these two come to very different models."""

Values = Callable[[int], str]
"""Returns one JSON value of about so many bytes."""


def _filled(size: int, opening: str, element: Callable[[int], str], closing: str) -> str:
    """Return elements with commas between them, as many as fit."""
    parts, length = [], 0
    for number in count():
        part = element(number)
        length += len(part) + 1
        if length > size:
            break
        parts.append(part)
    return opening + ",".join(parts) + closing


def _named_once(size: int) -> str:
    return _filled(size, "{", lambda number: f'"k{number}":0', "}")


def _last_name_twice(size: int) -> str:
    names = _named_once(size - 20)
    return names[:-1] + ',"twice":0,"twice":0}'


def _every_name_twice(size: int) -> str:
    half = _named_once(size // 2)
    return half[:-1] + "," + half[1:]


def _one_name(size: int) -> str:
    return _filled(size, "{", lambda _: '"a":0', "}")


VALUES: dict[str, Values] = {
    "as many names as fit": _named_once,
    "as many names, the last given twice": _last_name_twice,
    "as many names, each given twice": _every_name_twice,
    "one name, as often as it fits": _one_name,
    "objects of two names that are one": lambda size: _filled(
        size, "[", lambda _: '{"a":0,"a":0}', "]"
    ),
    "empty objects": lambda size: _filled(size, "[", lambda _: "{}", "]"),
    "objects of one name": lambda size: _filled(size, "[", lambda n: f'{{"k{n}":{n}}}', "]"),
    "arrays as deep as they may be, side by side": lambda size: _filled(
        size, "[", lambda _: "[" * 90 + "]" * 90, "]"
    ),
    "objects as deep as they may be, side by side": lambda size: _filled(
        size, "[", lambda _: '{"a":' * 90 + "0" + "}" * 90, "]"
    ),
    "open arrays": lambda size: "[" * size,
    "open objects": lambda size: '{"a":' * (size // 5),
    "arrays": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "zeroes": lambda size: _filled(size, "[", lambda _: "0", "]"),
    "integers of as many digits as are read": lambda size: _filled(
        size, "[", lambda _: "9" * 4_300, "]"
    ),
    "one integer": lambda size: "9" * size,
    "one fraction": lambda size: "0." + "1234567890" * (size // 10),
    "one fraction of zeroes": lambda size: "0." + "0" * size + "1",
    "one exponent": lambda size: "1e" + "9" * size,
    "fractions": lambda size: _filled(size, "[", lambda _: "0." + "9" * 700, "]"),
    "negative zeroes": lambda size: _filled(size, "[", lambda _: "-0", "]"),
    "one text": lambda size: '"' + "x" * size + '"',
    "one text of quotation marks": lambda size: '"' + '\\"' * (size // 2) + '"',
    "one text of escapes": lambda size: '"' + "\\u0041" * (size // 6) + '"',
    "one text of halves of characters": lambda size: '"' + "\\ud800" * (size // 6) + '"',
    "one text of characters that SQS refuses": lambda size: '"' + "\\uffff" * (size // 6) + '"',
    "one text of emoji": lambda size: '"' + "\U0001f600" * (size // 4) + '"',
    "an open text of backslashes": lambda size: '"' + "\\" * (size | 1),
    "one name that is the whole": lambda size: '{"' + "k" * size + '":0}',
    "blanks": lambda size: "[" + " " * size + "]",
    "blanks that end in nothing": lambda size: "[" + " " * size,
    "lines": lambda size: "[" + "\n" * size + "x",
    "texts that are all different": lambda size: _filled(size, "[", lambda n: f'"{n}"', "]"),
    "dates": lambda size: _filled(size, "[", lambda _: '"2026-12-25"', "]"),
    "dates that do not exist": lambda size: _filled(size, "[", lambda _: '"2026-02-31"', "]"),
}

FIELDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("POST", "/v1/jobs"): ("payload", "tags", "retry", "handler", "idempotency_key", "run_at"),
    ("POST", "/v1/jobs/batch"): ("jobs",),
    ("PATCH", "/v1/jobs/one"): ("payload", "run_at"),
    ("POST", "/v1/jobs/cancel"): ("tag", "status", "cursor", "created_after"),
    ("PUT", "/v1/schedules/one"): ("payload", "expression", "exclude", "timezone", "tags", "note"),
    ("POST", "/v1/schedules/preview"): ("schedule", "after"),
    ("POST", "/v1/schedules/one/backfill"): ("from",),
    ("PUT", "/v1/calendars/one"): ("exclude",),
}

IN_FIELDS = (
    "as many names as fit",
    "objects of one name",
    "one text",
    "texts that are all different",
    "dates that do not exist",
)
"""What is sent in every field; a payload of a job is all of the values in turn."""

LONG_EXPRESSIONS: dict[str, str] = {
    "numbers": "cron(" + ",".join(["0"] * 450) + " * * * ? *)",
    "ranges": ",".join(["0-59/1"] * 140) + " * * * *",
    "names": "0 0 * * " + ",".join(["MON-SUN"] * 120),
    "blanks": "0" + " " * 990 + "* * * *",
    "digits": "rate(" + "9" * 980 + " minutes)",
    "slashes": "*" + "/1" * 490 + " * * * *",
    "brackets": "cron" + "(" * 990,
    "a time": "at(2027-01-01T09:00" + ":00" * 300 + ")",
}
"""As long as an expression may be."""


def hostile_sizes(share: float = 1.0) -> Iterator[Attack]:
    """Every large value as a whole body, as a payload, and some in each field.

    ``share``: of the sizes that are allowed.
    """
    for name, value in VALUES.items():
        whole = value(round(BODY_BYTES * share)).encode()
        for method, path in WHOLE_BODIES_TO:
            yield request(KIND, name, method, path, whole)
        yield _in_field(name, value, share, "POST", "/v1/jobs", "payload")
    for (method, path), fields in FIELDS.items():
        for field in fields:
            for name in IN_FIELDS:
                yield _in_field(name, VALUES[name], share, method, path, field)
    yield from _many_jobs(share)
    yield from _many_expressions()


def _in_field(name: str, value: Values, share: float, method: str, path: str, field: str) -> Attack:
    is_schedule = path.startswith("/v1/schedules")
    size = round((SCHEDULE_BYTES if is_schedule else PAYLOAD_BYTES) * share)
    others = ""
    if path == "/v1/jobs" and field != "handler":
        others = '"handler": "put-off", '
    if (method, path) == ("PUT", "/v1/schedules/one"):
        others = '"handler": "echo", "paused": true, '
        others += "" if field == "expression" else '"expression": "@yearly", '
    body = f'{{{others}"{field}": {value(size)}}}'
    return request(KIND, f"{name} as {field}", method, path, body.encode(), allowed=EITHER)


def _many_jobs(share: float) -> Iterator[Attack]:
    def batch(*jobs: str) -> bytes:
        return f'{{"jobs": [{",".join(jobs)}]}}'.encode()

    each = round(BODY_BYTES * share) // 500 - 20
    faults = _filled(each, "{", lambda number: f'"k{number}":0', "}")
    payloads = round(PAYLOAD_BYTES * share) // 500 - 60
    batches: dict[str, bytes] = {
        "500 jobs, each with as many unknown names as fit": batch(*[faults] * 500),
        "500 jobs that are numbers": batch(*["0"] * 500),
        "500 jobs of no handler": batch(*['{"handler": "none"}'] * 500),
        "500 jobs under one id": batch(*['{"handler": "echo", "id": "one"}'] * 500),
        "500 jobs under one new key": batch(
            *[
                f'{{"handler": "put-off", "idempotency_key": "many", "payload": {number}}}'
                for number in range(500)
            ]
        ),
        "500 jobs with tags that are too many": batch(
            *['{"handler": "echo", "tags": ' + _named_once(each - 40) + "}"] * 500
        ),
        "500 jobs with payloads of names": batch(
            *[
                '{"handler": "put-off", "delay_seconds": 86400, "payload": '
                + _named_once(payloads)
                + "}"
            ]
            * 500
        ),
    }
    for name, body in batches.items():
        yield request(KIND, name, "POST", "/v1/jobs/batch", body, allowed=EITHER)


def _many_expressions() -> Iterator[Attack]:
    for name, expression in LONG_EXPRESSIONS.items():
        several = json.dumps([expression] * 20)
        for method, path, body in (
            (
                "PUT",
                "/v1/schedules/one",
                f'{{"handler": "echo", "paused": true, "expression": {several}}}',
            ),
            (
                "PUT",
                "/v1/schedules/one",
                '{"handler": "echo", "paused": true, "expression": "@daily", '
                f'"exclude": {several}}}',
            ),
            ("PUT", "/v1/calendars/one", f'{{"exclude": {several}}}'),
            (
                "POST",
                "/v1/schedules/preview",
                f'{{"schedule": {{"expression": {several}}}, "count": 1}}',
            ),
        ):
            told = f"20 long expressions of {name}"
            yield request(KIND, told, method, path, body.encode(), allowed=EITHER)
