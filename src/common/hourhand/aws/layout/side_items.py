"""What is kept beside a job's hot item, under the same partition key: texts and failures.

Each has ``v``, the version of its layout, and an end of its own (``x``, for TTL), set when it is
written: to set it at the job's end would cost the write units of the whole item again.
"""

from __future__ import annotations

from datetime import datetime

from hourhand.aws.layout.values import (
    Codec,
    Item,
    Value,
    always,
    by_field,
    expiry_seconds,
    flag,
    number,
    read_fields,
    read_int,
    read_text,
    read_time,
    stored_fields,
    text,
    time,
)
from hourhand.aws.layout.versions import Kind, require_known, version_value
from hourhand.domain.jobs.job import Attempt, ErrorInfo, Outcome

TEXT_PREFIX = "C#"
FAILURE_PREFIX = "E#"
"""The beginnings of sort keys: texts, failures and the hot item are in this order, and the journal
and the signals of a durable run behind it."""

MAX_TRACEBACK_BYTES = 250_000
MAX_MESSAGE_BYTES = 50_000
"""With both an error stays below the 400 KB of an item, whatever a handler raises."""


def text_key(job_id: str, item: str) -> dict[str, Value]:
    """Return the key of a text beside a job."""
    return {"p": text(job_id), "s": text(TEXT_PREFIX + item)}


def text_item(job_id: str, item: str, content: str, keep_until: datetime) -> dict[str, Value]:
    """Return a payload or result as an item of its own."""
    return {
        **text_key(job_id, item),
        "v": version_value(Kind.TEXT),
        "i": text(content),
        "x": number(expiry_seconds(keep_until)),
    }


def failure_item(job_id: str, attempt: Attempt, keep_until: datetime) -> dict[str, Value]:
    """Return a failed attempt with its error.

    Of a longer message the beginning is kept, of a longer traceback the end: it names the line
    that raised.
    """
    error = attempt.error or ErrorInfo(type="", message="")
    return {
        "p": text(job_id),
        "s": text(f"{FAILURE_PREFIX}{attempt.token:06d}"),
        "v": version_value(Kind.FAILURE),
        **stored_fields(attempt, _ATTEMPT_CODECS),
        **stored_fields(error, _ERROR_CODECS),
        "x": number(expiry_seconds(keep_until)),
    }


def read_kept_text(item: Item) -> str:
    """Read what `text_item` wrote. Raises `WrittenByNewer`."""
    require_known(Kind.TEXT, item, read_text(item["p"]))
    return read_text(item["i"])


def text_name(item: Item) -> str | None:
    """Return under which name a text is kept, or ``None`` where the item is none."""
    key = read_text(item["s"])
    return key.removeprefix(TEXT_PREFIX) if key.startswith(TEXT_PREFIX) else None


def failure_token(item: Item) -> int | None:
    """Return the attempt whose failure an item holds, or ``None`` if it holds none."""
    key = read_text(item["s"])
    return int(key.removeprefix(FAILURE_PREFIX)) if key.startswith(FAILURE_PREFIX) else None


def read_failure(token: int, item: Item) -> Attempt:
    """Read what `failure_item` wrote. Raises `WrittenByNewer`."""
    require_known(Kind.FAILURE, item, read_text(item["p"]))
    error = ErrorInfo(**read_fields(item, _ERROR_CODECS))
    return Attempt(**read_fields(item, _ATTEMPT_CODECS), token=token, error=error)


def _beginning(words: str) -> str:
    # A lone surrogate cannot be sent; a question mark says that something was there.
    return words.encode(errors="replace")[:MAX_MESSAGE_BYTES].decode(errors="ignore")


def _end(words: str) -> str:
    return words.encode(errors="replace")[-MAX_TRACEBACK_BYTES:].decode(errors="ignore")


_ATTEMPT_CODECS = by_field(
    always("number", "a", number, read_int),
    always("worker", "w", text, read_text),
    Codec("outcome", "oc", text, lambda value: Outcome(value["S"])),
    Codec("started_at", "sa", time, read_time),
    Codec("finished_at", "fa", time, read_time),
)

_ERROR_CODECS = by_field(
    always("type", "ty", lambda words: text(_beginning(words)), read_text),
    always("message", "ms", lambda words: text(_beginning(words)), read_text),
    Codec("retryable", "nr", lambda _: flag(True), lambda _: False, default=True),
    Codec("traceback", "tb", lambda words: text(_end(words)), read_text),
)
