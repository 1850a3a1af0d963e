"""Every piece of work that a process can die in: of the API, of the scheduler, of a worker."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from tests.scenarios.steps import (
    BESIDE,
    FAR,
    IN_BUCKET,
    after,
    ask_again_in,
    beat_twice,
    cancel_while_running,
    cancels_from_outside,
    changes,
    delivered,
    died_owing_its_letter,
    discarded,
    first,
    first_round,
    handler_paused,
    hands_back,
    operates,
    passed,
    pauses_handler,
    payload_near_its_end,
    purged,
    resumes_handler,
    return_text,
    stops_as_told,
    submits,
    submits_three,
    submitted,
    sweeps_shards,
    ticked,
    ticks,
    works,
)
from tests.scenarios.work import Work
from tests.world.runs import (
    fail,
    fail_for_good,
    kill_process,
    snooze,
    succeed,
    time_out,
)
from tests.world.world import World

SUCCEEDED, DEAD, CANCELLED, EXPIRED = (
    JobStatus.SUCCEEDED,
    JobStatus.DEAD,
    JobStatus.CANCELLED,
    JobStatus.EXPIRED,
)
ONCE = {"max_attempts": 1}
TWICE = {"max_attempts": 2}
LEASE_OVER = passed(50)
"""The lease is over, and SQS has not delivered again yet."""

DELIVERED_AGAIN = passed(61)
LATER = rfc3339(START + timedelta(seconds=2 * FAR))
SOON_OVER = rfc3339(START + timedelta(seconds=30))

SUBMISSIONS = [
    Work(name="submit, due now", act=submits(), creates=True),
    Work(name="submit, due soon", act=submits(delay_seconds=200), creates=True),
    Work(name="submit, due far off", act=submits(delay_seconds=FAR), creates=True),
    Work(name="submit under a key", act=submits(idempotency_key="k"), creates=True),
    Work(name="submit with an id", act=submits(id="own"), creates=True),
    Work(name="submit a payload beside", act=submits(payload=BESIDE), creates=True),
    Work(name="submit a payload for the bucket", act=submits(payload=IN_BUCKET), creates=True),
    Work(
        name="submit a large payload under a key",
        act=submits(payload=BESIDE, idempotency_key="k"),
        creates=True,
    ),
    Work(name="submit three at once", act=submits_three, creates=True),
]

OPERATIONS = [
    Work(
        name="cancel a waiting job",
        arrange=submitted(delay_seconds=FAR),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(
        name="cancel a job with a payload in the bucket",
        arrange=submitted(delay_seconds=FAR, payload=IN_BUCKET),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(
        name="cancel a running job",
        arrange=submitted(),
        act=cancels_from_outside,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(name="put a job off", arrange=submitted(delay_seconds=FAR), act=changes(run_at=LATER)),
    Work(
        name="put a job forward",
        arrange=submitted(delay_seconds=FAR),
        act=changes(delay_seconds=5),
    ),
    Work(
        name="put a job off whose message is under way",
        arrange=submitted(delay_seconds=100),
        act=changes(delay_seconds=FAR),
    ),
    Work(
        name="change the priority of a job whose message is under way",
        arrange=submitted(delay_seconds=100),
        act=changes(priority="high"),
    ),
    Work(
        name="change the payload of a waiting job",
        arrange=submitted(delay_seconds=FAR),
        act=changes(payload=BESIDE),
    ),
    Work(name="run now", arrange=submitted(delay_seconds=FAR), act=operates("run_now")),
    Work(
        name="redrive a dead job",
        arrange=after(submitted(payload=BESIDE), delivered(fail_for_good)),
        act=operates("redrive"),
        behaviour=first_round(fail_for_good),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="redrive a job that owes its dead letter",
        arrange=after(submitted(), died_owing_its_letter),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="redrive a job with a payload in the bucket",
        arrange=after(submitted(payload=IN_BUCKET), delivered(fail_for_good)),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="redrive a discarded job",
        arrange=after(submitted(), delivered(fail_for_good), discarded),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
    Work(
        name="discard a dead job",
        arrange=after(submitted(), delivered(fail_for_good), passed(1)),
        act=operates("discard", note="the list was wrong"),
        behaviour=first_round(fail_for_good),
        ends=(DEAD, SUCCEEDED),
    ),
    Work(
        name="discard a job that owes its dead letter",
        arrange=after(submitted(payload=IN_BUCKET), died_owing_its_letter),
        act=operates("discard"),
        behaviour=first_round(fail_for_good),
        ends=(DEAD, SUCCEEDED),
    ),
    Work(
        name="pause a handler",
        arrange=submitted(delay_seconds=60),
        act=pauses_handler,
    ),
    Work(
        name="resume a handler",
        arrange=after(submitted(), submitted(), handler_paused(600), delivered(succeed)),
        act=resumes_handler,
    ),
]

_SHARDS = ShardMap((ShardMapVersion(0, 2),))

TICKS = [
    Work(
        name="dispatch three jobs",
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR - 200)),
        act=ticks,
    ),
    Work(
        name="dispatch jobs that were due long ago",
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR + 200)),
        act=ticks,
    ),
    Work(
        name="dispatch again what was lost",
        arrange=after(submitted(), submitted(), purged, passed(61)),
        act=ticks,
    ),
    Work(
        name="recover a lost attempt",
        arrange=after(submitted(), delivered(kill_process), LEASE_OVER),
        act=ticks,
    ),
    Work(
        name="recover a lost attempt that was the last",
        arrange=after(submitted(retry=ONCE), delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Work(
        name="recover a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Work(
        name="recover a job that was asked to stop",
        arrange=after(submitted(payload=IN_BUCKET), cancel_while_running, LEASE_OVER),
        act=ticks,
        ends=(CANCELLED,),
    ),
    Work(
        name="raise a job that waits too long",
        arrange=after(submitted(priority="low"), ticked, passed(3600)),
        act=ticks,
    ),
    Work(
        name="expire a waiting job",
        arrange=after(submitted(expires_at=SOON_OVER), purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
    Work(
        name="expire a job with a payload in the bucket",
        arrange=after(submitted(expires_at=SOON_OVER, payload=IN_BUCKET), purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
    Work(
        name="wake what waited for the end of a pause",
        arrange=after(submitted(), handler_paused(60), delivered(succeed), purged, passed(121)),
        act=ticks,
    ),
    Work(
        name="send what was not sent because of a pause",
        arrange=after(handler_paused(60), submitted(), passed(61)),
        act=ticks,
    ),
    Work(
        name="send the dead letter that is owed",
        arrange=after(submitted(), died_owing_its_letter, purged),
        act=ticks,
        ends=(DEAD,),
    ),
    Work(
        name="keep a payload longer",
        arrange=after(submitted(delay_seconds=FAR, payload=BESIDE), payload_near_its_end),
        act=ticks,
    ),
    Work(
        name="hand shards to further invocations",
        make=partial(World, shard_map=_SHARDS, fan_out_entries=1),
        arrange=after(*[submitted(delay_seconds=FAR)] * 4, passed(FAR - 200)),
        act=ticks,
    ),
    Work(
        name="sweep shards that were handed over",
        make=partial(World, shard_map=_SHARDS),
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR - 200)),
        act=sweeps_shards,
    ),
]

ATTEMPTS = [
    Work(name="succeed", arrange=submitted(), act=works(succeed)),
    Work(
        name="succeed after the wait for a fraction of a second",
        arrange=after(submitted(delay_seconds=1.5), passed(1)),
        act=works(succeed),
    ),
    Work(name="succeed under a key", arrange=submitted(idempotency_key="k"), act=works(succeed)),
    Work(
        name="succeed with a payload beside", arrange=submitted(payload=BESIDE), act=works(succeed)
    ),
    Work(
        name="succeed with a payload in the bucket",
        arrange=submitted(payload=IN_BUCKET, idempotency_key="k"),
        act=works(succeed),
    ),
    Work(name="succeed with a result beside", arrange=submitted(), act=works(return_text(BESIDE))),
    Work(
        name="succeed with a result for the bucket",
        arrange=submitted(idempotency_key="k"),
        act=works(return_text(IN_BUCKET)),
        behaviour=return_text(IN_BUCKET),
    ),
    Work(name="succeed after heartbeats", arrange=submitted(), act=works(beat_twice)),
    Work(name="fail, then succeed", arrange=submitted(), act=works(first(fail))),
    Work(
        name="fail under a key, then succeed",
        arrange=submitted(idempotency_key="k"),
        act=works(first(fail)),
    ),
    Work(
        name="fail and come back far off",
        arrange=submitted(),
        act=works(first(ask_again_in(FAR))),
        behaviour=first(ask_again_in(FAR)),
    ),
    Work(
        name="a second attempt",
        arrange=after(submitted(), delivered(fail), passed(3)),
        act=works(succeed),
    ),
    Work(
        name="fail for good",
        arrange=submitted(),
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Work(
        name="fail for good with a payload in the bucket",
        arrange=submitted(payload=IN_BUCKET),
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Work(
        name="fail for the last time",
        arrange=after(submitted(retry=TWICE), delivered(fail), passed(3)),
        act=works(fail),
        behaviour=fail,
        ends=(DEAD,),
    ),
    Work(name="time out", arrange=submitted(), act=works(first(time_out))),
    Work(
        name="snooze for a moment",
        arrange=submitted(),
        act=works(first(snooze(30))),
        behaviour=first(snooze(30)),
    ),
    Work(
        name="snooze for long",
        arrange=submitted(),
        act=works(first(snooze(FAR))),
        behaviour=first(snooze(FAR)),
    ),
    Work(
        name="stop as told",
        arrange=submitted(),
        act=stops_as_told,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Work(name="hand a job back", arrange=submitted(), act=hands_back),
    Work(
        name="park a job of a paused handler",
        arrange=after(submitted(), handler_paused(90)),
        act=works(succeed),
    ),
    Work(
        name="take over from a dead worker",
        arrange=after(submitted(), delivered(kill_process), DELIVERED_AGAIN),
        act=works(succeed),
    ),
    Work(
        name="meet a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), delivered(kill_process), DELIVERED_AGAIN),
        act=works(succeed),
        ends=(DEAD,),
    ),
    Work(
        name="meet a lost job that was asked to stop",
        arrange=after(submitted(), cancel_while_running, DELIVERED_AGAIN),
        act=works(succeed),
        ends=(CANCELLED,),
    ),
    Work(
        name="meet an expired job",
        arrange=after(submitted(expires_at=SOON_OVER), passed(31)),
        act=works(succeed),
        ends=(EXPIRED,),
    ),
]
