"""Whether a fault really befell a send: judged by what its client saw of it, and nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from proof.wire.calls import Call
from proof.wire.faults import HEADER, INJECTED, Fault

Key = tuple[Call, str, str]
"""What is counted by: a call, the kind of its request, and the name of the fault."""


@dataclass(slots=True)
class Injection:
    """A fault that shall befall one send, or one batch. ``has_arrived``: the client saw it."""

    key: Key
    due_at: float = 0.0
    has_arrived: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The head and body of an answer, as they reached the client."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return a header by its name in small letters."""
        return {key.lower(): text for key, text in self.headers.items()}.get(name)


def is_seen_in_answer(fault: Fault, service: str, answer: Answer) -> bool:
    """Whether an answer can only have come so because of ``fault``."""
    error = fault.error_of(service)
    if error is not None:
        code, status = error
        # Lambda tells its code in a header.
        told = answer.body + (answer.header("x-amzn-errortype") or "").encode()
        return answer.status == status and code.encode() in told and INJECTED.encode() in told
    if fault.is_reset or fault.is_timeout or fault.breaks_off:
        # What came whole was neither lost nor late.
        return False
    if fault.keeps is not None:
        # Whatever its status: botocore has made a 500 of an answer of S3 that it cannot read.
        return not _is_whole(answer)
    return answer.header(HEADER) == fault.name


def is_seen_in_error(fault: Fault, error: BaseException) -> bool:
    """Whether the client's connection ended as ``fault`` ends it."""
    if fault.is_timeout:
        return isinstance(error, ReadTimeoutError)
    return (fault.is_reset or fault.breaks_off) and isinstance(error, ConnectionClosedError)


def _is_whole(answer: Answer) -> bool:
    """Whether a body can be read as what it is; an object's is known by its digest."""
    tag = answer.header("etag")
    if tag is not None and not answer.body.lstrip().startswith(b"<"):
        return hashlib.md5(answer.body, usedforsecurity=False).hexdigest() == tag.strip('"')
    try:
        if answer.body.lstrip().startswith(b"<"):
            ElementTree.fromstring(answer.body)  # noqa: S314 (the emulator's)
        else:
            json.loads(answer.body)
    except (ElementTree.ParseError, ValueError):
        return False
    return True


class WatchedBody:
    """The body of an answer that is read later; what comes of the reading is told."""

    def __init__(
        self, body: Any, heard: Callable[[bytes], None], failed: Callable[[Exception], None]
    ) -> None:
        self._body, self._heard, self._failed = body, heard, failed

    def read(self, *amount: int) -> bytes:
        try:
            read: bytes = self._body.read(*amount)
        except Exception as error:
            self._failed(error)
            raise
        self._heard(read)
        return read

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)
