"""One ordinary use of every move: the job as its caller read it, and the move that is built."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from hourhand.domain.jobs import transitions
from hourhand.domain.jobs.job import Content, Job, Lease, OnLost, Outcome, Priority
from hourhand.domain.jobs.transitions import Transition
from hourhand.domain.jobs.waiting import PAUSE, WaitKind, WaitsFor
from hourhand.domain.ticks.buckets import Entry
from tests.unit.domain.job_samples import (
    INLINE,
    NOW,
    OF_A_RUN,
    a_dead_job,
    a_debounced_job,
    a_job,
    a_message,
    a_retrying_job,
    a_running_job,
    a_sent_job,
    after,
    an_abandoned_job,
    with_long_history,
)

MARGIN = timedelta(seconds=2)
WAIT = timedelta(seconds=2)
SOON = Entry(after(1), 0)
FOR_SIGNAL = WaitsFor(WaitKind.SIGNAL, name="approved")
PAUSED = WaitsFor(WaitKind.SLOT, PAUSE, rank=1)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A move of ``moves.<builder>``, built by ``build`` from the job that was read."""

    builder: str
    variant: str = ""
    ordinary: Job
    build: Callable[[Job], Transition]

    @property
    def name(self) -> str:
        return f"{self.builder} {self.variant}".strip()

    def clause_names(self) -> set[str]:
        """The clauses of the move, those of a compacting write included."""
        compacting = self.build(with_long_history(self.ordinary))
        return {*self.build(self.ordinary).expect, *compacting.expect}


def _take_over(job: Job) -> Transition:
    return transitions.take_over(
        job,
        now=NOW,
        margin=MARGIN,
        lease=Lease(owner="worker-2", until=after(45), claim_id="claim-2"),
    )


def _claim(job: Job) -> Transition:
    return transitions.claim(
        a_message(job),
        now=NOW,
        wait=WAIT,
        lease=Lease(owner="worker-2", until=after(45), claim_id="claim-2"),
    )


def _fail(job: Job) -> Transition:
    return transitions.retry_later(
        job,
        now=NOW,
        actor="worker-1",
        outcome=Outcome.FAILED,
        reason="ValueError: no",
        entry=SOON,
        sends_now=True,
    )


def _recover(job: Job) -> Transition:
    return transitions.recover(
        job, now=NOW, margin=MARGIN, actor="scheduler", entry=SOON, sends_now=True
    )


def _park(job: Job) -> Transition:
    return transitions.park(
        job, now=NOW, actor="worker-1", waits_for=PAUSED, reason="the handler is paused"
    )


def _suspend(job: Job) -> Transition:
    return transitions.suspend(
        job,
        now=NOW,
        actor="worker-1",
        entry=SOON,
        sends_now=False,
        waits_for=FOR_SIGNAL,
        reason="signal approved",
    )


def _change(job: Job) -> Transition:
    return transitions.change(
        job, now=NOW, actor="api", sets={"run_at": after(1)}, entry=SOON, sends_now=True
    )


