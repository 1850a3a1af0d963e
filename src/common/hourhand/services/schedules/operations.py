"""The operations on schedules: put, read, pause, resume, delete, trigger.

Each is one conditional write on the schedule's item. What follows from it is done at once, and
would be done without us too: the tick visits what is due, and a job that its schedule withdrew is
refused at its claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hourhand.domain.errors import NotFound, Unavailable, WrongState
from hourhand.domain.jobs.job import EventKind, Job
from hourhand.domain.schedules.changes import (
    DEFINITION_KEPT,
    annotate,
    create,
    definition_name,
    delete,
    give_to_tenant,
    pause,
    recompute,
    replace_definition,
    resume,
    with_put_note,
)
from hourhand.domain.schedules.journal import skipped_runs
from hourhand.domain.schedules.nominal_times import (
    is_used_up,
    last_nominal,
    not_before_start,
    possible_occurrences_between,
    upcoming,
)
from hourhand.domain.schedules.rule import TZDATA_VERSION, BadExpression
from hourhand.domain.schedules.schedule import (
    Backfill,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
    ScheduleEventKind,
    SkipReason,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import leaving_newer
from hourhand.services.schedules.compiled_rules import (
    CompiledRules,
    definition_of,
    read_definitions,
    require_live,
)
from hourhand.services.schedules.history import spill, with_event
from hourhand.services.schedules.new_schedule import (
    ScheduleCheck,
    ScheduleRequest,
    settle_anchor,
)
from hourhand.services.schedules.triggers import Triggers
from hourhand.services.schedules.visit import Materialiser
from hourhand.services.schedules.withdrawal import Withdrawal

SCHEDULES_A_PAGE = 200
"""Schedules that are looked at together for those of one tenant."""

MAX_SECONDS_A_SEARCH = 20.0
"""A search for them must end before API Gateway's 30 seconds are over."""

MAX_LOST_RACES = 40
"""How often a schedule may change between the read and the write before the request fails."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change of a schedule did at once with its jobs: how many of them it changed so."""

    cancelled: int
    restored: int
    created: int


@dataclass(frozen=True, slots=True)
class ScheduleView:
    """A schedule with what it runs, when it fires next, and the backfills under way.

    ``broken_reason``: why its nominal times cannot be computed; absent where they can.
    ``effect``: of the change that was made; absent where none was, and where a part of its work was
    left to the next tick.
    """

    schedule: Schedule
    definition: ScheduleDefinition
    next_occurrence: datetime | None
    backfills: tuple[Backfill, ...] = ()
    broken_reason: str | None = None
    effect: Effect | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """What a put finds under its id: the record, also of a deleted schedule, and its definition."""

    record: Schedule | None
    definition: ScheduleDefinition | None

    @property
    def current(self) -> Schedule | None:
        """The schedule, unless it was deleted."""
        return self.record if self.record and self.record.deleted_at is None else None

    @property
    def current_definition(self) -> ScheduleDefinition | None:
        """The definition of the schedule, unless it was deleted."""
        return self.definition if self.current else None

    def given(self, schedule: Schedule, after: ScheduleDefinition, now: datetime) -> Schedule:
        """Return the schedule as it is put under ``after``, which may be of another tenant."""
        had = self.definition.tenant if self.definition else None
        return schedule if after.tenant in {None, had} else give_to_tenant(schedule, now=now)


