"""Deleting, safe against a lost answer."""

from __future__ import annotations

from hourhand.client._errors import NotFound
from hourhand.client._exchange import exchange
from hourhand.client._steps import Operation, Request, Session


def delete(session: Session, at: str) -> Operation[None]:
    """Delete what is at the target ``at``; raise `NotFound` where it never was."""
    try:
        yield from exchange(session, Request(method="DELETE", target=at))
    except NotFound as error:
        # Most likely an earlier try deleted it, as requested.
        if not error.may_have_happened:
            raise
