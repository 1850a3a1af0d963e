"""Hostile bodies: nesting, numbers, halves of characters, ambiguity, bytes that are no text."""

from __future__ import annotations

import json
from collections.abc import Iterator

from proof.api.attacks import REFUSED, Attack, request

KIND = "body"
TAKEN = frozenset({200, 201})
EITHER = REFUSED | TAKEN
MEGABYTE = 1_000_000

TAKERS = (
    ("POST", "/v1/jobs"),
    ("POST", "/v1/jobs/batch"),
    ("PATCH", "/v1/jobs/one"),
    ("POST", "/v1/jobs/cancel"),
    ("POST", "/v1/jobs/redrive"),
    ("POST", "/v1/jobs/discard"),
    ("POST", "/v1/jobs/one/discard"),
    ("PUT", "/v1/schedules/one"),
    ("POST", "/v1/schedules/one/pause"),
    ("POST", "/v1/schedules/one/resume"),
    ("POST", "/v1/schedules/one/trigger"),
    ("POST", "/v1/schedules/one/backfill"),
    ("POST", "/v1/schedules/preview"),
    ("PUT", "/v1/calendars/one"),
    ("POST", "/v1/resweep"),
)
"""Every route that takes a body."""

NO_JSON: dict[str, bytes] = {
    "a comment": b'{"handler": "echo" /* now */}',
    "a trailing comma": b'{"handler": "echo",}',
    "single quotes": b"{'handler': 'echo'}",
    "no quotes": b"{handler: echo}",
    "two values": b'{"handler": "echo"}{"handler": "echo"}',
    "an unclosed string": b'{"handler": "echo',
    "a raw line break in a string": b'{"handler": "ec\nho"}',
    "a raw NUL in a string": b'{"handler": "ec\x00ho"}',
    "NUL bytes": b"\x00\x00\x00\x00",
    # Python's own white space, and not JSON's.
    "a control character": b"\x1d",
    "a vertical tab": b" \x0b ",
    "an em space": b"\xe2\x80\x83",
    "a byte order mark": b'\xef\xbb\xbf{"handler": "echo"}',
    "UTF-16": '{"handler": "echo"}'.encode("utf-16"),
    "UTF-32": '{"handler": "echo"}'.encode("utf-32"),
    "a byte that is no UTF-8": b'{"handler": "echo\xff"}',
    "a surrogate in UTF-8": b'{"handler": "\xed\xa0\x80"}',
    "an overlong slash": b'{"handler": "\xc0\xaf"}',
    "a character beyond Unicode": b'{"handler": "\xf4\x90\x80\x80"}',
    "NaN": b'{"handler": "echo", "payload": NaN}',
    "Infinity": b'{"handler": "echo", "payload": Infinity}',
    "-Infinity": b'{"handler": "echo", "delay_seconds": -Infinity}',
    "a number with a plus": b'{"handler": "echo", "delay_seconds": +1}',
    "a hexadecimal number": b'{"handler": "echo", "delay_seconds": 0x10}',
    "a leading zero": b'{"handler": "echo", "delay_seconds": 010}',
    "5,000 digits": b'{"handler": "echo", "payload": 1' + b"0" * 5000 + b"}",
    "5,000 digits in a field": b'{"handler": "echo", "timeout_seconds": 1' + b"0" * 5000 + b"}",
    "a name given twice": b'{"handler": "echo", "handler": "report"}',
    "a name given twice by an escape": b'{"handler": "echo", "h\\u0061ndler": "report"}',
    "a name given twice deep inside": b'{"handler": "echo", "payload": [{"a": 1, "a": 2}]}',
    "100,000 arrays": b"[" * 100_000 + b"]" * 100_000,
    "100,000 open arrays": b"[" * 100_000,
    "100,000 objects": b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "100,000 arrays in a payload": (
        b'{"handler": "echo", "payload": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    ),
    "a form": b"handler=echo&payload=1",
    "XML with an entity": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>',
    "YAML": b"!!python/object/apply:os.system ['true']",
    "a pickle": b"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94.",
}
"""Bodies that are no JSON, or whose readers would disagree about them: 400 on every route."""

NO_OBJECT: dict[str, bytes] = {
    "null": b"null",
    "true": b"true",
    "a number": b"1",
    "a string": b'"handler"',
    "an array": b"[]",
    "an array of pairs": b'[["handler", "echo"]]',
}

NUMBERS = (
    "1e400",
    "-1e400",
    "1e308",
    "-1",
    "-0.0",
    "1e-400",
    "1" + "0" * 400,
    "0.1",
    "true",
    '"1"',
)
NUMBER_FIELDS = ("delay_seconds", "timeout_seconds", "retention_seconds")
RETRY_FIELDS = ("max_attempts", "base_seconds", "max_delay_seconds")

HALF = '"\\ud800"'
"""Half of a surrogate pair: legal as JSON's escape, and no text."""

STRANGE_PAYLOADS: dict[str, str] = {
    "a half in a payload": HALF,
    "a half in a payload's name": f"{{{HALF}: 1}}",
    "two halves the wrong way round": '"\\udc00\\ud800"',
    "NUL in a payload": '"\\u0000"',
    "a name of a megabyte": json.dumps({"k" * MEGABYTE: 1}),
    "a text of a megabyte": json.dumps("x" * MEGABYTE),
    "a text of a megabyte that escaping doubles": json.dumps('"' * MEGABYTE),
    "20,000 names": json.dumps({f"k{n}": n for n in range(20_000)}),
    "200,000 numbers": "[" + ",".join("0" * 200_000) + "]",
    "100 deep": "[" * 100 + "]" * 100,
    "500 deep": "[" * 500 + "]" * 500,
    "4,000 digits": "1" + "0" * 4000,
    "1e400": "1e400",
    "1e-400": "1e-400",
    "names of Python and JavaScript": '{"__proto__": {"a": 1}, "constructor": 1, "__class__": 1}',
    "a reference": '{"$ref": "file:///etc/passwd", "$schema": "http://127.0.0.1:1/"}',
}


def hostile_bodies() -> Iterator[Attack]:
    """Every hostile body, to every route that takes one where that makes a difference."""
    for method, path in TAKERS:
        for name, body in NO_JSON.items():
            yield request(KIND, name, method, path, body, allowed={400})
        for name, body in NO_OBJECT.items():
            yield request(KIND, name, method, path, body)
        yield request(KIND, "white space", method, path, b" \r\n\t", allowed=EITHER)
        yield request(KIND, "an unknown field", method, path, b'{"admin": true}')
        long_name = json.dumps({"k" * MEGABYTE: 1}).encode()
        yield request(KIND, "an unknown name of a megabyte", method, path, long_name)
        many = json.dumps({f"k{n}": n for n in range(20_000)}).encode()
        yield request(KIND, "20,000 unknown names", method, path, many)
    yield from _strange_values()
    yield from _sizes()


def _strange_values() -> Iterator[Attack]:
    for name, payload in STRANGE_PAYLOADS.items():
        job = f'{{"handler": "echo", "payload": {payload}}}'
        for path, text in (("/v1/jobs", job), ("/v1/jobs/batch", f'{{"jobs": [{job}]}}')):
            yield request(KIND, name, "POST", path, text.encode(), allowed=EITHER)
        schedule = f'{{"handler": "echo", "expression": "@daily", "payload": {payload}}}'
        yield request(KIND, name, "PUT", "/v1/schedules/strange", schedule.encode(), allowed=EITHER)
    for number in NUMBERS:
        for field in NUMBER_FIELDS:
            body = f'{{"handler": "echo", "{field}": {number}}}'.encode()
            yield request(KIND, f"{field} {number[:9]}", "POST", "/v1/jobs", body, allowed=EITHER)
        for field in RETRY_FIELDS:
            body = f'{{"handler": "echo", "retry": {{"{field}": {number}}}}}'.encode()
            yield request(KIND, f"{field} {number[:9]}", "POST", "/v1/jobs", body, allowed=EITHER)


def _sizes() -> Iterator[Attack]:
    job = '{"handler": "echo"}'
    sizes = {
        "a body of 6 MB": json.dumps({"handler": "echo", "payload": "x" * 6_000_000}),
        "a payload just too large": json.dumps({"handler": "echo", "payload": "x" * 2_500_000}),
        "a body of 7 MB": json.dumps({"handler": "echo", "payload": "x" * 7_000_000}),
    }
    for name, text in sizes.items():
        yield request(KIND, name, "POST", "/v1/jobs", text.encode(), allowed={413})
    many = f'{{"jobs": [{",".join([job] * 501)}]}}'
    yield request(KIND, "a batch of 501", "POST", "/v1/jobs/batch", many.encode(), allowed={422})
    large = json.dumps({"jobs": [{"handler": "echo", "payload": "x" * 2_400_000}] * 2})
    yield request(
        KIND, "a batch too large", "POST", "/v1/jobs/batch", large.encode(), allowed={413}
    )
