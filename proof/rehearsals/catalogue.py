"""Every rehearsal by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proof.rehearsals.plays import failures, leaders, queues, restore, schedules, tables
from proof.rehearsals.stage import Scene, Stage


@dataclass(frozen=True, kw_only=True, slots=True)
class Rehearsal:
    """What is played, and on what."""

    play: Callable[[Stage], None]
    scene: Scene = field(default_factory=Scene)

    @property
    def shows(self) -> str:
        """What it shows, in a sentence."""
        return (self.play.__doc__ or "").strip()


REHEARSALS: Mapping[str, Rehearsal] = {
    "leader-stuck": Rehearsal(play=leaders.leader_stuck, scene=Scene(schedulers=2)),
    "no-tick": Rehearsal(play=leaders.no_tick),
    "skew": Rehearsal(play=leaders.skew),
    "backlog": Rehearsal(play=queues.backlog, scene=Scene(workers=1)),
    "hot-tenant": Rehearsal(play=queues.hot_tenant),
    "lost-queue": Rehearsal(play=queues.lost_queue),
    "mass-retries": Rehearsal(play=failures.mass_retries),
    "dead-letters": Rehearsal(play=failures.dead_letters),
    "bad-deploy": Rehearsal(play=failures.bad_deploy, scene=Scene(deploys=failures.DEPLOYS)),
    "worker-crash": Rehearsal(play=failures.worker_crash, scene=Scene(workers=3)),
    "hung-handler": Rehearsal(play=failures.hung_handler, scene=Scene(workers=3)),
    "restore": Rehearsal(play=restore.restore, scene=Scene(in_memory=True)),
    "poison-schedule": Rehearsal(play=schedules.poison_schedule),
    "throttled-table": Rehearsal(play=tables.throttled_table, scene=Scene(throttles=True)),
}
