"""Figures, resweeps, handlers, and whether the API answers."""

from __future__ import annotations

from datetime import datetime

from hourhand.answers.system import Handler, Health, Resweep, Stats
from hourhand.client._json import encoded, read, time_text
from hourhand.client._operations._asking import ask, ask_for, members, target
from hourhand.client._steps import Operation, Request, Session


def stats(session: Session) -> Operation[Stats]:
    """Return how the system does, as of the last tick and of the queues' own counts."""
    return (yield from ask_for(Stats, session, Request(method="GET", target=target("stats"))))


def resweep(session: Session, since: datetime) -> Operation[Resweep]:
    """Let the sweep read every bucket again from ``since`` on, after a restore of the tables.

    The next tick begins with it. Asked again while it waits or runs, it changes nothing.
    """
    body = encoded({"since": time_text("since", since)}, "since")
    request = Request(method="POST", target=target("resweep"), body=body)
    return (yield from ask_for(Resweep, session, request))


def resweep_progress(session: Session) -> Operation[Resweep]:
    """Return how far the last resweep is."""
    return (yield from ask_for(Resweep, session, Request(method="GET", target=target("resweep"))))


def handlers(session: Session) -> Operation[tuple[Handler, ...]]:
    """Return every registered handler, by name."""
    value = yield from ask(session, Request(method="GET", target=target("handlers")))
    return tuple([read(Handler, one) for one in members(value, "handlers")])


def health(session: Session) -> Operation[Health]:
    """Return that the API answers. It asks nothing of AWS, so it says nothing of it."""
    return (yield from ask_for(Health, session, Request(method="GET", target=target("health"))))