@dataclass(frozen=True, slots=True)
class ScheduleService:
    """Changes schedules on request.

    After a lost race it decides again from the present schedule.
    """

    schedules: ScheduleStore
    check: ScheduleCheck
    materialiser: Materialiser
    triggers: Triggers
    withdrawal: Withdrawal
    recurrences: CompiledRules
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
            found = self._find(schedule_id, tenant)
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
                view = self._follow_up(record, after, definition, SkipReason.REPLACED, actor)
                return view, current is None
        raise _lost_too_often(schedule_id)

    def preview_put(
        self, schedule_id: str, request: ScheduleRequest, *, tenant: str | None = None
    ) -> ScheduleView:
        """Return the schedule as `put` would leave it, and change nothing. Raises as `put`."""
        now = self.clock.now()
        found = self._find(schedule_id, tenant)
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
        return self._view(
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

    def get(self, schedule_id: str) -> ScheduleView:
        """Return a schedule. Raises `NotFound`."""
        schedule = self._require(schedule_id)
        return self._view(schedule, definition_of(self.schedules, schedule))

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
            self._view(schedule, definitions[schedule.id])
            for schedule in sorted(live, key=lambda schedule: schedule.id)
            if schedule.id in definitions
        ]
        return views, page.next

    def pause(self, schedule_id: str, note: str | None, *, actor: str) -> ScheduleView:
        """Pause a schedule; its pending jobs are cancelled, its running jobs continue.

        The ``note`` stands for the schedule's own until it is resumed. Repeatable.
        """

        def build(current: Schedule, now: datetime) -> Schedule | None:
            if current.paused_at is None:
                return pause(current, now=now, write_id=self.randomness.nonce(), note=note)
            # It is a person's pause from here on.
            return self._annotated(current, now, pause_note=note, paused_by="")

        return self.change(
            schedule_id, build, SkipReason.PAUSED, actor, ScheduleEventKind.PAUSED, note
        )

    def resume(self, schedule_id: str, note: str | None, *, actor: str) -> ScheduleView:
        """Resume a schedule; its misfire policy decides about the times that it missed.

        The note of the pause ends with it. A ``note`` becomes the schedule's own.
        """

        def build(current: Schedule, now: datetime) -> Schedule | None:
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
            undecided = self._undecided(current, definition, now, SkipReason.DELETED)
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
        self, schedule_id: str, note: str | None, *, actor: str, trace_id: str | None = None
    ) -> Job:
        """Run a schedule's job now, even if it is paused; its overlap policy applies, too.

        Raises `NotFound`.
        """
        schedule = self._require(schedule_id)
        return self.triggers.run(
            schedule, definition_of(self.schedules, schedule), note or "", actor, trace_id
        )

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
                return self._view(current, definition)
            if did is not None:
                after = with_event(self.schedules, current, after, did, actor, note or "", now)
            if isinstance(self.schedules.write(after, previous=current.sequence), Written):
                self.telemetry.count("schedules_changed")
                return self._follow_up(
                    current, after, definition, reason, actor, searches_on=searches_on
                )
        raise _lost_too_often(schedule_id)

    # --- parts ---

    def _find(self, schedule_id: str, tenant: str | None) -> _Found:
        """Return what a put finds.

        Raises `WrongState` where that is not of ``tenant`` (``None``: any may have it).
        """
        record = self.schedules.get(schedule_id)
        if record is None:
            return _Found(None, None)
        definition = self.schedules.get_definition(schedule_id, record.definition)
        if tenant is not None and (definition is None or definition.tenant != tenant):
            # Ids are shared by all tenants, so that one is taken cannot be hidden.
            raise WrongState(f"The id {schedule_id} is taken. Choose another one.")
        return _Found(record, definition)

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
            return change(current.id, note, actor=actor)
        noted = replace(
            with_put_note(current, request.note, paused=request.paused) if keeps_state else current,
            managed_by=current.managed_by if request.origin is None else request.origin,
        )
        if noted == current:
            return self._view(current, definition)
        now = self.clock.now()
        after = annotate(noted, now=now, write_id=self.randomness.nonce())
        did, note = ScheduleEventKind.PUT, request.note or ""
        after = with_event(self.schedules, current, after, did, actor, note, now)
        is_written = isinstance(self.schedules.write(after, previous=current.sequence), Written)
        return self._view(after, definition) if is_written and has_origin else None

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
        found: _Found,
        definition: ScheduleDefinition,
        request: ScheduleRequest,
        now: datetime,
    ) -> Schedule:
        write_id, record = self.randomness.nonce(), found.record
        if record is None:
            return create(
                schedule_id,
                definition,
                now=now,
                zone_data=TZDATA_VERSION,
                write_id=write_id,
                paused=bool(request.paused),
                note=request.note or "",
                managed_by=request.origin or "",
            )
        rest = found.given(spill(self.schedules, record, self.timings), definition, now)
        return replace_definition(
            with_put_note(rest, request.note, paused=request.paused),
            definition,
            now=now,
            zone_data=TZDATA_VERSION,
            write_id=write_id,
            paused=request.paused,
            managed_by=request.origin,
            undecided=self._undecided(record, found.current_definition, now, SkipReason.REPLACED),
        )

    def _undecided(
        self,
        found: Schedule,
        before: ScheduleDefinition | None,
        now: datetime,
        reason: SkipReason,
    ) -> tuple[JournalEntry, ...]:
        """Return what the definition before left undecided: by an outage, or by a pause."""
        if before is None or found.cursor >= now or is_used_up(found, before):
            return ()
        paused_at = found.paused_at or now
        return (
            *self._skipped(found, before, found.cursor, min(paused_at, now), reason),
            *self._skipped(found, before, max(found.cursor, paused_at), now, SkipReason.PAUSED),
        )

    def _skipped(
        self,
        found: Schedule,
        before: ScheduleDefinition,
        after: datetime,
        until: datetime,
        reason: SkipReason,
    ) -> tuple[JournalEntry, ...]:
        recurrence = self.recurrences.of_what_is_left(before)
        if recurrence is None:
            return ()
        after = not_before_start(before, after)
        until = min(until, last_nominal(before))
        possible = possible_occurrences_between(recurrence, after, until)
        made_before = self.materialiser.occurrence_jobs.find_made(found, possible)
        return skipped_runs(recurrence, after, until, reason, made_before)

    def _follow_up(
        self,
        before: Schedule | None,
        after: Schedule,
        definition: ScheduleDefinition,
        reason: SkipReason,
        actor: str,
        *,
        searches_on: bool = True,
    ) -> ScheduleView:
        """Materialise what is due soon, and cancel what was pending and is not wanted any more.

        The change itself stands already. What fails here is done by the next tick, or at a claim.
        """
        written = after
        effect: Effect | None = None
        jobs: Sequence[Job] = ()
        cancelled = 0
        try:
            if after.next_at is not None:
                now = self.clock.now()
                horizon = now + self.timings.look_ahead
                visited = self.materialiser.visit(
                    after,
                    definition,
                    now=now,
                    horizon=horizon,
                    actor=actor,
                    searches_on=searches_on,
                )
                after, jobs = visited.schedule, visited.jobs
            if before is not None:
                cancelled = self.withdrawal.cancel(before, after, reason, actor)
                self._settle_definitions(before, written, definition)
            if written.deleted_at is not None and written.last_event is not None:
                # The item is forgotten before its events are.
                self.schedules.put_event(written.id, written.last_event)
            effect = _effect_on(jobs, cancelled)
        except Unavailable as error:
            self.telemetry.warning(
                "A schedule was changed. Its follow-up work failed and is left to the next tick.",
                schedule_id=after.id,
                reason=error.detail,
            )
        return replace(self._view(after, definition), effect=effect)

    def _settle_definitions(
        self, before: Schedule, written: Schedule, definition: ScheduleDefinition
    ) -> None:
        """Keep the definition that is used, and let the one expire that is not.

        Where two replace the schedule at one time, one may let expire what the other just kept:
        so each looks again, after its schedule stands.
        """
        if (written.definition, written.deleted_at) == (before.definition, before.deleted_at):
            return
        if written.deleted_at is None:
            self.schedules.put_definition(written.id, written.definition, definition)
            if written.definition == before.definition:
                return
        keep_until = written.updated_at + DEFINITION_KEPT
        self.schedules.retire_definition(before.id, before.definition, keep_until)
        current = self.schedules.get(before.id)
        if current is not None and current.definition == before.definition:
            retired = self.schedules.get_definition(current.id, current.definition)
            if retired is not None and current.deleted_at is None:
                self.schedules.put_definition(current.id, current.definition, retired)

    def _require(self, schedule_id: str) -> Schedule:
        return require_live(self.schedules.get(schedule_id), schedule_id)

    def _view(self, schedule: Schedule, definition: ScheduleDefinition) -> ScheduleView:
        backfills: list[Backfill] = []
        for backfill_id in schedule.backfills:
            with leaving_newer(self.telemetry):
                backfill = self.schedules.get_backfill(schedule.id, backfill_id)
                backfills += [backfill] if backfill is not None else []
        try:
            recurrence = self.recurrences.of(definition)
        except BadExpression as error:
            # It must still be shown: else it could not be repaired.
            return ScheduleView(schedule, definition, None, tuple(backfills), error.detail)
        if schedule.broken and schedule.is_live and schedule.next_at is None:
            # What it depends on changed, and no visit has seen that yet.
            return ScheduleView(schedule, definition, None, tuple(backfills), schedule.broken)
        following = upcoming(schedule, definition, recurrence, now=self.clock.now(), count=1)
        return ScheduleView(schedule, definition, next(iter(following), None), tuple(backfills))


def _effect_on(jobs: Sequence[Job], cancelled: int) -> Effect:
    """Return what was done: ``jobs`` were put for a schedule, and so many others cancelled."""
    did = [job.history[-1].kind for job in jobs]
    return Effect(
        cancelled=cancelled,
        restored=did.count(EventKind.REDRIVEN),
        created=did.count(EventKind.SUBMITTED),
    )


def _lost_too_often(schedule_id: str) -> Unavailable:
    return Unavailable(f"Schedule {schedule_id} changed too often during the request; try again.")
