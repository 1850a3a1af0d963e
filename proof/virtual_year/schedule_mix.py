"""Schedules by chance for the virtual year: what is put, beside what it should mean.

Every kind, zone and policy is among them; how often each fires is bounded, so that a year of two
hundred of them is some hundred thousand jobs.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from proof.virtual_year.nominal_times import DAY, Beat, Clockwork, Cron, Excluded
from tests.properties.recurrence_cases import FOLDS, GAPS, ZONES

CALENDARS = ("holidays", "maintenance", "freeze", "nights")
"""The calendars that are shared."""

HANDLERS = ("quick", "slow", "flaky", "failing")
RETENTION_SECONDS = 10 * 86_400
"""Longer than any outage, as a deployment would have it: an id is free again after it."""

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Wish:
    """The body of a PUT, and when it should fire."""

    body: dict[str, Any]
    beat: Beat


@dataclass(frozen=True)
class _Fires:
    """When a schedule fires, in the API's words and in ours. ``lasts``: it must end after that."""

    texts: tuple[str, ...]
    crons: tuple[Cron, ...] = ()
    rates: tuple[int, ...] = ()
    lasts: timedelta | None = None


def make_wish(chance: random.Random, now: datetime) -> Wish:
    """Return any schedule that may be put at ``now``."""
    kinds, weights = zip(*_KINDS, strict=True)
    fires: _Fires = chance.choices(kinds, weights)[0](chance, now)
    clockwork = Clockwork(
        zone=chance.choice(ZONES),
        gap=chance.choice([GAPS[0], *GAPS]),
        fold=chance.choice([FOLDS[0], *FOLDS]),
    )
    start, end = _span(chance, now, fires)
    items, excluded, calendars = _exclusions(chance, now)
    body: dict[str, Any] = {
        "expression": fires.texts[0] if len(fires.texts) == 1 else list(fires.texts),
        "timezone": clockwork.zone,
        "dst_gap": clockwork.gap,
        "dst_fold": clockwork.fold,
        "exclude": items,
        **_policies(chance, is_dense=fires.lasts is not None),
    }
    if start is not None:
        body["start_at"] = rfc3339(start)
    if end is not None:
        body["end_at"] = rfc3339(end)
    anchor = None
    if fires.rates and chance.random() < 0.3:
        anchor = _second(now) - timedelta(seconds=chance.randrange(10_000_000))
        body["anchor"] = rfc3339(anchor)
    beat = Beat(
        clockwork=clockwork,
        crons=fires.crons,
        rates=fires.rates,
        anchor=anchor,
        start=start,
        end=end,
        excluded=excluded,
        calendars=calendars,
    )
    return Wish(body, beat)


def vary(chance: random.Random, wish: Wish) -> Wish:
    """Return the same nominal times with other policies: a replacement that adopts."""
    return replace(wish, body={**wish.body, **_policies(chance, is_dense=True)})


def make_calendar(chance: random.Random, now: datetime) -> tuple[list[Any], Excluded]:
    """Return what a calendar may exclude from now on."""
    items: list[Any] = []
    excluded = Excluded()
    for _ in range(chance.randrange(1, 4)):
        item, more = _exclusion(chance, now)
        items.append(item)
        excluded = join(excluded, more)
    return items, excluded


def join(one: Excluded, other: Excluded) -> Excluded:
    """Return what either excludes."""
    return Excluded(one.dates + other.dates, one.spans + other.spans, one.crons + other.crons)


