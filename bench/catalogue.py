"""The benchmarks, in the order in which they run and stand on the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: what it is called, where its ``run()`` is, and the heading on the page."""

    name: str
    module: str
    title: str


BENCHMARKS = (
    Benchmark("dispatch", "bench.dispatch.run", "Dispatch engine"),
    Benchmark("hot-path", "bench.dispatch.hot_path", "Where the CPU of a dispatch goes"),
    Benchmark("cost", "bench.cost", "Cost of a job"),
    Benchmark("write-units", "bench.write_units", "Write units of a job"),
    Benchmark("limit-units", "bench.limits.units", "Write units of limits"),
    Benchmark("limit-messages", "bench.limits.messages", "Messages of waiting jobs"),
    Benchmark("limit-starts", "bench.limits.starts", "Waits at a busy key"),
    Benchmark("limit-growth", "bench.limits.growth", "Keys with limits"),
    Benchmark("run-units", "bench.runs.units", "Write units of durable runs"),
    Benchmark("run-replays", "bench.runs.replays", "Replays of durable runs"),
    Benchmark("child-units", "bench.children.units", "Write units of child jobs"),
    Benchmark("flow-units", "bench.flow_units", "What an estimate takes flows to use"),
    Benchmark("child-fan-out", "bench.children.fan_out", "A run with ten thousand children"),
    Benchmark("item-size", "bench.item_size", "Bytes of a small job"),
    Benchmark("lateness-simulated", "bench.lateness.simulated", "Lateness in simulated time"),
    Benchmark("lateness-local", "bench.lateness.local", "Lateness on the local cloud"),
    Benchmark("growth", "bench.growth.run", "Growth"),
    Benchmark("first-tick", "bench.first_tick", "Buckets of a first tick"),
    Benchmark("submission", "bench.submission", "Submission"),
    Benchmark("throttled", "bench.throttled", "Batches on a throttled shard"),
    Benchmark("start-up", "bench.start_up", "Start-up"),
    Benchmark("peers", "bench.peers.run", "Peers on the same work"),
    Benchmark("limit-peers", "bench.limits.peers", "Peers under a limit"),
    Benchmark("run-peers", "bench.runs.peers", "Durable runs and peers under kill -9"),
    Benchmark("child-peers", "bench.children.peers", "Fan-outs and peers under kill -9"),
    Benchmark("schedule-units", "bench.schedule_units", "Write units of an occurrence"),
    Benchmark("schedule-size", "bench.schedule_size", "Bytes of a schedule"),
    Benchmark("schedules-scale", "bench.schedules_scale", "Schedules stored and due"),
    Benchmark("schedules-pace", "bench.schedules_pace", "Schedules due in one minute"),
    Benchmark("schedules-spread", "bench.schedules_spread", "Schedules spread by jitter"),
    Benchmark("schedules-outage", "bench.schedules_outage", "Schedules after a year unvisited"),
)
NAMES = tuple(one.name for one in BENCHMARKS)
