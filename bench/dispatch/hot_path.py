"""Where the CPU of a dispatched job goes: a profile by samples, of our engine alone.

    python -m bench.dispatch.hot_path ENDPOINT

The samples are taken in a process of its own, over the same stand-in for AWS, which answers at
once here: how long it takes to answer is no CPU of ours.
"""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import replace
from typing import Any

from bench.dispatch.load import QUEUES, Load
from bench.dispatch.run import OURS, SHARDS, line_of, process, stand_in
from bench.dispatch.sampling import sampled
from hourhand.aws.lambda_init import frozen_gc

JOBS = 60_000
CASE = replace(OURS, name="ours, profiled", jobs=JOBS)

PARTS = {
    ("job_indexes.py", "read_bucket"): "the index: pages of ids",
    ("jobs.py", "job_from_item"): "jobs: made of the base items that were read",
    ("sweep.py", "_decide"): "decisions: what to do with each job",
    ("messages.py", "outgoing_of"): "messages: made, with their delays",
    ("queues.py", "entry_of"): "messages: made, with their delays",
    ("_dispatch.py", "of"): "marks: made, as moves",
    ("transitions.py", "of"): "marks: made, as statements",
    ("_client.py", "_json"): "JSON: written",
    ("_client.py", "_understood"): "JSON: read, with its checksum",
    ("_signature.py", "signed"): "signatures",
    ("_lines.py", "send"): "connections: requests and answers",
    ("_lines.py", "read"): "connections: requests and answers",
    ("_round.py", "step"): "connections: who is free, who has answered",
}

OF_CALLS = frozenset(
    part for part in PARTS.values() if part.startswith(("JSON", "connections", "signatures"))
)


def run() -> dict[str, Any]:
    """Dispatch once and say where the time went."""
    now_ms = round(time.time() * 1000)
    with stand_in(CASE, now_ms, latency_ms=0) as endpoint:
        arguments = [str(now_ms), endpoint]
        with process("bench.dispatch.hot_path", arguments) as profiled:
            told = json.loads(line_of(profiled))
    samples = sum(told["found"].values())
    of_job = told["cpu_us"] / samples
    shared = sum(count for part, count in told["found"].items() if part in OF_CALLS)
    parts = sorted(told["found"].items(), key=lambda each: -each[1])
    return {
        "ok": True,
        "asks": "Which parts of the code use the CPU of a dispatched job?",
        "columns": ["part", "CPU us a job", "share"],
        "rows": [[part, round(n * of_job, 1), f"{n / samples:.0%}"] for part, n in parts],
        "notes": [
            f"A timer of CPU time took {samples:,} samples over {JOBS:,} jobs. A sample counts for "
            "the innermost part in this table.",
            f"{shared / samples:.0%} is for calls, which ten to a hundred jobs share. The rest is "
            "for each job: reading its attributes, and creating its message and its mark. SQS "
            "limits a call to ten messages.",
        ],
        "samples": told["found"],
    }


def main() -> None:
    """Dispatch in this process under the timer, and print what it found as JSON."""
    now_ms, endpoint = int(sys.argv[1]), sys.argv[2]
    os.environ.update(
        AWS_ENDPOINT_URL=endpoint,
        AWS_ACCESS_KEY_ID="bench",
        AWS_SECRET_ACCESS_KEY="bench",  # noqa: S106 - it opens nothing
        AWS_REGION="us-east-1",
        AWS_DEFAULT_REGION="us-east-1",
    )
    load = Load(JOBS, SHARDS, now_ms)
    with frozen_gc():
        from bench.dispatch.ours import Engine  # noqa: PLC0415

        engine = Engine(load, {name: f"{endpoint}/1/bench-{name}" for name in QUEUES}, "batch")
    before = time.process_time()
    with sampled(PARTS) as found:
        _, sent = engine.run(range(SHARDS))
    cpu_us = (time.process_time() - before) / sent * 1e6
    print(json.dumps({"found": found, "cpu_us": cpu_us}), flush=True)


if __name__ == "__main__":
    main()
