"""The scenarios of who sweeps what: leaders, shards that grow and shrink or are handed over."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from proof.explorer.operations import (
    in_two_buckets,
    in_two_shards,
    resizes,
    submits,
    submits_around,
    submitted,
)
from proof.explorer.scenario import CRASH, SECOND, TIMINGS, Limits, Scenario, scenarios_among
from tests.scenarios.steps import FAR, after, passed
from tests.world.world import World

LEADERS = Scenario(
    name="leaders",
    about="a leader that is paused past its lease, and its successor",
    arrange=after(submitted(delay_seconds=FAR), passed(FAR - 200)),
    ticks=3,
    control="real",
    punctual=SECOND,
    limits=Limits(crashes=1, expiries=2),
)

SHARDS = Scenario(
    name="shards",
    about="the shard map grows while a submitter writes and a sweep runs",
    operations=(resizes(2), submits("submitter", "a", delay_seconds=150), submits("late", "b")),
    ticks=2,
    control="real",
    timings=replace(TIMINGS, control_cache=timedelta(0)),
    instants=(150 * SECOND,),
    limits=Limits(crashes=1, expiries=1),
)

FAN_OUT = Scenario(
    name="fan-out",
    about="a leader that hands a shard to another invocation, which may die or come twice",
    arrange=in_two_shards,
    ticks=2,
    control="real",
    fan_out_entries=1,
    limits=CRASH,
)

SHRUNK = Scenario(
    name="shards-shrink",
    about="the shard map shrinks while jobs lie in a shard that it has no more",
    arrange=in_two_shards,
    operations=(resizes(1), submits("submitter", "d", delay_seconds=190)),
    ticks=1,
    control="real",
    timings=replace(TIMINGS, control_cache=timedelta(0)),
    limits=CRASH,
)

WARM = replace(
    SHARDS,
    name="shards-warm",
    about="the shard map grows between two submissions of one process, which still has the old one",
    operations=(resizes(2), submits_around("submitter", ("a", "b"), delay_seconds=150)),
    ticks=1,
    timings=TIMINGS,
    limits=CRASH,
)

FAN_OUT_OVER = Scenario(
    name="fan-out-over",
    about="shards of a bucket that is over are handed over, and whoever gets them never comes",
    arrange=after(in_two_buckets, passed(400)),
    ticks=2,
    schedulers=1,
    control="real",
    fan_out_entries=1,
    instants=(665 * SECOND,),
    limits=Limits(crashes=0, expiries=1),
)


def _nobody_comes(world: World) -> None:
    world.invoker.accepts = False


FAN_OUT_REFUSED = replace(
    FAN_OUT,
    name="fan-out-refused",
    about="a leader that would hand a shard over, and no further invocation can be had",
    arrange=after(in_two_buckets, _nobody_comes),
    ticks=1,
    punctual=SECOND,
)

SHARDED = scenarios_among(vars())
