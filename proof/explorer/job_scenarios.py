"""The scenarios of single jobs: what is submitted, worked off, lost, changed and redriven."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from proof.explorer.operations import (
    changes,
    operates,
    submits,
    submits_two,
    submitted,
)
from proof.explorer.scenario import CRASH, SECOND, Limits, Scenario, scenarios_among
from tests.scenarios.steps import FAR, after, passed, purged
from tests.world.runs import fail, fail_for_good, snooze, stop_if_told, succeed

ONE_JOB = Scenario(
    name="one-job",
    about="one job from its submission to its end",
    operations=(submits(),),
    ticks=2,
    deliveries=2,
    handlers={"look": stop_if_told},
    limits=Limits(crashes=1, expiries=1),
)

CANCELLED = replace(
    ONE_JOB,
    name="cancel",
    about="one job, and somebody who cancels it",
    operations=(submits(), operates("canceller", "cancel")),
    ticks=1,
    limits=CRASH,
)

MESSAGES = Scenario(
    name="messages",
    about="a message that is lost, delivered twice and late; answers that are lost",
    arrange=submitted(),
    ticks=2,
    deliveries=2,
    instants=(61 * SECOND,),
    limits=Limits(crashes=0, expiries=1, losses=1, duplicates=1),
)

MESSAGES_ALONE = Scenario(
    name="messages-alone",
    about="workers die, and nobody sweeps: the messages alone bring the job to its end",
    arrange=submitted(),
    deliveries=3,
    sweeps=False,
    limits=Limits(crashes=1, expiries=1),
)

STALE_INDEX = Scenario(
    name="stale-index",
    about="an index that does not show the last write yet",
    operations=(submits(),),
    ticks=2,
    deliveries=1,
    handlers={"fail": fail, "succeed": succeed},
    limits=Limits(crashes=1, expiries=1, stale=1),
)

AHEAD = Scenario(
    name="ahead",
    about="jobs seen ahead of time, sent in one batch, one of them refused by the queue: on time",
    arrange=after(
        submitted("one", delay_seconds=FAR), submitted("two", delay_seconds=FAR), passed(FAR - 200)
    ),
    ticks=2,
    punctual=SECOND,
    limits=Limits(crashes=1, expiries=0, throttles=1, lost_answers=1),
)

BATCH = Scenario(
    name="batch",
    about="two jobs submitted together, one of whose messages is refused",
    operations=(submits_two(),),
    ticks=1,
    deliveries=2,
    limits=Limits(crashes=1, expiries=0, throttles=1),
)

RETRIED = Scenario(
    name="retry",
    about="a job that fails, is put off, or succeeds, with two attempts",
    arrange=submitted(retry={"max_attempts": 2}),
    ticks=1,
    deliveries=3,
    handlers={"succeed": succeed, "fail": fail, "snooze": snooze(30)},
    limits=Limits(crashes=1, expiries=1),
)

DEAD = Scenario(
    name="dead",
    about="a job that dies, its dead letter, and somebody who redrives it",
    arrange=submitted(on_lost="dead"),
    operations=(operates("redriver", "redrive"),),
    ticks=1,
    deliveries=2,
    handlers={"succeed": succeed, "fail for good": fail_for_good},
    limits=Limits(crashes=1, expiries=1, lost_answers=1),
)

LAST_ATTEMPT = Scenario(
    name="last-attempt",
    about="a lost attempt that was the last, beside a request to stop",
    arrange=submitted(retry={"max_attempts": 1}),
    operations=(operates("canceller", "cancel"),),
    ticks=2,
    deliveries=2,
    handlers={"look": stop_if_told, "fail": fail},
    limits=Limits(crashes=1, expiries=1),
)

EXPIRES = Scenario(
    name="expires",
    about="a job that must not start any more after a while, sent and swept around that time",
    arrange=after(submitted(expires_at="2026-01-05T09:00:30Z")),
    ticks=2,
    deliveries=2,
    instants=(29 * SECOND, 30 * SECOND),
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)

RESCHEDULED = Scenario(
    name="change",
    about="a job that is put off, made due at once and raised while workers take it",
    arrange=submitted(delay_seconds=FAR),
    operations=(
        operates("hurrier", "run_now"),
        changes("changer", delay_seconds=FAR),
        changes("raiser", priority="high"),
    ),
    ticks=1,
    deliveries=2,
    limits=CRASH,
)

PUT_OFF = replace(
    RESCHEDULED,
    name="put-off",
    about="a job that is put off, or raised, while its message is on its way",
    arrange=submitted(delay_seconds=100),
    operations=(changes("changer", delay_seconds=160),),
    punctual=None,
    instants=(100 * SECOND, 160 * SECOND),
    limits=Limits(crashes=1, expiries=2),
)

AGING = Scenario(
    name="aging",
    about="a job that waits too long in `low` and is raised twice; every message is out there",
    arrange=after(submitted(priority="low"), passed(3600)),
    ticks=2,
    deliveries=2,
    instants=(7200 * SECOND,),
    limits=Limits(crashes=0, expiries=1),
)

MISSED = Scenario(
    name="missed",
    about="a message that was lost is sent again, by two schedulers at once",
    arrange=after(submitted(), purged, passed(61)),
    ticks=2,
    deliveries=2,
    limits=Limits(crashes=1, expiries=1, lost_answers=1),
)

KEY = Scenario(
    name="key",
    about="two submissions under one idempotency key, and workers",
    operations=(
        submits("submitter", None, idempotency_key="k"),
        submits("repeater", None, idempotency_key="k"),
    ),
    ticks=0,
    deliveries=2,
    handlers={"succeed": succeed, "fail": fail},
    limits=Limits(crashes=1, expiries=1),
)

WATERMARK = Scenario(
    name="watermark",
    about="a writer that stands still until its bucket is closed",
    operations=(submits(),),
    ticks=3,
    schedulers=1,
    control="real",
    stalls=True,
    instants=(121 * SECOND, 170 * SECOND),
    # A writer that dies as it notices leaves its job to the deep re-read, four buckets a tick.
    settle_ticks=400,
    limits=Limits(crashes=0, expiries=2),
)

WATERMARK_RETRY = replace(
    WATERMARK,
    name="watermark-retry",
    about="a job that is retried by a worker that stands still until its bucket is closed",
    arrange=submitted(),
    operations=(),
    deliveries=1,
    handlers={"fail": fail, "succeed": succeed},
    limits=Limits(crashes=0, expiries=2),
)

SKEWED = Scenario(
    name="skewed",
    about="clocks that differ by twice as much as is corrected: nobody takes over early",
    arrange=submitted(),
    ticks=1,
    deliveries=3,
    handlers={"look": stop_if_told},
    skews={"worker 1": -SECOND, "worker 2": SECOND, "worker 3": SECOND, "tick": SECOND},
    audits=False,
    offsets=(-SECOND, timedelta(milliseconds=500), timedelta(milliseconds=1001)),
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)

WILD_CLOCKS = replace(
    SKEWED,
    name="wild-clocks",
    about="clocks that are minutes off: at most one commit, and final is final, all the same",
    skews={"worker 1": -90 * SECOND, "worker 2": 90 * SECOND, "tick": 300 * SECOND},
    bounded=False,
    operations=(operates("canceller", "cancel"),),
    limits=Limits(crashes=1, expiries=0, duplicates=1),
)

JOBS = scenarios_among(vars())
