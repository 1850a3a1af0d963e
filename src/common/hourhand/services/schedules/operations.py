"""The operations on schedules: put, pause, resume, delete, trigger.

Each is one conditional write on the schedule's item, and what follows from it is done at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hourhand.domain.errors import NotFound, changed_too_often
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.changes import (
    annotate,
    create,
    definition_name,
    delete,
    gives_up,
    pause,
    put_over_deleted,
    recompute,
    replace_definition,
    resume,
    with_put_note,
)
from hourhand.domain.schedules.journal import in_order
from hourhand.domain.schedules.rule import TZDATA_VERSION
from hourhand.domain.schedules.schedule import (
    Schedule,
    ScheduleDefinition,
    ScheduleEventKind,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.publisher import Event, EventName, Publisher
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.schedules.compiled_rules import definition_of, require_live
from hourhand.services.schedules.effects import ChangeEffects
from hourhand.services.schedules.history import UndecidedTimes, spill, with_event
from hourhand.services.schedules.new_schedule import (
    FoundSchedule,
    ScheduleCheck,
    ScheduleRequest,
    find_schedule,
    settle_anchor,
)
from hourhand.services.schedules.triggers import Triggers
from hourhand.services.schedules.views import ScheduleView, ScheduleViews

MAX_LOST_RACES = 40
"""How often a schedule may change between the read and the write before the request fails."""


@dataclass(frozen=True, slots=True)
class ScheduleService:
    """Changes schedules on request.

    After a lost race it decides again from the present schedule.
    """

    schedules: ScheduleStore
    check: ScheduleCheck
    views: ScheduleViews
    effects: ChangeEffects
    undecided: UndecidedTimes
    triggers: Triggers
    publisher: Publisher
    clock: Clock
    randomness: Randomness
    timings: Timings
    telemetry: Telemetry

    def put(
        self, schedule_id: str, request: ScheduleRequest, *, actor: str, tenant: str | None = None
    ) -> tuple[ScheduleView, bool]:
        """Create a schedule or replace it; return it, and whether it is new.

        The same put again changes nothing. A replaced one decides its nominal times from now on
        anew: what is pending is replaced, what runs is left. ``tenant``: the only one whose
        schedule may be replaced; ``None``: any. Raises `WrongState` for an id that another tenant
        uses, `InvalidInput` for an unknown handler or calendar and for what can never fire.
        """
        done = self.put_over(schedule_id, lambda _: request, actor=actor, tenant=tenant)
        assert done is not None, "there was a request"
        return done

    def put_over(
        self,
        schedule_id: str,
        build: Callable[[Schedule | None], ScheduleRequest | None],
        *,
        actor: str,
        tenant: str | None = None,
    ) -> tuple[ScheduleView, bool] | None:
        """Put what ``build`` makes of the schedule as it stands (``None``: there is none).

        Where ``build`` returns ``None``, nothing is put. Raises as `put`.
        """
        for _ in range(MAX_LOST_RACES):
            now = self.clock.now()
            found = find_schedule(self.schedules, schedule_id, tenant)
            record, current = found.record, found.current
            request = build(current)
            if request is None:
                return None
            definition = settle_anchor(request.definition, found.current_definition, now)
            if current is not None and current.definition == definition_name(definition):
                view = self._put_state(current, definition, request, actor)
                if view is not None:
                    return view, False
                continue
            self.check.require_sensible(definition, now)
            self.schedules.put_definition(schedule_id, definition_name(definition), definition)
            after = self._replacement(schedule_id, found, definition, request, now)
            did, note = ScheduleEventKind.PUT, request.note or ""
            after = with_event(self.schedules, record, after, did, actor, note, now)
            answer = self.schedules.write(after, previous=record.sequence if record else None)
            if isinstance(answer, Written):
                self.telemetry.count("schedules_changed")
                after, effect = self.effects.follow_up(
                    record, after, definition, SkipReason.REPLACED, actor
                )
                return self.views.of(after, definition, effect), current is None
        raise changed_too_often(f"Schedule {schedule_id}")

    def preview_put(
        self, schedule_id: str, request: ScheduleRequest, *, tenant: str | None = None
    ) -> ScheduleView:
        """Return the schedule as `put` would leave it, and change nothing. Raises as `put`."""
        now = self.clock.now()
        found = find_schedule(self.schedules, schedule_id, tenant)
        current = found.current
        definition = settle_anchor(request.definition, found.current_definition, now)
        name = definition_name(definition)
        if current is None or current.definition != name:
            self.check.require_sensible(definition, now)
        shown = current or create(
            schedule_id,
            definition,
            now=now,
            zone_data=TZDATA_VERSION,
            write_id="",
            paused=False,
            note="",
        )
        is_paused = shown.paused_at is not None if request.paused is None else request.paused
        return self.views.of(
            replace(
                with_put_note(
                    found.given(shown, definition, now), request.note, paused=request.paused
                ),
                definition=name,
                paused_at=(shown.paused_at or now) if is_paused else None,
                managed_by=shown.managed_by if request.origin is None else request.origin,
            ),
            definition,
        )

    def pause(
        self, schedule_id: str, note: str | None, *, actor: str, definition: str | None = None
    ) -> ScheduleView:
        """Pause a schedule; its pending jobs are cancelled, its running jobs continue.

        The ``note`` stands for the schedule's own until it is resumed. Repeatable. ``definition``:
        the only one under which it is paused; ``None``: any.
        """

        def build(current: Schedule, now: datetime) -> Schedule | None:
            if definition not in {None, current.definition}:
                return None
            if current.paused_at is None:
                return pause(current, now=now, write_id=self.randomness.nonce(), note=note)
            # It is a person's pause from here on.
            return self._annotated(current, now, pause_note=note, paused_by="")

        view = self.change(
            schedule_id, build, SkipReason.PAUSED, actor, ScheduleEventKind.PAUSED, note
        )
        is_meant = definition in {None, view.schedule.definition}
        if is_meant and view.schedule.paused_at is not None:
            event = Event(EventName.SCHEDULE_PAUSED, schedule_id, view.schedule.paused_at)
            self.publisher.publish(event)
        return view

    def resume(
        self, schedule_id: str, note: str | None, *, actor: str, definition: str | None = None
    ) -> ScheduleView:
        """Resume a schedule; its misfire policy decides about the times that it missed.

        The note of the pause ends with it. A ``note`` becomes the schedule's own. ``definition``:
        as for `pause`.
        """

        def build(current: Schedule, now: datetime) -> Schedule | None:
            if definition not in {None, current.definition}:
                return None
            if current.paused_at is not None:
                return resume(current, now=now, write_id=self.randomness.nonce(), note=note)
            return self._annotated(current, now, note=note)

        return self.change(
            schedule_id, build, SkipReason.REPLACED, actor, ScheduleEventKind.RESUMED, note
        )

    def delete(self, schedule_id: str, *, actor: str) -> None:
        """Delete a schedule; its pending jobs are cancelled, its running jobs continue.

        Raises `NotFound`.
        """

        def build(current: Schedule, now: datetime) -> Schedule | None:
            definition = definition_of(self.schedules, current)
            undecided = self.undecided.entries_of(current, definition, now, SkipReason.DELETED)
            write_id = self.randomness.nonce()
            rest = spill(self.schedules, current, self.timings)
            return delete(rest, now=now, write_id=write_id, undecided=undecided)

        self.change(schedule_id, build, SkipReason.DELETED, actor, ScheduleEventKind.DELETED)

    def recompute(self, schedule_id: str, *, actor: str) -> None:
        """Decide future times again: a calendar or the zone data changed."""

        def build(current: Schedule, now: datetime) -> Schedule | None:
            write_id = self.randomness.nonce()
            return recompute(current, now=now, zone_data=TZDATA_VERSION, write_id=write_id)

        try:
            self.change(schedule_id, build, SkipReason.REPLACED, actor, searches_on=False)
        except NotFound:
            return

    def trigger(
        self,
        schedule_id: str,
        note: str | None,
        *,
        actor: str,
        trace_id: str | None = None,
        key: str | None = None,
        **changes: Any,
    ) -> Job:
        """Run a schedule's job now, even if it is paused; its overlap policy applies, too.

        ``changes``: fields of the definition that this job alone has otherwise. Raises `NotFound`,
        `InvalidInput` for a payload that the handler cannot take, and as `Triggers.run`.
        """
        schedule = self._require(schedule_id)
        definition = replace(definition_of(self.schedules, schedule), **changes)
        if changes:
            self.check.check_payload(definition.handler, definition.payload_text)
        return self.triggers.run(schedule, definition, note or "", actor, trace_id, key)

    def change(
        self,
        schedule_id: str,
        build: Callable[[Schedule, datetime], Schedule | None],
        reason: SkipReason,
        actor: str,
        did: ScheduleEventKind | None = None,
        note: str | None = None,
        *,
        searches_on: bool = True,
    ) -> ScheduleView:
        """Write what ``build`` makes of the schedule as it stands; ``None``: nothing to do.

        ``reason``: why jobs are withdrawn that the schedule no longer wants. ``did`` with ``note``
        is what the caller is on record with; ``None``: no caller did it. Raises `NotFound`.
        """
        for _ in range(MAX_LOST_RACES):
            now = self.clock.now()
            current = self._require(schedule_id)
            definition = definition_of(self.schedules, current)
            after = build(current, now)
            if after is None:
                return self.views.of(current, definition)
            if did is not None:
                after = with_event(self.schedules, current, after, did, actor, note or "", now)
            if isinstance(self.schedules.write(after, previous=current.sequence), Written):
                self.telemetry.count("schedules_changed")
                after, effect = self.effects.follow_up(
                    current, after, definition, reason, actor, searches_on=searches_on
                )
                return self.views.of(after, definition, effect)
        raise changed_too_often(f"Schedule {schedule_id}")

    # --- parts ---

    def _put_state(
        self,
        current: Schedule,
        definition: ScheduleDefinition,
        request: ScheduleRequest,
        actor: str,
    ) -> ScheduleView | None:
        """Answer a put that leaves the definition as it is; ``None``: it changed meanwhile.

        A change of the origin comes first, by a write of its own: then it is looked at again.
        """
        # A pause of an origin is none of a person's.
        is_paused = current.paused_at is not None and not (request.paused and current.paused_by)
        keeps_state = request.paused is None or request.paused is is_paused
        has_origin = request.origin is None or request.origin == current.managed_by
        if has_origin and not keeps_state:
            # A note that is shown already is sent back, and says nothing about the change.
            note = None if request.note == current.note else request.note
            change = self.pause if request.paused else self.resume
            try:
                view = change(current.id, note, actor=actor, definition=current.definition)
            except NotFound:
                # It was deleted meanwhile, and the put creates it again.
                return None
            return view if view.schedule.definition == current.definition else None
        noted = replace(
            with_put_note(current, request.note, paused=request.paused) if keeps_state else current,
            managed_by=current.managed_by if request.origin is None else request.origin,
        )
        if noted == current:
            return self.views.of(current, definition)
        now = self.clock.now()
        after = annotate(noted, now=now, write_id=self.randomness.nonce())
        did, note = ScheduleEventKind.PUT, request.note or ""
        after = with_event(self.schedules, current, after, did, actor, note, now)
        is_written = isinstance(self.schedules.write(after, previous=current.sequence), Written)
        return self.views.of(after, definition) if is_written and has_origin else None

    def _annotated(self, current: Schedule, now: datetime, **given: str | None) -> Schedule | None:
        """Return the schedule with what is given and differs; ``None`` where nothing does."""
        changes = {
            name: text
            for name, text in given.items()
            if text is not None and text != getattr(current, name.removeprefix("pause_"))
        }
        if not changes:
            return None
        return annotate(current, now=now, write_id=self.randomness.nonce(), **changes)

    def _replacement(
        self,
        schedule_id: str,
        found: FoundSchedule,
        definition: ScheduleDefinition,
        request: ScheduleRequest,
        now: datetime,
    ) -> Schedule:
        write_id, record = self.randomness.nonce(), found.current
        if record is None:
            created = create(
                schedule_id,
                definition,
                now=now,
                zone_data=TZDATA_VERSION,
                write_id=write_id,
                paused=bool(request.paused),
                note=request.note or "",
                managed_by=request.origin or "",
            )
            if found.record is None:
                return created
            return put_over_deleted(created, found.given(found.record, definition, now))
        rest = found.given(spill(self.schedules, record, self.timings), definition, now)
        before = found.current_definition
        if before is not None and gives_up(record, before):
            left = self.undecided.entries_of(record, before, now, SkipReason.REPLACED)
            rest = replace(rest, journal=in_order((*rest.journal, *left)))
        return replace_definition(
            with_put_note(rest, request.note, paused=request.paused),
            definition,
            now=now,
            zone_data=TZDATA_VERSION,
            write_id=write_id,
            paused=request.paused,
            managed_by=request.origin,
            before=before,
        )

    def _require(self, schedule_id: str) -> Schedule:
        return require_live(self.schedules.get(schedule_id), schedule_id)
