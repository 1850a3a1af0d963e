"""Deleting, of which the answer can be lost too."""

from __future__ import annotations

from hourhand.client._errors import NotFound
from hourhand.client._exchange import exchange
from hourhand.client._steps import Operation, Request, Session


def delete(session: Session, at: str) -> Operation[None]:
    """Delete what is at the target ``at``; raise `NotFound` where it never was."""
    try:
        yield from exchange(session, Request(method="DELETE", target=at))
    except NotFound as error:
        # It is gone since an earlier try deleted it, most likely: that is what was asked for.
        if not error.may_have_happened:
            raise
