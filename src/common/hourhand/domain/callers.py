"""Callers: the people and programs that request something of the API.

The identity of a caller, such as an ARN, is longer than all else in an event. So events, leases and
schedules name a caller by a short *key*, and the control table keeps the identity of each key once.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping

LOCAL = "local"
"""The identity of every caller on this machine, which nothing authenticates. It is its own key."""

UNKNOWN = "unknown:"
"""What a key is shown with whose identity is not on record."""

MAX_IDENTITY_CHARACTERS = 2048
"""The longest ARN (IAM API, ARNs). Of a longer identity the beginning is kept."""

MAX_NAME_CHARACTERS = 32

_MARK = "@"
_KEY_BYTES = 6
_ANONYMOUS = "caller"


def caller_key(identity: str, number: int = 0) -> str:
    """Return a key of an identity: nine characters, of which the first marks it.

    Two identities may share a key, by chance or because somebody looked for such a name. The first
    that is recorded has it, and the other one takes the key of the next ``number``.
    """
    if identity == LOCAL:
        return LOCAL
    digest = hashlib.sha256(f"{number}:{identity}".encode(errors="replace")).digest()
    return _MARK + base64.urlsafe_b64encode(digest[:_KEY_BYTES]).decode()


def is_caller(actor: str) -> bool:
    """Whether an actor is the key of a caller, and not a component of Hourhand."""
    return actor == LOCAL or is_key(actor)


def is_key(actor: str) -> bool:
    """Whether an actor is a key whose identity is on record elsewhere."""
    return actor.startswith(_MARK)


def identity_of(actor: str, known: Mapping[str, str]) -> str | None:
    """Return the identity of the caller that an event names; ``None``: it names a component.

    ``known``: identities by their keys. A key without one is shown as it is.
    """
    if not is_caller(actor):
        return None
    return LOCAL if actor == LOCAL else known.get(actor) or UNKNOWN + actor.removeprefix(_MARK)


def name_of(identity: str) -> str:
    """Return the short name of a caller, in at most 32 of ``A-Z a-z 0-9 _ -``.

    Of a longer name the end is kept, which says most: of an assumed role, its session.
    """
    name = identity
    if name.startswith("arn:"):
        name = re.sub(r"^(assumed-role|user|federated-user)/", "", name.rsplit(":", 1)[-1])
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name)[-MAX_NAME_CHARACTERS:].strip("-") or _ANONYMOUS
