"""Every piece of work that a process can die in: of the API, of the scheduler, of a worker."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion
from hourhand.domain.times import rfc3339
from hourhand.memory import START
from tests.crash.points import Scenario
from tests.crash.steps import (
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
    first,
    first_round,
    hands_back,
    operates,
    passed,
    payload_near_its_end,
    purged,
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
    Scenario(name="submit, due now", act=submits(), creates=True),
    Scenario(name="submit, due soon", act=submits(delay_seconds=200), creates=True),
    Scenario(name="submit, due far off", act=submits(delay_seconds=FAR), creates=True),
    Scenario(name="submit under a key", act=submits(idempotency_key="k"), creates=True),
    Scenario(name="submit with an id", act=submits(id="own"), creates=True),
    Scenario(name="submit a payload beside", act=submits(payload=BESIDE), creates=True),
    Scenario(name="submit a payload for the bucket", act=submits(payload=IN_BUCKET), creates=True),
    Scenario(
        name="submit a large payload under a key",
        act=submits(payload=BESIDE, idempotency_key="k"),
        creates=True,
    ),
    Scenario(name="submit three at once", act=submits_three, creates=True),
]

OPERATIONS = [
    Scenario(
        name="cancel a waiting job",
        arrange=submitted(delay_seconds=FAR),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(
        name="cancel a job with a payload in the bucket",
        arrange=submitted(delay_seconds=FAR, payload=IN_BUCKET),
        act=operates("cancel"),
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(
        name="cancel a running job",
        arrange=submitted(),
        act=cancels_from_outside,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(
        name="put a job off",
        arrange=submitted(delay_seconds=FAR),
        act=changes(run_at=LATER),
    ),
    Scenario(
        name="put a job forward",
        arrange=submitted(delay_seconds=FAR),
        act=changes(delay_seconds=5),
    ),
    Scenario(
        name="put a job off whose message is under way",
        arrange=submitted(delay_seconds=100),
        act=changes(delay_seconds=FAR),
    ),
    Scenario(
        name="change the priority of a job whose message is under way",
        arrange=submitted(delay_seconds=100),
        act=changes(priority="high"),
    ),
    Scenario(
        name="change the payload of a waiting job",
        arrange=submitted(delay_seconds=FAR),
        act=changes(payload=BESIDE),
    ),
    Scenario(name="run now", arrange=submitted(delay_seconds=FAR), act=operates("run_now")),
    Scenario(
        name="redrive a dead job",
        arrange=after(submitted(payload=BESIDE), delivered(fail_for_good)),
        act=operates("redrive"),
        behaviour=first_round(fail_for_good),
        ends=(SUCCEEDED, DEAD),
    ),
    Scenario(
        name="redrive a job that owes its dead letter",
        arrange=after(submitted(), died_owing_its_letter),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
    Scenario(
        name="redrive a job with a payload in the bucket",
        arrange=after(submitted(payload=IN_BUCKET), delivered(fail_for_good)),
        act=operates("redrive"),
        ends=(SUCCEEDED, DEAD),
    ),
]

_SHARDS = ShardMap((ShardMapVersion(0, 2),))

TICKS = [
    Scenario(
        name="dispatch three jobs",
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR - 200)),
        act=ticks,
    ),
    Scenario(
        name="dispatch jobs that were due long ago",
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR + 200)),
        act=ticks,
    ),
    Scenario(
        name="dispatch again what was lost",
        arrange=after(submitted(), submitted(), purged, passed(61)),
        act=ticks,
    ),
    Scenario(
        name="recover a lost attempt",
        arrange=after(submitted(), delivered(kill_process), LEASE_OVER),
        act=ticks,
    ),
    Scenario(
        name="recover a lost attempt that was the last",
        arrange=after(submitted(retry=ONCE), delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Scenario(
        name="recover a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), delivered(kill_process), LEASE_OVER),
        act=ticks,
        ends=(DEAD,),
    ),
    Scenario(
        name="recover a job that was asked to stop",
        arrange=after(submitted(payload=IN_BUCKET), cancel_while_running, LEASE_OVER),
        act=ticks,
        ends=(CANCELLED,),
    ),
    Scenario(
        name="raise a job that waits too long",
        arrange=after(submitted(priority="low"), ticked, passed(3600)),
        act=ticks,
    ),
    Scenario(
        name="expire a waiting job",
        arrange=after(submitted(expires_at=SOON_OVER), purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
    Scenario(
        name="expire a job with a payload in the bucket",
        arrange=after(submitted(expires_at=SOON_OVER, payload=IN_BUCKET), purged, passed(61)),
        act=ticks,
        ends=(EXPIRED,),
    ),
    Scenario(
        name="send the dead letter that is owed",
        arrange=after(submitted(), died_owing_its_letter),
        act=ticks,
        ends=(DEAD,),
    ),
    Scenario(
        name="keep a payload longer",
        arrange=after(submitted(delay_seconds=FAR, payload=BESIDE), payload_near_its_end),
        act=ticks,
    ),
    Scenario(
        name="hand shards to further invocations",
        make=partial(World, shard_map=_SHARDS, fan_out_entries=1),
        arrange=after(*[submitted(delay_seconds=FAR)] * 4, passed(FAR - 200)),
        act=ticks,
    ),
    Scenario(
        name="sweep shards that were handed over",
        make=partial(World, shard_map=_SHARDS),
        arrange=after(*[submitted(delay_seconds=FAR)] * 3, passed(FAR - 200)),
        act=sweeps_shards,
    ),
]

ATTEMPTS = [
    Scenario(name="succeed", arrange=submitted(), act=works(succeed)),
    Scenario(
        name="succeed after the wait for a fraction of a second",
        arrange=after(submitted(delay_seconds=1.5), passed(1)),
        act=works(succeed),
    ),
    Scenario(
        name="succeed under a key", arrange=submitted(idempotency_key="k"), act=works(succeed)
    ),
    Scenario(
        name="succeed with a payload beside", arrange=submitted(payload=BESIDE), act=works(succeed)
    ),
    Scenario(
        name="succeed with a payload in the bucket",
        arrange=submitted(payload=IN_BUCKET, idempotency_key="k"),
        act=works(succeed),
    ),
    Scenario(
        name="succeed with a result beside", arrange=submitted(), act=works(return_text(BESIDE))
    ),
    Scenario(
        name="succeed with a result for the bucket",
        arrange=submitted(idempotency_key="k"),
        act=works(return_text(IN_BUCKET)),
        behaviour=return_text(IN_BUCKET),
    ),
    Scenario(name="succeed after heartbeats", arrange=submitted(), act=works(beat_twice)),
    Scenario(name="fail, then succeed", arrange=submitted(), act=works(first(fail))),
    Scenario(
        name="fail under a key, then succeed",
        arrange=submitted(idempotency_key="k"),
        act=works(first(fail)),
    ),
    Scenario(
        name="fail and come back far off",
        arrange=submitted(),
        act=works(first(ask_again_in(FAR))),
        behaviour=first(ask_again_in(FAR)),
    ),
    Scenario(
        name="a second attempt",
        arrange=after(submitted(), delivered(fail), passed(3)),
        act=works(succeed),
    ),
    Scenario(
        name="fail for good",
        arrange=submitted(),
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Scenario(
        name="fail for good with a payload in the bucket",
        arrange=submitted(payload=IN_BUCKET),
        act=works(fail_for_good),
        behaviour=fail_for_good,
        ends=(DEAD,),
    ),
    Scenario(
        name="fail for the last time",
        arrange=after(submitted(retry=TWICE), delivered(fail), passed(3)),
        act=works(fail),
        behaviour=fail,
        ends=(DEAD,),
    ),
    Scenario(name="time out", arrange=submitted(), act=works(first(time_out))),
    Scenario(
        name="snooze for a moment",
        arrange=submitted(),
        act=works(first(snooze(30))),
        behaviour=first(snooze(30)),
    ),
    Scenario(
        name="snooze for long",
        arrange=submitted(),
        act=works(first(snooze(FAR))),
        behaviour=first(snooze(FAR)),
    ),
    Scenario(
        name="stop as told",
        arrange=submitted(),
        act=stops_as_told,
        ends=(CANCELLED, SUCCEEDED),
    ),
    Scenario(name="hand a job back", arrange=submitted(), act=hands_back),
    Scenario(
        name="take over from a dead worker",
        arrange=after(submitted(), delivered(kill_process), DELIVERED_AGAIN),
        act=works(succeed),
    ),
    Scenario(
        name="meet a job that must not be run again",
        arrange=after(submitted(on_lost="dead"), delivered(kill_process), DELIVERED_AGAIN),
        act=works(succeed),
        ends=(DEAD,),
    ),
    Scenario(
        name="meet a lost job that was asked to stop",
        arrange=after(submitted(), cancel_while_running, DELIVERED_AGAIN),
        act=works(succeed),
        ends=(CANCELLED,),
    ),
    Scenario(
        name="meet an expired job",
        arrange=after(submitted(expires_at=SOON_OVER), passed(31)),
        act=works(succeed),
        ends=(EXPIRED,),
    ),
]
