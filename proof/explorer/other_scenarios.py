"""The scenarios of attempts that are hard to end, of entries filed anew, and of odd submissions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.jobs.job import Job
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.services.jobs.submission import Submitted
from proof.explorer.leader_scenarios import complain, true_time
from proof.explorer.operations import JOB, changes, operates, refiles, submits, submitted
from proof.explorer.process import CALLER, HonestPulse, ScriptedProcess
from proof.explorer.record_scenarios import keyed
from proof.explorer.scenario import (
    CRASH,
    QUIET,
    SECOND,
    Limits,
    Operation,
    Scenario,
    scenarios_among,
)
from tests.scenarios.steps import FAR, IN_BUCKET, after, passed, ticked, worn
from tests.world.factories import make_record
from tests.world.runs import fail, fail_for_good, stop_if_told, succeed
from tests.world.world import World


def _never_again(job: Job, pulse: Pulse) -> Finished:
    if job.token > 1:
        assert isinstance(pulse, HonestPulse)
        pulse.script.complaints.append("a job runs again after an error that no retry heals")
    return fail_for_good(job, pulse)


NOT_HEALED = Scenario(
    name="not-healed",
    about="a job that fails by an error that no retry heals",
    arrange=submitted(retry={"max_attempts": 3}),
    deliveries=2,
    handlers={"fail for good": _never_again},
    rests=True,
    limits=replace(QUIET, expiries=1, liveness="none"),
)


def _beats(job: Job, pulse: Pulse) -> Finished:
    """Beat once, and complain where the lease is not what was told."""
    assert isinstance(pulse, HonestPulse)
    attempt: Any = pulse.pulse
    clock, timings = attempt.tools.clock, attempt.tools.timings
    began = clock.now()
    told = pulse.beat(None)
    until = attempt.job.at("lease.until")
    if told == "alive" and until < clock.now() and pulse.script.last.error is not None:
        pulse.script.complaints.append("whoever cannot beat was told to go on without a lease")
    if pulse.script.last.error is None and told == "alive" and until < began + timings.job_lease:
        pulse.script.complaints.append("a heartbeat did not extend the lease")
    return succeed(job, pulse)


BEATS = Scenario(
    name="beats",
    about="a handler that beats, some time after its start, and may have no answer",
    arrange=submitted(),
    deliveries=1,
    handlers={"beat": _beats},
    instants=(20 * SECOND,),
    limits=Limits(crashes=0, expiries=1, throttles=1, liveness="none"),
)

GIVEN_UP_FOR_GOOD = Scenario(
    name="zombie-dies",
    about="a paused worker's attempt fails for good after another took over",
    arrange=submitted(),
    deliveries=2,
    handlers={"fail for good": fail_for_good, "succeed": succeed},
    limits=Limits(crashes=0, expiries=1, liveness="none"),
)

INSISTENT = Scenario(
    name="insistent",
    about="calls of a worker that have no answer, or whose answer is lost: nothing is given up",
    arrange=submitted(),
    deliveries=1,
    handlers={"succeed": succeed, "look": stop_if_told},
    limits=replace(QUIET, throttles=1, lost_answers=1, liveness="rest"),
)

STOPPED_AT_ONCE = Scenario(
    name="stopped-as-it-fails",
    about="a job that fails as somebody cancels it: its end is committed",
    arrange=submitted(retry={"max_attempts": 3}),
    operations=(operates("canceller", "cancel"),),
    deliveries=1,
    handlers={"fail": fail},
    limits=replace(QUIET, liveness="rest"),
)

PUT_OFF_AS_SENT = Scenario(
    name="put-off-as-sent",
    about="a job is put off while its message is being sent ahead of time",
    arrange=after(submitted(delay_seconds=FAR), passed(FAR - 200)),
    operations=(changes("changer", delay_seconds=FAR),),
    ticks=1,
    punctual=SECOND,
    limits=replace(QUIET, liveness="rest"),
)

REFILED = Scenario(
    name="refiled",
    about="a job is put off as its entry is filed anew",
    arrange=submitted(delay_seconds=FAR),
    operations=(refiles(), changes("changer", delay_seconds=2 * FAR)),
    limits=QUIET,
)

REFILED_FULL = Scenario(
    name="refiled-full",
    about="a job whose record is full is raised as its entry is filed anew",
    arrange=after(submitted(delay_seconds=FAR), worn),
    operations=(refiles(), changes("raiser", priority="low")),
    limits=QUIET,
)

REFILED_FINAL = Scenario(
    name="refiled-final",
    about="a job whose payload lies in the bucket is cancelled as its entry is filed anew",
    arrange=after(submitted(payload=IN_BUCKET), passed(70)),
    operations=(refiles(), operates("canceller", "cancel")),
    limits=QUIET,
)

PAST = Scenario(
    name="past",
    about="a job that is to run at a time that is over",
    operations=(submits(run_at="2026-01-05T08:00:00Z"),),
    control="real",
    limits=CRASH,
)

UNREADABLE = Scenario(
    name="unreadable",
    about="a bucket that cannot be read, twice, as the sweep would close it",
    arrange=after(submitted(), passed(121)),
    ticks=2,
    schedulers=1,
    control="real",
    instants=(170 * SECOND,),
    limits=Limits(crashes=0, expiries=1, throttles=2, liveness="none"),
)

OPEN = Scenario(
    name="open",
    about="an older bucket with a job in it, which cannot be read once",
    arrange=after(submitted(), passed(121), *(after(ticked, passed(60)) for _ in range(3))),
    ticks=2,
    schedulers=1,
    control="real",
    limits=Limits(crashes=0, expiries=0, throttles=1, liveness="none"),
)


def _submits_body(name: str, payload: int) -> Operation:
    request = JobSubmission.parse({"handler": "greet", "idempotency_key": "k", "payload": payload})

    def act(process: ScriptedProcess) -> Submitted:
        submitted_job = process.api.submission.submit(request, actor=CALLER)
        if submitted_job.job.body_hash != request.body_hash:
            complain(process, f"{name} was told of a job with another body")
        return submitted_job

    return Operation(name=name, act=act)


OTHER_BODY = Scenario(
    name="other-body",
    about="two submissions with different bodies under one key: one is refused",
    operations=(_submits_body("submitter", 1), _submits_body("repeater", 2)),
    limits=CRASH,
)


def _done_before(world: World) -> None:
    key = idempotency_record_key(None, "k")
    world.keys.begin(make_record(key=key, job_id="other", is_done=True), now=world.clock.now())


OTHER_INPUTS = Scenario(
    name="other-inputs",
    about="a job under whose key the result of other inputs is on record",
    arrange=after(_done_before, keyed),
    deliveries=1,
    limits=CRASH,
)


def _submits_promptly(process: ScriptedProcess) -> object:
    """Submit; complain where it is acknowledged though its last write took beyond the bound."""
    adapters = process.adapters
    timed = _TimedWrites(adapters.jobs, process)
    jobs: Any = timed
    process.adapters = replace(adapters, jobs=jobs)
    request = JobSubmission.parse({"handler": "greet", "id": JOB})
    result = process.api.submission.submit(request, actor=CALLER)
    if timed.took > process.scenario.timings.stall_bound:
        complain(process, "a submission was acknowledged that stalled to the end")
    return result


@dataclass(slots=True)
class _TimedWrites:
    """A jobs table that tells how long the last write took."""

    jobs: Any
    process: ScriptedProcess
    took: timedelta = timedelta(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.jobs, name)

    def put(self, job: Job) -> Any:
        return self._timed(lambda: self.jobs.put(job))

    def transition(self, move: Any) -> Any:
        return self._timed(lambda: self.jobs.transition(move))

    def _timed(self, write: Callable[[], Any]) -> Any:
        began = true_time(self.process)
        result = write()
        self.took = true_time(self.process) - began
        return result


STALLS = Scenario(
    name="stalls",
    about="a writer that stalls again and again acknowledges nothing",
    operations=(Operation(name="submitter", act=_submits_promptly),),
    stalls=True,
    instants=tuple(6 * n * SECOND for n in range(1, 9)),
    limits=Limits(crashes=0, expiries=7, liveness="none"),
)

IN_BUCKET_ENDS = Scenario(
    name="bucket-ends",
    about="a worker dies as it ends a job whose payload lies in the bucket",
    arrange=submitted(payload=IN_BUCKET),
    deliveries=1,
    limits=CRASH,
)

OTHERS = scenarios_among(vars())