CASES = (
    Case(
        builder="mark_enqueued",
        ordinary=a_job(),
        build=lambda job: transitions.mark_enqueued(job, now=NOW, actor="scheduler"),
    ),
    Case(
        builder="mark_dispatched_again",
        ordinary=a_sent_job(),
        build=lambda job: transitions.mark_dispatched_again(
            job, now=NOW, actor="scheduler", queue=Priority.HIGH, reason="message missed"
        ),
    ),
    Case(
        builder="unmark",
        variant="of a submission",
        ordinary=a_sent_job(),
        build=lambda job: transitions.unmark(job, now=NOW, actor="api", reason="throttled"),
    ),
    Case(
        builder="unmark",
        variant="of a retry",
        ordinary=a_retrying_job(),
        build=lambda job: transitions.unmark(job, now=NOW, actor="worker-1", reason="throttled"),
    ),
    Case(
        builder="refile",
        ordinary=a_job(due_at=after(-10)),
        build=lambda job: transitions.refile(job, entry=Entry(NOW, 0), now=NOW, actor="api"),
    ),
    Case(
        builder="keep_payload",
        ordinary=a_job(payload_kept_until=after(86_400)),
        build=lambda job: transitions.keep_payload(job, kept_until=after(90 * 86_400)),
    ),
    Case(builder="park", variant="of a sent job", ordinary=a_sent_job(), build=_park),
    Case(builder="park", variant="of an unsent job", ordinary=a_job(), build=_park),
    Case(
        builder="unpark",
        ordinary=a_sent_job(waits_for=PAUSED),
        build=lambda job: transitions.unpark(
            job, now=NOW, actor="api", entry=None, sends_now=True, reason="resumed"
        ),
    ),
    Case(builder="suspend", ordinary=a_running_job(), build=_suspend),
    Case(
        builder="wake",
        ordinary=a_job(due_at=after(600), waits_for=FOR_SIGNAL),
        build=lambda job: transitions.wake(
            job, now=NOW, actor="api", entry=SOON, sends_now=True, reason="signal", signals=1
        ),
    ),
    Case(
        builder="flag",
        ordinary=a_running_job(signals=6),
        build=partial(transitions.flag, signals=7),
    ),
    Case(
        builder="count_signal",
        ordinary=a_job(due_at=after(600)),
        build=partial(transitions.count_signal, signals=1),
    ),
    Case(
        builder="clear_flag",
        ordinary=a_running_job(wake_flag=True),
        build=transitions.clear_flag,
    ),
    Case(
        builder="keep_journal",
        ordinary=a_running_job(journal_ends=after(86_400)),
        build=transitions.keep_journal,
    ),
    Case(
        builder="mark_compensated",
        ordinary=a_dead_job(),
        build=lambda job: transitions.mark_compensated(job, keep_until=None),
    ),
    Case(
        builder="prolong_child",
        ordinary=a_running_job(parent=OF_A_RUN),
        build=lambda job: transitions.prolong_child(job, kept_until=after(90 * 86_400)),
    ),
    Case(
        builder="restart",
        ordinary=a_running_job(),
        build=lambda job: transitions.restart(
            job,
            now=NOW,
            actor="worker-1",
            entry=SOON,
            sends_now=True,
            payload=INLINE,
            payload_kept_until=None,
        ),
    ),
    Case(builder="claim", ordinary=a_sent_job(), build=_claim),
    Case(builder="claim", variant="of a debounced job", ordinary=a_debounced_job(), build=_claim),
    Case(
        builder="adopt",
        ordinary=a_sent_job(schedule_revision=3),
        build=lambda job: transitions.adopt(
            job,
            now=NOW,
            actor="tick",
            sets={"schedule_revision": 5, "payload": Content(size_bytes=3, text='"x"')},
            reason="its schedule changed",
        ),
    ),
    Case(
        builder="debounce",
        ordinary=a_debounced_job(),
        build=lambda job: transitions.debounce(
            job, sets={"run_at": after(10), "payload": Content(size_bytes=3, text='"x"')}
        ),
    ),
    Case(builder="take_over", ordinary=an_abandoned_job(), build=_take_over),
    Case(
        builder="heartbeat",
        ordinary=a_running_job(),
        build=lambda job: transitions.heartbeat(job, lease_until=after(45), progress=None),
    ),
    Case(
        builder="complete",
        ordinary=a_running_job(),
        build=lambda job: transitions.complete(
            job, now=NOW, actor="worker-1", result=INLINE, progress=None
        ),
    ),
    Case(builder="retry_later", ordinary=a_running_job(), build=_fail),
    Case(
        builder="hand_back",
        ordinary=a_running_job(),
        build=lambda job: transitions.hand_back(
            job, now=NOW, actor="worker-1", entry=SOON, sends_now=True, reason="the process ends"
        ),
    ),
    Case(
        builder="die",
        ordinary=a_running_job(),
        build=lambda job: transitions.die(
            job, now=NOW, actor="worker-1", outcome=Outcome.FAILED, reason="ValueError: no"
        ),
    ),
    Case(
        builder="end_cancelled",
        ordinary=a_running_job(cancel_requested_at=after(-5)),
        build=lambda job: transitions.end_cancelled(
            job, now=NOW, actor="worker-1", reason="stopped"
        ),
    ),
    Case(builder="recover", variant="to RETRYING", ordinary=an_abandoned_job(), build=_recover),
    Case(
        builder="recover",
        variant="to DEAD",
        ordinary=an_abandoned_job(on_lost=OnLost.DEAD),
        build=_recover,
    ),
    Case(
        builder="recover",
        variant="to CANCELLED",
        ordinary=an_abandoned_job(cancel_requested_at=after(-100)),
        build=_recover,
    ),
    Case(builder="finish", ordinary=a_dead_job(), build=transitions.finish),
    Case(
        builder="finish",
        variant="of a child",
        ordinary=a_dead_job(parent=OF_A_RUN),
        build=transitions.finish,
    ),
    Case(
        builder="cancel_waiting",
        ordinary=a_sent_job(),
        build=lambda job: transitions.cancel_waiting(job, now=NOW, actor="api", reason="a mistake"),
    ),
    Case(
        builder="request_cancel",
        ordinary=a_running_job(),
        build=lambda job: transitions.request_cancel(job, now=NOW, actor="api", reason="a mistake"),
    ),
    Case(builder="change", ordinary=a_sent_job(), build=_change),
    Case(
        builder="expire",
        ordinary=a_sent_job(expires_at=after(-1)),
        build=lambda job: transitions.expire(job, now=NOW, actor="scheduler"),
    ),
    Case(
        builder="give_up",
        ordinary=a_sent_job(waits_for=WaitsFor(WaitKind.SLOT, "0", rank=1)),
        build=lambda job: transitions.give_up(job, now=NOW, actor="tick", reason="Deadlock: no"),
    ),
    Case(
        builder="supersede",
        ordinary=a_dead_job(),
        build=lambda job: transitions.supersede(job, now=NOW),
    ),
    Case(
        builder="redrive",
        ordinary=a_dead_job(),
        build=lambda job: transitions.redrive(
            job, now=NOW, actor="api", entry=SOON, sends_now=True, reason="fixed"
        ),
    ),
    Case(
        builder="discard",
        ordinary=a_dead_job(),
        build=lambda job: transitions.discard(
            job, now=NOW, actor="api", note="the list was wrong", reason="the list was wrong"
        ),
    ),
)
