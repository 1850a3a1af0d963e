"""Services of schedules that remember what they were asked and answer what they were given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from hourhand.api.access import AccessRules
from hourhand.api.requests.schedules import ScheduleInput
from hourhand.domain.errors import NotFound
from hourhand.domain.jobs.job import Job
from hourhand.domain.schedules.backfills import NewBackfill
from hourhand.domain.schedules.rule import Exclusion
from hourhand.domain.schedules.schedule import (
    Backfill,
    Calendar,
    JournalEntry,
    Schedule,
    ScheduleDefinition,
)
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerDirectory
from hourhand.ports.telemetry import Telemetry
from hourhand.services.audit import AuditService
from hourhand.services.callers import Callers
from hourhand.services.jobs.bulk import BulkService
from hourhand.services.jobs.operations import OperationsService
from hourhand.services.jobs.pauses import HandlerPauseService
from hourhand.services.jobs.queries import QueryService
from hourhand.services.jobs.submission import SubmissionService
from hourhand.services.schedules.backfills import BackfillReport
from hourhand.services.schedules.previews import Preview, PreviewFire
from hourhand.services.schedules.queries import OccurrencePage, OccurrenceRecord
from hourhand.services.schedules.views import ScheduleView
from hourhand.settings import Settings
from tests.world.factories import make_job
from tests.world.world import World

NEXT = START + timedelta(hours=1)
DEFINITION = ScheduleDefinition(expressions=("@hourly",), handler="greet")
Call = tuple[Any, ...]


def make_schedule(**overrides: Any) -> Schedule:
    """Return a schedule that was put at `START` and made nothing yet."""
    fields: dict[str, Any] = {
        "id": "nightly",
        "sequence": 1,
        "revision": 1,
        "write_id": "write-1",
        "definition": "definition-1",
        "created_at": START,
        "updated_at": START,
        "effective_from": START,
        "cursor": START,
        "zone_data": "2026a",
        **overrides,
    }
    return Schedule(**fields)


def make_backfill(**overrides: Any) -> Backfill:
    """Return a backfill of the last day, three of its 24 nominal times dealt with."""
    fields: dict[str, Any] = {
        "id": "b1",
        "schedule_id": "nightly",
        "sequence": 1,
        "write_id": "write-1",
        "definition": "definition-1",
        "start": START - timedelta(days=1),
        "end": START,
        "total": 24,
        "created_at": START,
        "position": 3,
        "made": 2,
        "skipped": 1,
        **overrides,
    }
    return Backfill(**fields)


@dataclass
class FakeSchedules:
    """Keeps what was put, by id."""

    views: dict[str, ScheduleView] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def put(
        self, schedule_id: str, request: ScheduleInput, *, actor: str, tenant: str | None = None
    ) -> tuple[ScheduleView, bool]:
        assert tenant is None, "no caller of these tests is bound to one"
        self.calls.append(("put", schedule_id, request.paused, request.note, actor))
        created = schedule_id not in self.views
        paused_at = START if request.paused else None
        schedule = make_schedule(
            id=schedule_id,
            note=request.note or "",
            paused_at=paused_at,
            managed_by=request.origin or "",
        )
        self.views[schedule_id] = ScheduleView(schedule, request.definition, NEXT)
        return self.views[schedule_id], created

    def preview_put(
        self, schedule_id: str, request: ScheduleInput, *, tenant: str | None = None
    ) -> ScheduleView:
        assert tenant is None, "no caller of these tests is bound to one"
        self.calls.append(("preview_put", schedule_id, request.paused, request.note))
        schedule = make_schedule(id=schedule_id, managed_by=request.origin or "")
        return ScheduleView(schedule, request.definition, NEXT)

    def get(self, schedule_id: str) -> ScheduleView:
        if schedule_id not in self.views:
            raise NotFound(f"There is no schedule {schedule_id}.")
        return self.views[schedule_id]

    def list(self, after: str | None, limit: int) -> tuple[list[ScheduleView], str | None]:
        ids = sorted(name for name in self.views if after is None or name > after)
        next_id = ids[limit - 1] if len(ids) > limit else None
        return [self.views[name] for name in ids[:limit]], next_id

    def pause(self, schedule_id: str, note: str | None, *, actor: str) -> ScheduleView:
        self.calls.append(("pause", schedule_id, note, actor))
        return self._set_paused(schedule_id, START)

    def resume(self, schedule_id: str, note: str | None, *, actor: str) -> ScheduleView:
        self.calls.append(("resume", schedule_id, note, actor))
        return self._set_paused(schedule_id, None)

    def delete(self, schedule_id: str, *, actor: str) -> None:
        self.get(schedule_id)
        self.calls.append(("delete", schedule_id, actor))
        del self.views[schedule_id]

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
        self.get(schedule_id)
        self.calls.append(("trigger", schedule_id, note, actor, trace_id))
        return make_job(id="triggered", schedule_id=schedule_id, occurrence=START)

    def _set_paused(self, schedule_id: str, paused_at: datetime | None) -> ScheduleView:
        view = self.get(schedule_id)
        schedule = replace(view.schedule, paused_at=paused_at)
        self.views[schedule_id] = replace(view, schedule=schedule)
        return self.views[schedule_id]


@dataclass
class FakeBackfills:
    """Answers with a report of 24 nominal times."""

    requests: list[tuple[str, NewBackfill, str]] = field(default_factory=list)

    def start(self, schedule_id: str, request: NewBackfill, *, actor: str) -> BackfillReport:
        self.requests.append((schedule_id, request, actor))
        return BackfillReport(
            backfill=None if request.dry_run else make_backfill(overlap=request.overlap),
            first=request.start,
            last=request.end,
            total=24,
            fires=(request.start, request.end),
            dry_run=request.dry_run,
            schedule=make_schedule(id=schedule_id),
        )


@dataclass
class FakeCalendars:
    """Keeps what was put, by name."""

    calendars: dict[str, Calendar] = field(default_factory=dict)

    def put(
        self, name: str, exclude: tuple[Exclusion, ...], *, note: str | None, actor: str
    ) -> tuple[Calendar, bool]:
        before = self.calendars.get(name)
        self.calendars[name] = Calendar(
            name=name,
            revision=1 if before is None else before.revision + 1,
            exclude=exclude,
            updated_at=START,
            note=note or "",
        )
        return self.calendars[name], before is None

    def get(self, name: str) -> Calendar:
        if name not in self.calendars:
            raise NotFound(f"There is no calendar {name}.")
        return self.calendars[name]

    def list(self, after: str | None, limit: int) -> tuple[list[Calendar], str | None]:
        names = sorted(name for name in self.calendars if after is None or name > after)
        next_name = names[limit - 1] if len(names) > limit else None
        return [self.calendars[name] for name in names[:limit]], next_name

    def delete(self, name: str, *, actor: str) -> None:
        self.get(name)
        del self.calendars[name]


@dataclass
class FakeOccurrences:
    """Answers with ``records``, page by page; a cursor is the number of those told before."""

    records: list[OccurrenceRecord] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)

    def history(self, schedule_id: str, *, limit: int, cursor: str | None) -> OccurrencePage:
        self.limits.append(limit)
        start = int(cursor or 0)
        end = start + limit
        return OccurrencePage(
            entries=tuple(self.records[start:end]),
            next_cursor=str(end) if end < len(self.records) else None,
            upcoming=tuple(START + timedelta(hours=n) for n in range(1, 11)),
        )


@dataclass
class FakePreviews:
    """Answers each preview alike, and keeps what was asked."""

    asked: list[tuple[ScheduleDefinition, int, datetime | None]] = field(default_factory=list)

    def preview(
        self,
        definition: ScheduleDefinition,
        *,
        count: int,
        after: datetime | None,
        month: date | None = None,
    ) -> Preview:
        self.asked.append((definition, count, after))
        note = "02:30 does not exist on this day: it fires at 03:00 instead."
        return Preview(
            fires=(PreviewFire(NEXT, "2026-01-05T11:00:00.000+01:00", note),),
            warnings=("The schedule runs once more, then never again.",),
        )


def skipped(count: int = 1, **overrides: Any) -> OccurrenceRecord:
    """Return a run of nominal times that were skipped, an hour apart."""
    last = START + timedelta(hours=count - 1)
    entry = JournalEntry(**{"first": START, "last": last, "count": count, **overrides})
    return OccurrenceRecord(entry, None, None)


def made(job: Job | None, **overrides: Any) -> OccurrenceRecord:
    """Return a nominal time that became ``job`` (``None``: one that is kept no more)."""
    entry = JournalEntry(**{"first": START, "last": START, **overrides})
    return OccurrenceRecord(entry, job, "o.gone" if job is None else job.id)


@dataclass(frozen=True)
class FakeServices:
    """The services of a world's jobs, and fakes of those of schedules."""

    submission: SubmissionService
    queries: QueryService
    operations: OperationsService
    bulk: BulkService
    callers: Callers
    audit: AuditService
    access: AccessRules
    pauses: HandlerPauseService
    handlers: HandlerDirectory
    settings: Settings
    telemetry: Telemetry
    schedules: FakeSchedules = field(default_factory=FakeSchedules)
    backfills: FakeBackfills = field(default_factory=FakeBackfills)
    calendars: FakeCalendars = field(default_factory=FakeCalendars)
    occurrences: FakeOccurrences = field(default_factory=FakeOccurrences)
    previews: FakePreviews = field(default_factory=FakePreviews)

    @property
    def schedule_views(self) -> FakeSchedules:
        """What reads the schedules that were put."""
        return self.schedules


def fake_services(world: World) -> FakeServices:
    """Return services that keep schedules, and do nothing else about them."""
    api = world.api
    return FakeServices(
        submission=api.submission,
        queries=api.queries,
        operations=api.operations,
        bulk=api.bulk,
        callers=api.callers,
        audit=api.audit,
        access=api.access,
        pauses=api.pauses,
        handlers=api.handlers,
        settings=api.settings,
        telemetry=api.telemetry,
    )
