"""What is kept beside a job's hot item, under the same partition key: texts and errors.

Each has an end of its own (``x``, for TTL), set when it is written: to set it at the job's end
would cost the write units of the whole item again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hourhand.aws.items import Item, Value, expiry_seconds, number, read_text, text
from hourhand.domain.model import ErrorInfo, Outcome

_TEXT_PREFIX = "T#"
_ERROR_PREFIX = "E#"

MAX_TRACEBACK_BYTES = 250_000
MAX_MESSAGE_BYTES = 50_000
"""With both an error stays below the 400 KB of an item, whatever a handler raises."""


def text_key(job_id: str, item: str) -> dict[str, Value]:
    """Return the key of a text beside a job."""
    return {"p": text(job_id), "s": text(_TEXT_PREFIX + item)}


def text_item(job_id: str, item: str, content: str, keep_until: datetime) -> dict[str, Value]:
    """Return a payload or result as an item of its own."""
    return {
        **text_key(job_id, item),
        "i": text(content),
        "x": number(expiry_seconds(keep_until)),
    }


def error_item(
    job_id: str, token: int, error: ErrorInfo, outcome: Outcome, keep_until: datetime
) -> dict[str, Value]:
    """Return the error of the attempt with this fencing token.

    Of a longer message the beginning is kept, of a longer traceback the end: it names the line
    that raised.
    """
    item: dict[str, Value] = {
        "p": text(job_id),
        "s": text(f"{_ERROR_PREFIX}{token:06d}"),
        "ty": text(_beginning(error.type)),
        "ms": text(_beginning(error.message)),
        "oc": text(outcome),
        "x": number(expiry_seconds(keep_until)),
    }
    if not error.retryable:
        item["nr"] = {"BOOL": True}
    if error.traceback is not None:
        item["tb"] = text(_end(error.traceback))
    return item


def read_kept_text(item: Item) -> str:
    """Read what `text_item` wrote."""
    return read_text(item["i"])


def text_name(item: Item) -> str | None:
    """Return under which name a text is kept, or ``None`` where the item is none."""
    key = read_text(item["s"])
    return key.removeprefix(_TEXT_PREFIX) if key.startswith(_TEXT_PREFIX) else None


def error_token(item: Item) -> int | None:
    """Return of which attempt an item tells the error, or ``None`` where it tells of none."""
    key = read_text(item["s"])
    return int(key.removeprefix(_ERROR_PREFIX)) if key.startswith(_ERROR_PREFIX) else None


def read_error(item: Item) -> ErrorInfo:
    """Read what `error_item` wrote."""
    fields: dict[str, Any] = {"type": read_text(item["ty"]), "message": read_text(item["ms"])}
    if "tb" in item:
        fields["traceback"] = read_text(item["tb"])
    return ErrorInfo(retryable="nr" not in item, **fields)


def _beginning(words: str) -> str:
    # A lone surrogate cannot be sent; a question mark says that something was there.
    return words.encode(errors="replace")[:MAX_MESSAGE_BYTES].decode(errors="ignore")


def _end(words: str) -> str:
    return words.encode(errors="replace")[-MAX_TRACEBACK_BYTES:].decode(errors="ignore")
