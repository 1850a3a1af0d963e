"""What people do to schedules in the virtual year, by chance, and often right beside a fire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from hourhand.api.routing import Services
from proof.virtual_year.nominal_times import DAY, SECOND
from proof.virtual_year.schedule_mix import CALENDARS, Wish, make_calendar, make_wish, vary
from proof.virtual_year.troubles import BY_API

if TYPE_CHECKING:
    from proof.virtual_year.year import Year

AIMS = (-250.0, -100.0, -1.0, -0.001, 0.0, 0.001, 1.0, 30.0, 61.0)
"""Seconds from a nominal time at which people act who aim."""

DELAYS = (1, 20, 90, 200, 600, 3600, 20_000, 90_000, 400_000, 900_000)
"""Seconds, give or take, until what was paused is resumed and what was deleted comes back."""

LONGEST_SECOND_THOUGHT_MS = 250_000


@dataclass(eq=False)
class People:
    """Everybody who calls the API. Who finds it out of order comes again."""

    year: Year
    wishes: dict[str, Wish] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.randomness, self.world, self.books = (
            self.year.randomness,
            self.year.world,
            self.year.books,
        )
        self.ids = [f"s{number:03}" for number in range(self.year.plan.schedules)]

    def make_plans(self) -> None:
        """Decide who does what when."""
        plan, randomness = self.year.plan, self.randomness
        for name in CALENDARS:
            self.year.at(plan.start, partial(self.put_calendar, name))
            for _ in range(round(plan.outages / 8)):
                self.year.at(self.year.some_time(), partial(self.put_calendar, name))
        for schedule_id in self.ids:
            share = randomness.choice([0.001, 0.001, 0.3]) * randomness.random()
            first = plan.start + timedelta(seconds=round(share * plan.days * DAY.total_seconds()))
            self.year.at(first, partial(self.put, schedule_id))
            for _ in range(round(plan.acts_per_schedule * randomness.uniform(0.3, 1.7))):
                self.year.at(self.year.some_time(), partial(self.act, schedule_id))

    def act(self, schedule_id: str, *, is_aimed: bool = False) -> None:
        """Do anything to a schedule, now or at one of its next nominal times."""
        if not is_aimed and self.randomness.random() < 0.35:
            target = self._near_fire(schedule_id)
            if target is not None:
                self.year.at(target, partial(self.act, schedule_id, is_aimed=True))
                return
        if self._is_later(partial(self.act, schedule_id, is_aimed=True)):
            return
        hot = self.world.schedules.get(schedule_id)
        if hot is None or hot.deleted_at is not None:
            self.put(schedule_id)
            return
        acts = [self._pause] * 4 + [self._replace] * 4 + [self._vary] * 2
        acts += [self.resume, self._delete, self._trigger, self._trigger]
        self.randomness.choice(acts)(schedule_id)
        if self.randomness.random() < 0.25:
            soon = timedelta(milliseconds=self.randomness.randrange(1, LONGEST_SECOND_THOUGHT_MS))
            self._later(soon, partial(self.act, schedule_id, is_aimed=True))

    def _near_fire(self, schedule_id: str) -> datetime | None:
        """A moment at, or just beside, one of its next nominal times."""
        hot, now = self.world.schedules.get(schedule_id), self.year.now
        if hot is None or not hot.is_live:
            return None
        times = [entry.first for entry in hot.journal if entry.first > now]
        times += [hot.next_at] if hot.next_at is not None and hot.next_at > now else []
        if not times:
            return None
        aim = min(times) + timedelta(seconds=self.randomness.choice(AIMS))
        return aim if now <= aim < self.year.ends_at else None

    # --- each act ---

    def put(self, schedule_id: str) -> None:
        """Create a schedule: another one, or the one that it was."""
        if self._is_later(partial(self.put, schedule_id)):
            return
        wish = self.wishes.get(schedule_id)
        if wish is None or self.randomness.random() < 0.6:
            wish = make_wish(self.randomness, self.year.now)
        self._put_wish(schedule_id, wish)

    def _replace(self, schedule_id: str) -> None:
        self._put_wish(schedule_id, make_wish(self.randomness, self.year.now))

    def _vary(self, schedule_id: str) -> None:
        hot = self.world.schedules.get(schedule_id)
        assert hot is not None
        self._put_wish(
            schedule_id, vary(self.randomness, self.books.wishes[schedule_id, hot.definition])
        )

    def _put_wish(self, schedule_id: str, wish: Wish) -> None:
        body: dict[str, Any] = dict(wish.body)
        if self.randomness.random() < 0.08:
            body["paused"] = self.randomness.choice([True, False])
            self._later(self._some_delay(), partial(self.resume, schedule_id))

        def put(api: Services) -> None:
            with self.books.meaning(wish):
                self.world.put_schedule(schedule_id, by=api, **body)
            self.wishes[schedule_id] = wish

        self._call("put", put)

    def _pause(self, schedule_id: str) -> None:
        self._call("pause", lambda api: self.world.pause(schedule_id, by=api))
        self._later(self._some_delay(), partial(self.resume, schedule_id))

    def resume(self, schedule_id: str) -> None:
        """Let a schedule go on."""
        if not self._is_later(partial(self.resume, schedule_id)):
            self._call("resume", lambda api: self.world.resume(schedule_id, by=api))

    def _delete(self, schedule_id: str) -> None:
        self._call("delete", lambda api: self.world.delete_schedule(schedule_id, by=api))
        if self.randomness.random() < 0.8:
            self._later(self._some_delay(), partial(self.put, schedule_id))

    def _trigger(self, schedule_id: str) -> None:
        self._call("trigger", lambda api: self.world.trigger(schedule_id, by=api))

    def put_calendar(self, name: str) -> None:
        """Create or change a calendar."""
        if self._is_later(partial(self.put_calendar, name)):
            return
        items, excluded = make_calendar(self.randomness, self.year.now)

        def put(api: Services) -> None:
            with self.books.meaning(excluded):
                self.world.put_calendar(name, items, by=api)

        is_first = not self.books.calendars[name]
        self._call("calendar", put, share=0.0 if is_first else None)

    # --- parts ---

    def _some_delay(self) -> timedelta:
        return timedelta(
            milliseconds=round(self.randomness.choice(DELAYS) * self.randomness.uniform(300, 1500))
        )

    def _later(self, delay: timedelta, act: Callable[[], object]) -> None:
        self.year.at(self.year.now + delay, act)

    def _is_later(self, act: Callable[[], object]) -> bool:
        """Whether the API is out of order: then people come again."""
        if self.year.now >= self.year.down.api:
            return False
        self.year.at(self.year.down.api + self.randomness.randrange(60) * SECOND, act)
        return True

    def _call(
        self, name: str, act: Callable[[Services], object], *, share: float | None = None
    ) -> None:
        """Call the API; who has no answer calls again, mostly. ``share``: of calls in trouble."""
        share = self.year.plan.api_trouble if share is None else share
        process = self.year.some_process(share, BY_API)
        self.books.counts[f"api: {name}"] += 1
        if (
            not self.year.survive(partial(act, process.api), "api")
            and self.randomness.random() < 0.7
        ):
            self.year.survive(partial(act, self.year.some_process().api), "api")
