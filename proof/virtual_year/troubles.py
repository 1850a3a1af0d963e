"""What goes wrong for one process of the virtual year, at a call of a port chosen by chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

from hourhand.testing import Crash
from tests.world.faults import Faults, When

AT_TICK = (
    *("schedules.write", "schedules.write", "schedules.write", "jobs.put", "jobs.put"),
    *("schedules.put_journal_page", "schedules.put_journal_page", "schedules.get_many"),
    *("schedules.get_definitions", "schedules.read_due", "queues.send", "jobs.transition"),
    *("jobs.transition_many", "jobs.get_many", "side_items.query_items", "schedules.write_walk"),
    *("control.write_watermark", "control.renew_lease", "calendars.get_calendars"),
)
BY_API = (
    *("schedules.write", "schedules.write", "schedules.write", "schedules.put_definition"),
    *("schedules.get", "schedules.get_definitions", "jobs.put", "jobs.put", "jobs.transition"),
    *("jobs.get_many", "schedules.retire_definition", "queues.send", "schedules.write_walk"),
    *("calendars.put_calendar", "schedules.put_journal_page", "side_items.query_items"),
)
BY_WORKER = (
    *("jobs.transition", "jobs.transition", "jobs.transition", "jobs.get", "jobs.get_many"),
    *("side_items.write_item", "side_items.write_item", "side_items.query_items", "schedules.get"),
    *("queues.hide", "queues.send", "jobs.put_failure", "jobs.get_details"),
)
KINDS = ("die", "die", "throttle", "lose answer", "meet", "meet", "meet")
MAX_NTH = 6


def make_trouble(
    chance: random.Random, methods: tuple[str, ...], meet: Callable[[], object]
) -> Faults:
    """Plan one trouble. ``meet`` is what somebody else does at the very same moment."""
    faults = Faults()
    method, nth = chance.choice(methods), min(int(chance.expovariate(0.7)) + 1, MAX_NTH)
    when = chance.choice(list(When))
    match chance.choice(KINDS):
        case "die":
            faults.interrupt(method, partial(_die, faults), nth=nth, when=when)
        case "throttle":
            faults.throttle(method, nth=nth, times=chance.choice([1, 1, 2, 6]))
        case "lose answer":
            faults.lose_answer(method, nth=nth, times=chance.choice([1, 1, 2]))
        case _:
            faults.interrupt(method, meet, nth=nth, when=when)
    return faults


def _die(faults: Faults) -> None:
    faults.is_crashed = True
    raise Crash("on purpose")
