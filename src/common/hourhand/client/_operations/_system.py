"""Statistics, resweeps, handlers and the health of the API."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from hourhand.answers.system import Handler, Health, Resweep, Stats
from hourhand.client._operations._asking import ask, ask_for, members, named, target
from hourhand.client._steps import Operation, Session
from hourhand.client._values import encoded, read, time_text


def stats(session: Session) -> Operation[Stats]:
    """Return the counts of the queues, the lateness of jobs and the scheduler's state."""
    return ask_for(Stats, session, "GET", target("stats"))


def resweep(session: Session, since: datetime) -> Operation[Resweep]:
    """Request a resweep: the sweep reads every bucket again from ``since`` on, after a restore.

    The next tick starts it. A second request while it waits or runs changes nothing.
    """
    body = encoded({"since": time_text("since", since)}, "since")
    return ask_for(Resweep, session, "POST", target("resweep"), body)


def resweep_progress(session: Session) -> Operation[Resweep]:
    """Return the progress of the last resweep."""
    return ask_for(Resweep, session, "GET", target("resweep"))


def handlers(session: Session) -> Operation[tuple[Handler, ...]]:
    """Return every registered handler, by name."""
    value = yield from ask(session, "GET", target("handlers"))
    return tuple([read(Handler, one) for one in members(value, "handlers")])


def handler(session: Session, name: str) -> Operation[Handler]:
    """Return a handler with the JSON Schema of its payload; raise `NotFound`."""
    return ask_for(Handler, session, "GET", target("handlers", named("name", name)))


def pause_handler(
    session: Session, name: str, *, note: str | None = None, until: datetime | None = None
) -> Operation[Handler]:
    """Pause a handler: no job of it starts until it is resumed, or until ``until``.

    Jobs are accepted, and schedules go on. Jobs that run end as ever, and no attempt is used.
    Workers may start jobs of it for 30 s more. Raises `NotFound`, `Conflict` if too many handlers
    are paused, and `Invalid`.
    """
    fields: dict[str, Any] = {} if note is None else {"note": note}
    if until is not None:
        fields["until"] = time_text("until", until)
    return _change_handler(session, name, "pause", fields)


def resume_handler(session: Session, name: str, *, note: str | None = None) -> Operation[Handler]:
    """End the pause of a handler, and send the jobs that waited for it.

    The answer comes when at most 1,000 of them are sent; the next ticks send the others. Does
    nothing if the handler is not paused. Raises `NotFound` and `Invalid`.
    """
    fields = {} if note is None else {"note": note}
    return _change_handler(session, name, "resume", fields)


def _change_handler(
    session: Session, name: str, verb: str, fields: dict[str, Any]
) -> Operation[Handler]:
    at = target("handlers", named("name", name), verb)
    return ask_for(Handler, session, "POST", at, encoded(fields, "note"))


def health(session: Session) -> Operation[Health]:
    """Check that the API answers. This request calls no AWS service."""
    return ask_for(Health, session, "GET", target("health"))
