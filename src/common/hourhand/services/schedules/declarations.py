"""Applies the schedules that the code declares, once for each deployment.

A tick that runs in a deployment whose declarations are not applied yet puts each declared
schedule, and pauses those that are declared no more. The record of the walks says how far this
came; see `hourhand.domain.schedules.schedule.Walk`:

1. Before anything is put, the record names the deployment and every schedule that it may put. So a
   later deployment finds them all, also after a crash at any point.
2. Each pass looks at all of them. Repeated passes do no harm: what is as it should be stays.
3. A pass that changed something is followed by another one, at least a tick later. By then, every
   scheduler of an earlier deployment has ended, and what a late one wrote is found and put right.

Which deployment is live, the port `Deployment` says. So no scheduler of an old or a coming version
applies its own declarations beside the live one, and a rollback applies those of the older code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.domain.errors import NotFound, Unavailable, WrittenByNewer
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import TICK
from hourhand.domain.schedules.changes import pause
from hourhand.domain.schedules.schedule import (
    CODE,
    Schedule,
    ScheduleDefinition,
    SkipReason,
    Walk,
)
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.deployment import Deployment
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerDirectory
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import log_newer, reason_of

if TYPE_CHECKING:
    from hourhand.services.schedules.operations import ScheduleService

DECLARED = "A schedule that the code declares was put."
"""Logged for each schedule that a deployment creates or changes."""

UNDECLARED_NOTE = "paused, since the code declares it no more"
"""The note of a schedule whose declaration was removed."""


@dataclass(frozen=True, slots=True)
class DeclaredPut:
    """A declared schedule as it is to be; see `ScheduleRequest`."""

    definition: ScheduleDefinition
    paused: bool | None
    note: str | None
    origin: str | None = CODE


@dataclass(slots=True)
class _Pass:
    """What a pass found. ``is_whole``: it looked at every schedule, and could judge each."""

    changes: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class DeclaredSchedules:
    """Applies the declarations of the deployment that runs here, if it is the live one."""

    handlers: HandlerDirectory
    deployment: Deployment
    schedules: ScheduleStore
    service: ScheduleService
    randomness: Randomness
    timings: Timings
    telemetry: Telemetry

    def step(self, walk: Walk, may_go_on: Callable[[], bool], now: datetime) -> Walk | None:
        """Make the next pass, if one is due; return the record as it stands then.

        ``None``: another component wrote the record; the next tick goes on. Raises `Unavailable`.
        """
        declared = {
            info.name: info.schedule for info in self.handlers.all() if info.schedule is not None
        }
        if not declared and not walk.declared_ids and walk.declared == walk.declaring:
            return walk
        name = self._name(declared)
        if not self._is_due(walk, name, now) or not self.deployment.is_live():
            return walk
        if walk.declaring != name:
            begun = replace(
                walk,
                declaring=name,
                # After a rollback it may have this very name.
                declared="",
                declared_at=None,
                declared_ids=tuple(sorted({*walk.declared_ids, *declared})),
            )
            stored = write_walk(self.schedules, self.randomness, begun)
            if stored is None:
                return None
            walk = stored
        made = self._pass(walk, declared, may_go_on)
        if not made.is_whole:
            return walk
        if made.changes or walk.declared_at is None:
            return write_walk(self.schedules, self.randomness, replace(walk, declared_at=now))
        return write_walk(
            self.schedules,
            self.randomness,
            replace(walk, declared=name, declared_ids=tuple(sorted(declared))),
        )

    def _name(self, declared: Mapping[str, DeclaredSchedule]) -> str:
        """Return a name of this deployment with these declarations.

        In the local cloud a change of the code is no new deployment.
        """
        record = {name: asdict(schedule) for name, schedule in declared.items()}
        return f"{self.deployment.id} {content_hash(json.dumps(record, sort_keys=True))}"

    def _is_due(self, walk: Walk, name: str, now: datetime) -> bool:
        if walk.declaring != name:
            return True
        if walk.declared == name:
            return False
        return walk.declared_at is None or now >= walk.declared_at + self.timings.tick

    def _pass(
        self, walk: Walk, declared: Mapping[str, DeclaredSchedule], may_go_on: Callable[[], bool]
    ) -> _Pass:
        made = _Pass()
        for schedule_id in walk.declared_ids:
            if not may_go_on():
                made.is_whole = False
                break
            wanted = declared.get(schedule_id)
            try:
                is_changed = (
                    self._undeclare(schedule_id)
                    if wanted is None
                    else self._declare(schedule_id, wanted)
                )
                made.changes += is_changed
            except WrittenByNewer as newer:
                log_newer(self.telemetry, newer)
                made.is_whole = False
            except Unavailable:
                raise
            except Exception as error:  # noqa: BLE001 - one schedule must not hold up the others
                self.telemetry.warning(
                    "A schedule that the code declares could not be put. Deploy a correction.",
                    schedule_id=schedule_id,
                    reason=reason_of(error),
                )
        return made

    def _declare(self, schedule_id: str, wanted: DeclaredSchedule) -> bool:
        """Put a declared schedule; whether that changed it. A person's pause stays."""
        seen: list[Schedule | None] = []

        def build(current: Schedule | None) -> DeclaredPut | None:
            seen.append(current)
            if current is not None and current.managed_by not in {"", CODE}:
                return None
            is_ours = current is not None and current.paused_by == CODE
            return DeclaredPut(
                definition_of_declared(schedule_id, wanted),
                paused=False if is_ours else None,
                note=None,
            )

        done = self.service.put_over(schedule_id, build, actor=TICK)
        if done is None:
            self.telemetry.warning(
                "A schedule that the code declares is managed by another origin, and is left to "
                "it. Rename the handler, or remove the schedule there.",
                schedule_id=schedule_id,
            )
            return False
        # The first look: a put may take two writes.
        before, after = seen[0], done[0].schedule
        if before is not None and _state(before) == _state(after):
            return False
        self.telemetry.info(
            DECLARED,
            schedule_id=schedule_id,
            expression=" | ".join(wanted.expressions),
            timezone=wanted.timezone,
        )
        return True

    def _undeclare(self, schedule_id: str) -> bool:
        """Pause a schedule of the code that is declared no more; whether that changed it."""
        is_changed = False

        def build(current: Schedule, now: datetime) -> Schedule | None:
            nonlocal is_changed
            is_changed = current.managed_by == CODE and current.paused_at is None
            if not is_changed:
                return None
            write_id = self.randomness.nonce()
            return pause(current, now=now, write_id=write_id, note=UNDECLARED_NOTE, by=CODE)

        try:
            self.service.change(schedule_id, build, SkipReason.PAUSED, TICK)
        except NotFound:
            return False
        if is_changed:
            self.telemetry.warning(
                "A schedule was paused, because the code declares it no more.",
                schedule_id=schedule_id,
            )
        return is_changed


def definition_of_declared(handler: str, declared: DeclaredSchedule) -> ScheduleDefinition:
    """Return what a declared schedule runs and when: the handler's policies apply."""
    return ScheduleDefinition(
        expressions=declared.expressions,
        is_union=not isinstance(declared.expression, str),
        handler=handler,
        timezone=declared.timezone,
    )


def _state(schedule: Schedule) -> tuple[object, ...]:
    """Return what a put of a declaration may change."""
    return schedule.definition, schedule.managed_by, schedule.paused_at


def write_walk(schedules: ScheduleStore, randomness: Randomness, walk: Walk) -> Walk | None:
    """Store ``walk`` as it was changed since it was read; ``None``: another wrote it meanwhile."""
    written = replace(walk, sequence=walk.sequence + 1, write_id=randomness.nonce())
    return written if schedules.write_walk(written, previous=walk.sequence) else None
