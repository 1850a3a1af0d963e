"""Quotas: how many jobs a tenant or a caller may submit and have."""

from __future__ import annotations

from typing import Literal

from hourhand.answers.quotas import Quota, Quotas
from hourhand.client._operations._asking import ask_for, delete_at, named, target, whole_number
from hourhand.client._steps import Operation, Session
from hourhand.client._values import encoded
from hourhand.domain.jobs.quotas import MAX_QUOTA

Kind = Literal["tenant", "caller"]


def list_quotas(session: Session) -> Operation[tuple[Quota, ...]]:
    """Return all quotas, by kind and name."""
    found = yield from ask_for(Quotas, session, "GET", target("quotas"))
    return found.quotas


def put(
    session: Session,
    kind: Kind,
    name: str,
    *,
    accepted_per_minute: int | None = None,
    live: int | None = None,
) -> Operation[Quota]:
    """Set the quota of a tenant or a caller in the place of the one before.

    ``name``: of a caller its identity, such as an ARN; with ``*`` at the end, all whose identities
    begin so have the quota together. ``accepted_per_minute``: jobs that are accepted in a minute;
    ``live``: at how many live jobs no other is accepted. ``None``: no bound. Raises `Invalid`, and
    `Conflict` if there are too many quotas.
    """
    fields = {"accepted_per_minute": accepted_per_minute, "live": live}
    for field, number in fields.items():
        if number is not None:
            whole_number(field, number, MAX_QUOTA, least=0)
    at = target("quotas", kind, named("name", name))
    return ask_for(Quota, session, "PUT", at, encoded(fields, "quota"))


def delete(session: Session, kind: Kind, name: str) -> Operation[None]:
    """Remove a quota. Raises `NotFound`."""
    at = target("quotas", kind, named("name", name))
    yield from delete_at(session, at)
