"""Dead letters in groups by handler and error."""

from __future__ import annotations

from typing import Unpack

from hourhand.answers.jobs import DeadLetterGroup, DeadLetterGroups
from hourhand.client._operations._asking import (
    MAX_LIMIT,
    JobFilters,
    ask_for,
    filters_of,
    target,
    whole_number,
)
from hourhand.client._steps import Operation, Session
from hourhand.client._values import UnexpectedAnswer

MAX_READ_A_PAGE = 1_000


def dead_letter_groups(
    session: Session, *, scan: int = 10_000, **filters: Unpack[JobFilters]
) -> Operation[DeadLetterGroups]:
    """Return the DEAD jobs in groups by handler and error, the group that ended last first.

    The filters are those of `list`. At most ``scan`` dead jobs are read, the newest ones first:
    ``read`` says how many were, and ``next_cursor`` is ``None`` if that was all. Raises `Invalid`.
    """
    whole_number("scan", scan, MAX_LIMIT)
    query = filters_of(filters)
    groups: dict[str, DeadLetterGroup] = {}
    read, cursor = 0, None
    while True:
        asked = {**query, "limit": min(scan - read, MAX_READ_A_PAGE), "cursor": cursor}
        path = target("dead-letters", "groups", query=asked)
        page = yield from ask_for(DeadLetterGroups, session, "GET", path)
        for group in page.groups:
            groups[group.id] = _together(groups.get(group.id), group)
        read += page.read
        before, cursor = cursor, page.next_cursor
        if cursor is None or read >= scan:
            newest_first = sorted(groups.values(), key=lambda one: one.last_at, reverse=True)
            return DeadLetterGroups(groups=tuple(newest_first), read=read, next_cursor=cursor)
        if cursor == before:
            raise UnexpectedAnswer(
                "The API returned the same next_cursor twice, so the listing would never end."
            )


def _together(known: DeadLetterGroup | None, more: DeadLetterGroup) -> DeadLetterGroup:
    """Return one group of the two parts of it that two pages have."""
    if known is None:
        return more
    newer = max(known, more, key=lambda one: one.last_at)
    return DeadLetterGroup(
        id=known.id,
        handler=known.handler,
        error_type=known.error_type,
        pattern=known.pattern,
        jobs=known.jobs + more.jobs,
        first_at=min(known.first_at, more.first_at),
        last_at=newer.last_at,
        newest=newer.newest,
    )
