"""What routes share: pages of an answer, and checks of the ids and sizes that callers send."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hourhand.api.http_request import Request
from hourhand.api.http_response import MAX_ANSWER_BYTES, Answer
from hourhand.api.json_text import write_json
from hourhand.api.requests._errors import quoted
from hourhand.api.requests._limits import MAX_BATCH_BYTES
from hourhand.api.requests.filters import ListRequest, LogRequest
from hourhand.api.requests.schedule_operations import PageRequest
from hourhand.domain.errors import FieldError, InvalidInput, NotFound, TooLarge
from hourhand.domain.ids import JOB_ID, OWN_ID
from hourhand.services.cursors import seal, unseal

ENVELOPE_BYTES = 1_000
"""Room for what is in a page beside its entries: field names and the cursor."""

Entry = TypeVar("Entry")


def answer_page(
    listing: str,
    query: PageRequest,
    read: Callable[[str | None, int], tuple[Sequence[Entry], str | None]],
    tell: Callable[[Entry], tuple[str, dict[str, Any]]],
    names: re.Pattern[str] = OWN_ID,
) -> Answer:
    """Return a page of ``listing``, cut where its entries are more than an answer holds.

    ``read`` takes the name to go on after and a limit, ``tell`` returns the name of an entry and
    its JSON, of which one always fits. ``names``: what a name may be. Raises `InvalidInput` for a
    cursor of another listing.
    """
    after = None if query.cursor is None else _read_cursor(listing, query.cursor, names)
    entries, next_name = read(after, query.limit)
    told: list[dict[str, Any]] = []
    last_name = None
    room = MAX_ANSWER_BYTES - ENVELOPE_BYTES
    for entry in entries:
        name, value = tell(entry)
        room -= len(write_json(value).encode()) + len(",")
        if room < 0 and told:
            next_name = last_name
            break
        told.append(value)
        last_name = name
    next_cursor = None if next_name is None else seal((next_name,), _fingerprint(listing))
    return Answer.of({listing: told, "next_cursor": next_cursor})


def fitting_page(
    query: PageRequest | ListRequest | LogRequest, page: Callable[..., dict[str, Any]]
) -> Answer:
    """Return what ``page`` returns for the limit and the cursor of ``query``.

    The limit is halved until an answer holds the page.
    """
    limit = query.limit
    while True:
        answer = Answer.of(page(limit=limit, cursor=query.cursor))
        if answer.size_bytes <= MAX_ANSWER_BYTES or limit == 1:
            return answer
        limit //= 2


def batch_bytes(request: Request) -> int:
    """Return the size of a body with jobs; raise `TooLarge` for one that is too large."""
    size_bytes = len(request.text().encode())
    if size_bytes > MAX_BATCH_BYTES:
        message = f"are {size_bytes:,} bytes in all; at most {MAX_BATCH_BYTES:,} are allowed"
        raise TooLarge("The batch is too large.", errors=(FieldError("jobs", message),))
    return size_bytes


def require_job(id_: str, noun: str = "job") -> str:
    """Return an id from a path; raise `NotFound` if no job can have it."""
    if JOB_ID.fullmatch(id_) is None:
        raise NotFound(f"There is no {noun} {quoted(id_)}.")
    return id_


def require_schedule(id_: str) -> str:
    """Return an id from a path; raise `NotFound` if no schedule can have it."""
    if OWN_ID.fullmatch(id_) is None:
        raise NotFound(f"There is no schedule {quoted(id_)}.")
    return id_


def _read_cursor(listing: str, cursor: str, names: re.Pattern[str]) -> str:
    (name,) = unseal(cursor, _fingerprint(listing), (str,))
    if names.fullmatch(name) is None:
        fault = FieldError("cursor", "is not a next_cursor of this listing")
        raise InvalidInput("The cursor is invalid.", errors=(fault,))
    return str(name)


def _fingerprint(listing: str) -> str:
    return f"names of {listing}"