def rfc3339(at: datetime) -> str:
    """Write an instant as callers do."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# --- when ---


def _daily(chance: random.Random, now: datetime) -> _Fires:
    minute = chance.choice([0, 0, 15, 30, 59, chance.randrange(60)])
    hour = chance.choice([0, 1, 2, 2, 3, chance.randrange(24)])
    days = chance.choice(["* * *", "* * *", "* * 1-5", "* * MON,WED,FRI", "*/2 * *", "1-7 * 0"])
    return _same(f"{minute} {hour} {days}")


def _rare(chance: random.Random, now: datetime) -> _Fires:
    text = chance.choice(
        ["0 9 1 * *", "30 2 L * *", "0 0 * * 5#2", "15 1 * * 0L", "0 4 13 * 5", "30 3 1,15 * *"]
    )
    return _same(text)


def _macro(chance: random.Random, now: datetime) -> _Fires:
    macro, text = chance.choice(
        [("@daily", "0 0 * * *"), ("@weekly", "0 0 * * 0"), ("@monthly", "0 0 1 * *")]
    )
    return _Fires((macro,), (Cron(text),))


def _several_a_day(chance: random.Random, now: datetime) -> _Fires:
    hours = ",".join(map(str, sorted(chance.sample(range(24), chance.randrange(2, 7)))))
    minute = chance.choice(["0", "30", "5,35", "*/30" if len(hours) < 6 else "45"])
    return _same(f"{minute} {chance.choice([hours, '*/6', '1-3', '8-17/3'])} * * *")


def _hourly(chance: random.Random, now: datetime) -> _Fires:
    text = chance.choice(["0 * * * *", "17 * * * *", "*/30 * * * *", "0 */2 * * *"])
    return replace(_same(text), lasts=timedelta(days=chance.randrange(3, 60)))


def _dense(chance: random.Random, now: datetime) -> _Fires:
    text = chance.choice(["*/5 * * * *", "* 1-3 * * *", "*/10 * * * *", "* * * * *"])
    return replace(_same(text), lasts=chance.randrange(4, 40) * HOUR)


def _by_the_second(chance: random.Random, now: datetime) -> _Fires:
    text = chance.choice(["*/15 * * * * *", "7,37 */2 * * * *", "0/20 30-40 * * * *"])
    return replace(_same(text), lasts=chance.randrange(1, 5) * HOUR)


def _aws(chance: random.Random, now: datetime) -> _Fires:
    aws, text = chance.choice(
        [
            ("30 2 * * ? *", "30 2 * * *"),
            ("0 9 ? * MON-FRI *", "0 9 * * 1-5"),
            ("0/30 1-3 ? * 2-6 *", "0,30 1-3 * * 1-5"),
            ("15 3 L * ? *", "15 3 L * *"),
            ("0 12 ? * 6#3 2026-2199", "0 12 * * 5#3"),
            ("45 0 ? * 1L *", "45 0 * * 0L"),
            ("*/30 2,14 * * ? *", "*/30 2,14 * * *"),
        ]
    )
    return _Fires((f"cron({aws})",), (Cron(text),))


def _rate(chance: random.Random, now: datetime) -> _Fires:
    rates = [
        *((6, "hours", 21_600), (90, "minutes", 5400), (1, "day", 86_400), (1, "week", 604_800)),
        *((100_000, "seconds", 100_000), (7, "hours", 25_200)),
    ]
    number, unit, seconds = chance.choice(rates)
    return _Fires((f"rate({number} {unit})",), rates=(seconds,))


def _fast_rate(chance: random.Random, now: datetime) -> _Fires:
    number, unit, seconds = chance.choice(
        [(5, "minutes", 300), (1, "minute", 60), (12, "minutes", 720), (20, "seconds", 20)]
    )
    lasts = chance.randrange(1, 6) if seconds < 60 else chance.randrange(3, 36)
    return _Fires((f"rate({number} {unit})",), rates=(seconds,), lasts=lasts * HOUR)


def _once(chance: random.Random, now: datetime) -> _Fires:
    local = (now + chance.randrange(1, 90) * DAY).replace(
        hour=chance.choice([1, 2, 2, 3, 14]),
        minute=chance.choice([0, 15, 30]),
        second=0,
        microsecond=0,
        tzinfo=None,
    )
    cron = Cron(f"{local.minute} {local.hour} {local.day} {local.month} *", local.date())
    return _Fires((f"at({local.isoformat()})",), (cron,))


def _union(chance: random.Random, now: datetime) -> _Fires:
    makers = [chance.choice([_daily, _rare, _several_a_day, _rate, _aws, _once]) for _ in range(3)]
    parts = [make(chance, now) for make in makers[: chance.randrange(2, 4)]]
    return _Fires(
        tuple(text for part in parts for text in part.texts),
        tuple(cron for part in parts for cron in part.crons),
        tuple(seconds for part in parts for seconds in part.rates),
    )


def _same(text: str) -> _Fires:
    return _Fires((text,), (Cron(text),))


_KINDS: list[tuple[Callable[[random.Random, datetime], _Fires], float]] = [
    (_daily, 30),
    (_rare, 6),
    (_macro, 5),
    (_several_a_day, 10),
    (_hourly, 8),
    (_dense, 9),
    (_by_the_second, 4),
    (_aws, 9),
    (_rate, 10),
    (_fast_rate, 8),
    (_once, 4),
    (_union, 9),
]


def _span(
    chance: random.Random, now: datetime, fires: _Fires
) -> tuple[datetime | None, datetime | None]:
    """Return start and end; what fires often has both, soon after each other."""
    if fires.lasts is not None:
        start = now + chance.randrange(0, 14 * 24 * 60) * MINUTE
        if chance.random() < 0.3:
            start = _second(start)
        return _ms(start), _ms(start + fires.lasts)
    start_at = _ms(now + chance.randrange(20 * 24) * HOUR) if chance.random() < 0.15 else None
    end_at = _ms(now + chance.randrange(100, 200) * DAY) if chance.random() < 0.15 else None
    return start_at, end_at


# --- when not ---


def _exclusions(
    chance: random.Random, now: datetime
) -> tuple[list[Any], Excluded, tuple[str, ...]]:
    items: list[Any] = []
    excluded = Excluded()
    while chance.random() < 0.25:
        item, more = _exclusion(chance, now)
        items.append(item)
        excluded = join(excluded, more)
    shared = tuple(name for name in CALENDARS if chance.random() < 0.12)
    return [*items, *shared], excluded, shared


def _exclusion(chance: random.Random, now: datetime) -> tuple[Any, Excluded]:
    day = (now + chance.randrange(60) * DAY).date()
    kind = chance.random()
    if kind < 0.35:
        return day.isoformat(), Excluded(dates=((day, day),))
    if kind < 0.6:
        last = day + chance.randrange(5) * DAY
        return {"from": day.isoformat(), "to": last.isoformat()}, Excluded(dates=((day, last),))
    if kind < 0.8:
        start = _second(datetime(day.year, day.month, day.day, tzinfo=UTC) + chance.random() * DAY)
        end = start + chance.randrange(1, 3000) * MINUTE
        return {"from": rfc3339(start), "to": rfc3339(end)}, Excluded(spans=((start, end),))
    text = chance.choice(["0 2 * * 6", "30 2 * * *", "* * * * 3", "0 */6 1 * *"])
    return text, Excluded(crons=(Cron(text),))


# --- how ---


def _policies(chance: random.Random, *, is_dense: bool) -> dict[str, Any]:
    slow = 0.35 if is_dense else 0.15
    overlap = chance.choice(["skip", "skip", "allow", "buffer_one", "buffer_all", "cancel_other"])
    policies: dict[str, Any] = {
        "handler": chance.choices(HANDLERS, (0.8 - slow, slow, 0.12, 0.08))[0],
        "misfire": {
            "policy": chance.choice(["latest", "latest", "all", "earliest", "skip"]),
            "window_seconds": chance.choice([86_400, 86_400, 3600, 20_000, 30 * 86_400, 300]),
        },
        "overlap": overlap,
        "keep": {"succeeded": 10_000, "failed": 10_000},
        "retention_seconds": RETENTION_SECONDS,
        "timeout_seconds": 840,
        "retry": {"max_attempts": chance.choice([1, 2, 3]), "base_seconds": 20},
        "priority": chance.choice(["high", "medium", "medium", "low"]),
        "payload": chance.randrange(1_000_000),
    }
    if chance.random() < 0.3:
        policies["max_running"] = chance.randrange(1, 4)
    if chance.random() < 0.3:
        policies["buffer_limit"] = chance.choice([1, 2, 5, 20])
    if chance.random() < 0.3:
        policies["jitter_seconds"] = chance.choice([5, 30, 60, 400, 900])
    if chance.random() < 0.08:
        policies["max_occurrences"] = chance.choice([3, 10, 40, 100])
    if chance.random() < 0.06:
        policies["pause_on_failure"] = True
    return policies


def _second(at: datetime) -> datetime:
    return at.replace(microsecond=0)


def _ms(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
