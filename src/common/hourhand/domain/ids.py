"""Ids and keys: built from length-prefixed or character-restricted parts.

No id, tenant or key can smuggle in a separator, so no two different inputs share a key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
from datetime import datetime
from typing import Any

from hourhand.domain.times import to_ms

OWN_ID = re.compile(r"[A-Za-z0-9_-]{1,100}")
"""What a caller may choose as a job's id. Derived ids hold a dot, so the two never meet."""

JOB_ID = re.compile(r"[A-Za-z0-9_-]{1,100}|[ckou]\.[a-z2-7]{32}")
_CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
_RANDOM_BITS = 60
_UNSENDABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")


def length_prefixed(*parts: str) -> bytes:
    """Join ``parts`` so that no two different lists of parts give the same bytes."""
    encoded = [part.encode("utf-8", errors="surrogatepass") for part in parts]
    return b"".join(str(len(part)).encode() + b":" + part for part in encoded)


def _digest32(data: bytes) -> str:
    """Return 160 bits of SHA-256 as 32 lower-case base32 characters."""
    return base64.b32encode(hashlib.sha256(data).digest()[:20]).decode().lower()


def random_job_id(now: datetime, random_bits: int) -> str:
    """Return a new id that sorts by time of creation: 9 characters of time and 12 of chance.

    ``random_bits`` holds 60 bits of chance.
    """
    number = (to_ms(now) << _RANDOM_BITS) | (random_bits & ((1 << _RANDOM_BITS) - 1))
    digits = []
    for _ in range(21):
        number, rest = divmod(number, 32)
        digits.append(_CROCKFORD[rest])
    return "".join(reversed(digits))


SECRET_BYTES = 32
"""The length of an installation's secret: that of the hash it is used with (RFC 2104)."""


def _keyed32(secret: bytes, data: bytes) -> str:
    """Return 160 bits of HMAC-SHA256 as 32 lower-case base32 characters."""
    digest = hmac.digest(secret, data, "sha256")
    return base64.b32encode(digest[:20]).decode().lower()


def job_id_for_key(secret: bytes, tenant: str | None, idempotency_key: str) -> str:
    """Return the one job id that belongs to ``idempotency_key`` of ``tenant``.

    ``secret``: the installation's. Without it, a caller who may read jobs and guesses a key could
    read the job of another caller.
    """
    presence = "0" if tenant is None else "1"
    parts = length_prefixed("job", presence, tenant or "", idempotency_key)
    return "k." + _keyed32(secret, parts)


KEYED = "trigger."


def occurrence_job_id(secret: bytes, schedule_id: str, nominal: datetime, salt: str = "") -> str:
    """Return the one job id of a schedule's nominal time.

    Every component that materialises it puts the same job, however often. ``secret``: the
    installation's, so that no id follows from the name of a schedule. ``salt`` distinguishes the
    jobs that were created for it by hand, or by a backfill that runs it again. One that begins with
    `KEYED` stands for the idempotency key of a trigger, whatever its time.
    """
    at = "" if salt.startswith(KEYED) else str(to_ms(nominal))
    parts = length_prefixed("occurrence", schedule_id, at, salt)
    return "o." + _keyed32(secret, parts)


def unique_job_id(secret: bytes, digest: str, incarnation: int) -> str:
    """Return the one job id of an incarnation of a unique key, which ``digest`` identifies."""
    parts = length_prefixed("unique", digest, str(incarnation))
    return "u." + _keyed32(secret, parts)


def idempotency_record_key(tenant: str | None, idempotency_key: str) -> str:
    """Return the partition key of the record that guards execution under this key."""
    presence = "0" if tenant is None else "1"
    return _digest32(length_prefixed("record", presence, tenant or "", idempotency_key))


def message_group(tenant: str | None) -> str | None:
    """Return the SQS ``MessageGroupId`` of a tenant: 1..128 safe characters, hashed if not.

    ``None`` without a tenant: SQS takes each such message for a tenant of its own (SQS guide, how
    fair queues work). A group of all of them would be the noisy neighbour of a busy queue, and
    each of its requests would be charged as a fair queue's.
    """
    if tenant is None:
        return None
    if re.fullmatch(r"[A-Za-z0-9_-]{1,100}", tenant):
        return f"t.{tenant}"
    return "h." + _digest32(length_prefixed(tenant))


def trace_id_for(job_id: str) -> str:
    """Return the W3C trace id (32 hex digits) of a job whose submitter brought none."""
    return hashlib.sha256(length_prefixed("trace", job_id)).hexdigest()[:32]


def canonical_json(value: Any) -> str:
    """Return ``value`` as the one JSON text that equal values share. Raises as `json_text`."""
    return json_text(value, sort_keys=True)


def json_text(value: Any, *, sort_keys: bool = False) -> str:
    """Return ``value`` as JSON text, with the keys of its objects in their order.

    What JSON may hold and others may not stays escaped: half a surrogate pair, which is not
    UTF-8, and U+FFFE and U+FFFF, which SQS rejects. Raises `ValueError` for NaN and infinities
    and `TypeError` for what JSON cannot hold.
    """
    text = json.dumps(
        value,
        sort_keys=sort_keys,
        separators=(",", ":"),
        allow_nan=False,
        ensure_ascii=False,
    )
    return _UNSENDABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def json_integer(digits: str) -> int | float:
    """Return the value of an integer in a JSON text: for ``parse_int`` of Python's own reader.

    That reads ``-0`` as 0, which is another number: division and `math.copysign` distinguish them.
    """
    return -0.0 if digits == "-0" else int(digits)


def is_json(text: str) -> bool:
    """Whether Python reads ``text`` as JSON: whether a handler can be given it."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def short_digest(*parts: str, characters: int = 16) -> str:
    """Return the digest of ``parts``, shortened: 5 bits a character.

    The first part is a label, so that digests of two kinds cannot be equal.
    """
    return _digest32(length_prefixed(*parts))[:characters]


DIGEST10_BYTES = 10
"""The bytes of a short digest of 16 characters."""


def digest10(*parts: str) -> bytes:
    """Return the `short_digest` of ``parts`` as 10 bytes, as a job stores it."""
    return hashlib.sha256(length_prefixed(*parts)).digest()[:DIGEST10_BYTES]


def digest_text(digest: bytes) -> str:
    """Return what `digest10` made as the 16 characters of `short_digest`."""
    return base64.b32encode(digest).decode().lower()


def content_hash(*parts: str) -> str:
    """Return 160 bits that identify ``parts``, as 32 characters."""
    return _digest32(length_prefixed(*parts))


def listing_tie(job_id: str) -> str:
    """Return 10 characters that order jobs created in the same millisecond.

    A hash, not the id: a page's cursor must not name a job that its reader may not see.
    """
    return _digest32(length_prefixed("listing", job_id))[:10]
