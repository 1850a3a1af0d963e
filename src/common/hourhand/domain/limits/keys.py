"""Keys of limits: where the key of a job is found, and what identifies it.

A key is a JSON value. Its digest is that of the canonical JSON, so that ``1`` and ``"1"`` are
different keys and a value of any size is a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from hourhand.domain.errors import InvalidInput
from hourhand.domain.ids import canonical_json, digest10

MAX_KEY_PATH_CHARACTERS = 256
MAX_KEY_PATH_FIELDS = 20
MAX_KEY_TEXT_BYTES = 64
"""What is shown of a key; the digest identifies it."""

_LITERAL = re.compile(r"[^\s.\x00-\x1f\x7f]+")
_FIELD = re.compile(r"[^.\x00-\x1f\x7f]+")
_TAG = re.compile(r"[^:\x00-\x1f\x7f]{1,64}")
_CUT = "…"

_ALLOWED = (
    "handler, tenant, tags.<name>, payload, payload.<field>, payload.<field>.<field> or a word "
    "without a dot or a space, which is the key itself"
)


class InvalidLimit(InvalidInput):
    """A limit cannot be declared so: an option is wrong, or two contradict each other."""

    code = "invalid_limit"


class KeySource(StrEnum):
    """Where the key of a job comes from."""

    HANDLER = "handler"
    TENANT = "tenant"
    TAGS = "tags"
    PAYLOAD = "payload"
    LITERAL = "literal"


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyFields:
    """What the key of a limit is taken from. ``payload`` is called only where it is needed."""

    tenant: str | None
    tags: Mapping[str, str]
    payload: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class KeyPath:
    """A ``key=`` as it was parsed. ``fields``: those of the payload, the tag, or the literal."""

    source: KeySource
    fields: tuple[str, ...] = ()

    @property
    def divides(self) -> bool:
        """Whether jobs of one handler have different keys: each key is a limit of its own."""
        return self.source not in {KeySource.HANDLER, KeySource.LITERAL}

    def value_of(self, job: KeyFields) -> Any:
        """Return the key of a job as a JSON value; ``None`` where the job lacks the field.

        The key ``handler`` has no value: `key_digest` distinguishes it from null.
        """
        match self.source:
            case KeySource.TENANT:
                return job.tenant
            case KeySource.TAGS:
                return job.tags.get(self.fields[0])
            case KeySource.PAYLOAD:
                return _field_of(job.payload(), self.fields)
            case KeySource.LITERAL:
                return self.fields[0]
        return None

    def digest(self, limit_id: str, value: Any) -> bytes:
        """Return what identifies the limit of this id and the key ``value``."""
        if self.source is KeySource.HANDLER:
            return digest10("limit", limit_id)
        return key_digest(limit_id, value)

    def text(self, value: Any) -> str | None:
        """Return what is shown of a key; ``None`` where the limit has a single one."""
        return None if self.source is KeySource.HANDLER else key_text(value)


def key_digest(limit_id: str, value: Any) -> bytes:
    """Return what identifies the limit of this id and the key ``value``, which is JSON."""
    return digest10("limit", limit_id, key_json(value))


def key_json(value: Any) -> str:
    """Return a key as the text that equal values share: 1 is 1.0, and 0 is -0.0."""
    return canonical_json(_with_whole_numbers(value))


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _with_whole_numbers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_whole_numbers(each) for each in value]
    return value


def key_text(value: Any) -> str:
    """Return a key as it is shown: a text as it is, else its JSON, of at most 64 bytes."""
    shown = value if isinstance(value, str) else key_json(value)
    encoded = shown.encode("utf-8", errors="replace")
    if len(encoded) <= MAX_KEY_TEXT_BYTES:
        return encoded.decode()
    room = MAX_KEY_TEXT_BYTES - len(_CUT.encode())
    return encoded[:room].decode(errors="ignore") + _CUT


def parse_key_path(text: object, option: str = "key") -> KeyPath:
    """Read a ``key=``. Raises `InvalidLimit` naming what is allowed.

    A word with a dot must begin with ``tags.`` or ``payload.``: so a misspelt ``paylod.account``
    is refused, and does not become one key for all jobs.
    """
    if not isinstance(text, str) or not 0 < len(text) <= MAX_KEY_PATH_CHARACTERS:
        raise _unparsable(option, text)
    source, dot, rest = text.partition(".")
    if source in {KeySource.HANDLER, KeySource.TENANT} and not dot:
        return KeyPath(KeySource(source))
    if source == KeySource.TAGS:
        if not _TAG.fullmatch(rest):
            raise _unparsable(option, text)
        return KeyPath(KeySource.TAGS, (rest,))
    if source == KeySource.PAYLOAD:
        fields = tuple(rest.split(".")) if dot else ()
        if len(fields) > MAX_KEY_PATH_FIELDS or not all(map(_FIELD.fullmatch, fields)):
            raise _unparsable(option, text)
        return KeyPath(KeySource.PAYLOAD, fields)
    if not _LITERAL.fullmatch(text):
        raise _unparsable(option, text)
    return KeyPath(KeySource.LITERAL, (text,))


def _field_of(value: Any, fields: tuple[str, ...]) -> Any:
    for name in fields:
        if not isinstance(value, Mapping) or name not in value:
            return None
        value = value[name]
    return value


def _unparsable(option: str, text: object) -> InvalidLimit:
    return InvalidLimit(f"{option} must be {_ALLOWED}, not {text!r}.")
