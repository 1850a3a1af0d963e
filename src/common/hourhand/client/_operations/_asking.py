"""What the operations share: targets of requests, their JSON, and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, TypedDict
from urllib.parse import quote, urlencode

from hourhand.client._exchange import exchange
from hourhand.client._steps import Emit, Operation, Request, Session, Stream
from hourhand.client._values import (
    A,
    NotFound,
    UnexpectedAnswer,
    decoded,
    invalid,
    read,
    shortened,
    time_text,
)
from hourhand.domain.jobs.job import StatusChoice

MAX_PAGE_SIZE = 200
MAX_LIMIT = 10**12


class JobFilters(TypedDict, total=False):
    """Filters for jobs. A job must match all that are given. ``tag`` is ``key:value``."""

    status: StatusChoice | None
    handler: str | None
    schedule_id: str | None
    tenant: str | None
    tag: str | None
    error_type: str | None
    error_group: str | None
    created_after: datetime | None
    created_before: datetime | None
    discarded: bool | None


_TIMES = frozenset({"created_after", "created_before"})


def target(*parts: str, query: Mapping[str, Any] | None = None) -> str:
    """Return a path below ``/v1`` and its query, encoded; what is ``None`` is left out.

    Blanks are encoded as %20, which signatures of AWS want.
    """
    path = "/".join(["/v1", *(quote(part, safe="") for part in parts)])
    given = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given, quote_via=quote, safe='')}" if given else path


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def named(field: str, name: object) -> str:
    """Return an id or name for a path; raise `Invalid` for what would address something else."""
    if not isinstance(name, str) or not name or name in {".", ".."}:
        raise invalid(field, f"must be a string, not {shortened(name)}")
    require_encodable(field, name)
    return name


def filters_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters that are given, as the API takes them; raise `Invalid` naming a wrong one.

    The API checks all other rules.
    """
    filters = {name: value for name, value in given.items() if value is not None}
    for name, value in filters.items():
        if name in _TIMES:
            filters[name] = time_text(name, value)
        require_encodable(name, value)
    return filters


def require_encodable(field: str, value: object) -> None:
    """Raise `Invalid` for a text with half a surrogate pair, which no address can hold."""
    try:
        str(value).encode()
    except UnicodeEncodeError as error:
        raise invalid(field, f"must be valid Unicode: {error.reason}") from None


def ask(
    session: Session,
    method: str,
    at: str,
    body: bytes | None = None,
    *,
    is_repeatable: bool = True,
) -> Operation[Any]:
    """Return the JSON of a good answer; raise `ClientError`. ``at``: what `target` returns."""
    request = Request(method=method, target=at, body=body, is_repeatable=is_repeatable)
    exchanged = yield from exchange(session, request)
    with noting_doubt(method):
        return decoded(exchanged.answer.body)


def ask_for(
    kind: type[A],
    session: Session,
    method: str,
    at: str,
    body: bytes | None = None,
    *,
    is_repeatable: bool = True,
) -> Operation[A]:
    """Return a good answer as a ``kind``; raise `ClientError`."""
    value = yield from ask(session, method, at, body, is_repeatable=is_repeatable)
    with noting_doubt(method):
        return read(kind, value)


def delete_at(session: Session, at: str) -> Operation[None]:
    """Delete what is at the target ``at``; raise `NotFound` where it never was."""
    try:
        yield from exchange(session, Request(method="DELETE", target=at))
    except NotFound as error:
        # Most likely an earlier try deleted it, as requested.
        if not error.may_have_happened:
            raise


@contextmanager
def noting_doubt(method: str) -> Iterator[None]:
    """Mark an answer that cannot be read: the request may have been done."""
    try:
        yield
    except UnexpectedAnswer as error:
        error.may_have_happened = method != "GET"
        raise


def members(value: Any, name: str) -> list[Any]:
    """Return the array ``name`` of an answer."""
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise UnexpectedAnswer(f"The API's answer has no array {name}.")
    return found


def next_cursor_of(value: Mapping[str, Any]) -> str | None:
    """Return where a listing goes on; ``None`` where it ends."""
    cursor = value.get("next_cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise UnexpectedAnswer("The next_cursor in the API's answer is not a string.")
    return cursor


def pages(
    session: Session,
    kind: type[A],
    listing: tuple[str, ...],
    name: str,
    *,
    page_size: int,
    limit: int | None,
    query: Mapping[str, Any] | None = None,
    on_page: Callable[[Any], None] | None = None,
) -> Stream[A]:
    """Emit every entry of a listing, or the first ``limit`` of them, page by page.

    ``on_page`` is called with the JSON of each page.
    """
    whole_number("page_size", page_size, MAX_PAGE_SIZE)
    if limit is not None:
        whole_number("limit", limit, MAX_LIMIT)
    left = limit
    cursor: str | None = None
    while True:
        size = page_size if left is None else min(page_size, left)
        asked = {**(query or {}), "limit": size, "cursor": cursor}
        value = yield from ask(session, "GET", target(*listing, query=asked))
        if on_page is not None:
            on_page(value)
        for entry in members(value, name)[:left]:
            yield Emit(read(kind, entry))
            left = None if left is None else left - 1
        before, cursor = cursor, next_cursor_of(value)
        if cursor is None or left == 0:
            return
        if cursor == before:
            raise UnexpectedAnswer(
                "The API returned the same next_cursor twice, so the listing would never end."
            )


def whole_number(field: str, value: object, most: int, *, least: int = 1) -> None:
    """Raise `Invalid` unless ``value`` is a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        allowed = f"a whole number from {least} to {most:,}"
        raise invalid(field, f"must be {allowed}, not {shortened(value)}")
