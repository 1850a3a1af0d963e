"""Statistics, resweeps, handlers and the health of the API."""

from __future__ import annotations

from datetime import datetime

from hourhand.answers.system import Handler, Health, Resweep, Stats
from hourhand.client._json import encoded, read, time_text
from hourhand.client._operations._asking import ask, ask_for, members, named, target
from hourhand.client._steps import Operation, Request, Session


def stats(session: Session) -> Operation[Stats]:
    """Return the counts of the queues, the lateness of jobs and the scheduler's state."""
    return (yield from ask_for(Stats, session, Request(method="GET", target=target("stats"))))


def resweep(session: Session, since: datetime) -> Operation[Resweep]:
    """Request a resweep: the sweep reads every bucket again from ``since`` on, after a restore.

    The next tick starts it. A second request while it waits or runs changes nothing.
    """
    body = encoded({"since": time_text("since", since)}, "since")
    request = Request(method="POST", target=target("resweep"), body=body)
    return (yield from ask_for(Resweep, session, request))


def resweep_progress(session: Session) -> Operation[Resweep]:
    """Return the progress of the last resweep."""
    return (yield from ask_for(Resweep, session, Request(method="GET", target=target("resweep"))))


def handlers(session: Session) -> Operation[tuple[Handler, ...]]:
    """Return every registered handler, by name."""
    value = yield from ask(session, Request(method="GET", target=target("handlers")))
    return tuple([read(Handler, one) for one in members(value, "handlers")])


def handler(session: Session, name: str) -> Operation[Handler]:
    """Return a handler with the JSON Schema of its payload; raise `NotFound`."""
    request = Request(method="GET", target=target("handlers", named("name", name)))
    return (yield from ask_for(Handler, session, request))


def health(session: Session) -> Operation[Health]:
    """Check that the API answers. This request calls no AWS service."""
    return (yield from ask_for(Health, session, Request(method="GET", target=target("health"))))
