"""Calendars: exclusions under a name that schedules share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hourhand.answers.schedules import Calendar
from hourhand.client._operations._asking import ask_for, delete_at, named, pages, target
from hourhand.client._operations._schedule_fields import encoded_schedule
from hourhand.client._steps import Operation, Session, Stream


def put(
    session: Session, name: str, exclude: Iterable[Any], *, note: str | None = None
) -> Operation[Calendar]:
    """Create a calendar, or replace all of it.

    ``exclude``: dates, ``{"from": ..., "to": ...}`` of dates or times, and expressions. Raises
    `Invalid`.
    """
    body = encoded_schedule({"exclude": exclude, "note": note})
    return ask_for(Calendar, session, "PUT", target("calendars", named("name", name)), body)


def get(session: Session, name: str) -> Operation[Calendar]:
    """Return a calendar. Raises `NotFound`."""
    return ask_for(Calendar, session, "GET", target("calendars", named("name", name)))


def list_calendars(
    session: Session, *, page_size: int = 50, limit: int | None = None
) -> Stream[Calendar]:
    """Iterate over calendars in the order of their names."""
    yield from pages(
        session, Calendar, ("calendars",), "calendars", page_size=page_size, limit=limit
    )


def delete(session: Session, name: str) -> Operation[None]:
    """Delete a calendar. Raises `Conflict` while a schedule uses it, `NotFound`."""
    yield from delete_at(session, target("calendars", named("name", name)))
