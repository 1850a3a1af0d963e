"""Schedules as callers see them: with what they run, their next time, and backfills under way."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from hourhand.domain.errors import Unavailable
from hourhand.domain.schedules.nominal_times import DatedRule, behind_seconds, upcoming
from hourhand.domain.schedules.occurrences import Resumption, after_resume
from hourhand.domain.schedules.rule import BadExpression
from hourhand.domain.schedules.schedule import Backfill, Schedule, ScheduleDefinition
from hourhand.ports.clock import Clock
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import leaving_newer
from hourhand.services.schedules.compiled_rules import (
    CompiledRules,
    definition_of,
    read_definitions,
    require_live,
)
from hourhand.services.schedules.effects import Effect

SCHEDULES_A_PAGE = 200
"""Schedules that are looked at together for those of one tenant."""

MAX_SECONDS_A_SEARCH = 20.0
"""A search for them must end before API Gateway's 30 seconds are over."""


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule with what it runs, when it fires next, and the backfills under way.

    ``behind_seconds``: for how long its oldest undecided nominal time waits for a visit.
    ``on_resume``: what a resume would do now, of a single paused schedule that was read.
    ``broken_reason``: why its nominal times cannot be computed; absent where they can.
    ``effect``: of the change that was made; absent where none was, and where a part of its work was
    left to the next tick.
    """

    schedule: Schedule
    definition: ScheduleDefinition
    next_occurrence: datetime | None
    backfills: tuple[Backfill, ...] = ()
    broken_reason: str | None = None
    behind_seconds: int | None = None
    on_resume: Resumption | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class ScheduleViews:
    """Reads schedules; changes nothing."""

    schedules: ScheduleStore
    recurrences: CompiledRules
    clock: Clock
    telemetry: Telemetry

    def get(self, schedule_id: str) -> ScheduleView:
        """Return a schedule. Raises `NotFound`."""
        schedule = require_live(self.schedules.get(schedule_id), schedule_id)
        return self.of(schedule, definition_of(self.schedules, schedule))

    def is_of_tenant(self, schedule_id: str, tenant: str) -> bool:
        """Whether there is a schedule, or one that was deleted, and it is of ``tenant``."""
        found = self.schedules.get(schedule_id)
        if found is None:
            return False
        definition = self.schedules.get_definition(schedule_id, found.definition)
        return definition is not None and definition.tenant == tenant

    def list_of_tenant(
        self, tenant: str, after: str | None, limit: int
    ) -> tuple[list[ScheduleView], str | None]:
        """Return a page as `list`, of one tenant's schedules.

        The place where the next one starts is that of a schedule of the tenant, since a cursor
        shows it. Raises `Unavailable` where others are too many to be passed over in time.
        """
        deadline = self.clock.monotonic() + MAX_SECONDS_A_SEARCH
        while self.clock.monotonic() < deadline:
            views, following = self.list(after, SCHEDULES_A_PAGE)
            own = [view for view in views if view.definition.tenant == tenant]
            if len(own) > limit:
                return own[:limit], own[limit - 1].schedule.id
            if own or following is None:
                return own, own[-1].schedule.id if following is not None else None
            after = following
        raise Unavailable("There are too many schedules of other tenants to list; try again.")

    def list(self, after: str | None, limit: int) -> tuple[list[ScheduleView], str | None]:
        """Return a page of schedules by id, and where the next one starts; it may be short."""
        page = self.schedules.list_schedules(after=after, limit=limit)
        found = self.schedules.get_many(page.names)
        live = [s for s in found.values() if s.deleted_at is None]
        definitions = read_definitions(self.schedules, live)
        views = [
            self.of(schedule, definitions[schedule.id], is_single=False)
            for schedule in sorted(live, key=lambda schedule: schedule.id)
            if schedule.id in definitions
        ]
        return views, page.next

    def of(
        self,
        schedule: Schedule,
        definition: ScheduleDefinition,
        effect: Effect | None = None,
        *,
        is_single: bool = True,
    ) -> ScheduleView:
        """Return a schedule as it stands. ``effect``: of the change that was just written.

        ``is_single``: not one of many, so that what takes longer is computed, too.
        """
        backfills: list[Backfill] = []
        for backfill_id in schedule.backfills:
            with leaving_newer(self.telemetry):
                backfill = self.schedules.get_backfill(schedule.key, backfill_id)
                backfills += [backfill] if backfill is not None else []
        view = ScheduleView(schedule, definition, None, tuple(backfills), effect=effect)
        try:
            recurrence = self.recurrences.of(definition)
        except BadExpression as error:
            # It must still be shown: else it could not be repaired.
            return replace(view, broken_reason=error.detail)
        if schedule.broken and schedule.is_live and schedule.next_at is None:
            # What it depends on changed, and no visit has seen that yet.
            return replace(view, broken_reason=schedule.broken)
        now, present = self.clock.now(), DatedRule(definition, recurrence)
        rules: tuple[DatedRule, ...] = (present,)
        if is_single:
            rules = self.recurrences.since_cursor(self.schedules, schedule, present)
        following = upcoming(schedule, definition, recurrence, now=now, count=1)
        return replace(
            view,
            next_occurrence=next(iter(following), None),
            behind_seconds=behind_seconds(schedule, definition, recurrence, now),
            on_resume=after_resume(schedule, rules, now) if is_single else None,
        )
