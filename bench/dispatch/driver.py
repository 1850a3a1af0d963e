"""One process that dispatches: prints what it took as a line of JSON.

    python -m bench.dispatch.driver plain|batched|single|batch JOBS SHARDS NOW_MS ENDPOINT SHARD...

It waits for a line on its standard input before it starts, so that several begin together.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import time
from typing import Any

from bench.dispatch.load import QUEUES, Load
from hourhand.aws.lambda_init import frozen_gc


def main() -> None:
    """Dispatch the jobs of the given shards once."""
    parser = argparse.ArgumentParser(prog="python -m bench.dispatch.driver")
    parser.add_argument("engine", choices=("plain", "batched", "single", "batch"))
    parser.add_argument("jobs", type=int)
    parser.add_argument("shards", type=int)
    parser.add_argument("now_ms", type=int)
    parser.add_argument("endpoint")
    parser.add_argument("shard", type=int, nargs="+")
    parser.add_argument("--profile", help="write a profile of the run to this file")
    options = parser.parse_args()
    os.environ.update(
        AWS_ENDPOINT_URL=options.endpoint,
        AWS_ACCESS_KEY_ID="bench",
        AWS_SECRET_ACCESS_KEY="bench",  # noqa: S106 - it opens nothing
        AWS_REGION="us-east-1",
        AWS_DEFAULT_REGION="us-east-1",
    )
    engine = _engine(options)
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(_measured(engine, options)), flush=True)


def _engine(options: argparse.Namespace) -> Any:
    load = Load(options.jobs, options.shards, options.now_ms)
    urls = {name: f"{options.endpoint}/123456789012/bench-{name}" for name in QUEUES}
    # Imported here: the other's code must not count as this one's memory.
    if options.engine in {"plain", "batched"}:
        from bench.dispatch.plain import BatchedLoop, PlainLoop  # noqa: PLC0415

        return (PlainLoop if options.engine == "plain" else BatchedLoop)(load, urls)
    # As the function's start does it.
    with frozen_gc():
        from bench.dispatch.ours import Engine  # noqa: PLC0415

        return Engine(load, urls, options.engine)


def _measured(engine: Any, options: argparse.Namespace) -> dict[str, Any]:
    profile: Any = None
    if options.profile:
        import cProfile  # noqa: PLC0415

        profile = cProfile.Profile()
        profile.enable()
    before, began = _cpu_seconds(), time.perf_counter()
    read, sent = engine.run(options.shard)
    seconds, cpu = time.perf_counter() - began, _cpu_seconds() - before
    if profile is not None:
        profile.disable()
        profile.dump_stats(options.profile)
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "read": read,
        "sent": sent,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "peak_mib": kib / 1024,
    }


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
