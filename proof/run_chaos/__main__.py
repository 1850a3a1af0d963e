"""``python -m proof.run_chaos``: durable runs on the local cloud, whose workers are killed.

A ledger outside counts the effects of each step by its key: at least one. The journals are read
through the API: each step has exactly one record, and every replay returned the key that the first
try got.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from hourhand.domain.ticks.timings import Timings
from hourhand.local.cloud import CloudOptions, LocalCloud
from proof.ending import unwind_on_sigterm
from proof.figures import Findings, add_figures_flag
from proof.rig.killer import WORKER, Rates, killing
from proof.run_chaos.handlers import LEDGER_VARIABLE

SHORTENED = 0.1
"""Of the protocol's durations: a lost lease is found after five seconds instead of 47."""

LOOK_SECONDS = 1.0
UNENDED = ("PENDING", "ENQUEUED", "RUNNING", "RETRYING")
BATCH = 100
PAGE = 100
WAIT_SECONDS = 60.0


def main() -> int:
    """Run it; 0: everything held."""
    unwind_on_sigterm()
    options = _parse()
    with tempfile.TemporaryDirectory(prefix="hourhand-runs-") as folder:
        ledger = Path(folder) / "ledger"
        ledger.touch()
        cloud = LocalCloud(
            CloudOptions(
                handlers="proof.run_chaos.handlers",
                port=0,
                tick_seconds=2.0,
                workers=options.workers,
                batch_size=5,
                timings=Timings().shortened(SHORTENED),
                environment={LEDGER_VARIABLE: str(ledger)},
            ),
            lambda _news: None,
        )
        cloud.start()
        try:
            findings = _played(cloud, ledger, options)
        finally:
            cloud.stop()
    findings.write(options.figures)
    for figure in findings.figures:
        _say(f"{figure.name}: {figure.value}")
    for violation in findings.violations:
        _say(f"VIOLATED  {violation}")
    return 1 if findings.violations else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills-a-second", type=float, default=0.5)
    parser.add_argument("--minutes", type=float, default=10.0, help="by when all must have ended")
    parser.add_argument("--seed", type=int, default=1, help="decides which worker is killed when")
    add_figures_flag(parser)
    return parser.parse_args()


def _played(cloud: LocalCloud, ledger: Path, options: argparse.Namespace) -> Findings:
    command = f"python -m proof.run_chaos --runs {options.runs} --steps {options.steps}"
    findings = Findings(part="run_chaos", command=f"{command} --seed {options.seed}")
    with httpx.Client(base_url=f"{cloud.url}/v1", timeout=WAIT_SECONDS, trust_env=False) as api:
        runs = _submit(api, options)
        with killing(cloud, Rates(workers=options.kills_a_second), options.seed) as faults:
            ended = _await_end(api, runs, options.minutes * 60)
        effects = Counter(line.split()[0] for line in ledger.read_text().splitlines())
        records = 0
        for run in runs:
            records += _judge(api, run, effects, options.steps, findings.violations)
    if not faults[WORKER]:
        findings.violations.append("no worker was killed, so nothing was shown")
    findings.count("runs", len(runs))
    findings.count("runs that succeeded", ended["SUCCEEDED"])
    findings.count(WORKER, faults[WORKER])
    findings.count("records of steps", records)
    findings.count("effects in the ledger", sum(effects.values()))
    findings.count("steps whose effect happened twice or more", _repeated(effects))
    return findings


def _submit(api: httpx.Client, options: argparse.Namespace) -> list[str]:
    names = [f"run-{number}" for number in range(options.runs)]
    for start in range(0, len(names), BATCH):
        jobs = [
            {"handler": "long-run", "id": name, "payload": {"steps": options.steps}}
            for name in names[start : start + BATCH]
        ]
        api.post("/jobs/batch", json={"jobs": jobs}).raise_for_status()
    return names


def _await_end(api: httpx.Client, runs: list[str], seconds: float) -> Counter[str]:
    """Return how many runs have each state, once all have ended or the time is over."""
    give_up_at = time.monotonic() + seconds
    states: Counter[str] = Counter()
    for run in runs:
        state = _state(api, run)
        while state in UNENDED and time.monotonic() < give_up_at:
            time.sleep(LOOK_SECONDS)
            state = _state(api, run)
        states[state] += 1
    return states


def _state(api: httpx.Client, run: str) -> str:
    return str(api.get(f"/jobs/{run}").json()["status"])


def _judge(
    api: httpx.Client, run: str, effects: Counter[str], steps: int, violations: list[str]
) -> int:
    """Note what is wrong with a run; return how many records of steps it has."""
    job: dict[str, Any] = api.get(f"/jobs/{run}").json()
    if job["status"] != "SUCCEEDED":
        violations.append(f"{run} is {job['status']}: {job['error']}")
        return 0
    recorded = [step for step in _steps(api, run) if step["kind"] == "step"]
    paths = Counter(step["path"] for step in recorded)
    if len(recorded) != steps or max(paths.values()) > 1:
        violations.append(f"{run} has {len(recorded)} records of {steps} steps")
    if [step["result"] for step in recorded] != job["result"]:
        violations.append(f"{run} returned other keys than its records have")
    missing = [key for key in job["result"] if effects[key] == 0]
    if missing:
        violations.append(f"{run} has {len(missing)} steps without an effect")
    return len(recorded)


def _steps(api: httpx.Client, run: str) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    cursor = ""
    while True:
        query = {"limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = api.get(f"/jobs/{run}/steps", params=query).json()
        steps += page["steps"]
        if page["next_cursor"] is None:
            return steps
        cursor = page["next_cursor"]


def _repeated(effects: Counter[str]) -> int:
    return sum(times > 1 for times in effects.values())


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
