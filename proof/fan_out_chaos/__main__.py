"""``python -m proof.fan_out_chaos``: fan-outs on the local cloud, under kills and purges.

Workers and the scheduler are killed at random, and the messages of all queues are lost. A ledger
outside has a line of each child and of each callback that ran. Every callback must exist once and
succeed once, after all children; every child must run; and each run must count exactly its own.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from hourhand.domain.jobs.parents import child_id
from hourhand.domain.ticks.timings import Timings
from hourhand.local.cloud import CloudOptions, LocalCloud
from proof.ending import unwind_on_sigterm
from proof.fan_out_chaos.fan_outs import FanOut, fan_outs
from proof.fan_out_chaos.handlers import CALLBACK, CHILD, CHILDREN, LEDGER_VARIABLE
from proof.fan_out_chaos.rules import Seen, read_ledger, repeated, violations
from proof.figures import Findings, add_figures_flag
from proof.rig.killer import PURGE, SCHEDULER, WORKER, Rates, killing

SHORTENED = 0.1
"""Of the protocol's durations: a lost lease is found after five seconds instead of 47."""

LOOK_SECONDS = 0.5
FINAL = ("SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED")
PAGE = 100
WAIT_SECONDS = 60.0
FAULTS = (WORKER, SCHEDULER, PURGE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Size:
    """How much is played, and how often something fails. ``together``: fan-outs at a time."""

    fan_outs: int = 50
    children: int = 500
    together: int = 5
    workers: int = 4
    rates: Rates = field(default=Rates(workers=1.0, schedulers=0.1, purges=0.2))
    minutes: float = 35.0
    seed: int = 1

    @property
    def command(self) -> str:
        """The command that plays it again."""
        sizes = f"--fan-outs {self.fan_outs} --children {self.children} --seed {self.seed}"
        return f"python -m proof.fan_out_chaos {sizes}"


QUICK = Size(
    fan_outs=5,
    children=30,
    together=5,
    workers=2,
    rates=Rates(workers=0.7, schedulers=0.1, purges=0.5),
    minutes=6.0,
)
"""The half that is a test."""


def main() -> int:
    """Run it; 0: everything held."""
    unwind_on_sigterm()
    options = _parse()
    whole = Size(
        fan_outs=options.fan_outs,
        children=options.children,
        minutes=options.minutes,
        seed=options.seed,
    )
    with tempfile.TemporaryDirectory(prefix="hourhand-fan-outs-") as folder:
        findings = play(QUICK if options.quick else whole, Path(folder))
    findings.write(options.figures)
    for figure in findings.figures:
        _say(f"{figure.name}: {figure.value}")
    for violation in findings.violations:
        _say(f"VIOLATED  {violation}")
    return 1 if findings.violations else 0


def _parse() -> argparse.Namespace:
    whole = Size()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fan-outs", type=int, default=whole.fan_outs)
    parser.add_argument("--children", type=int, default=whole.children, help="of each fan-out")
    parser.add_argument(
        "--minutes", type=float, default=whole.minutes, help="by when all must have ended"
    )
    parser.add_argument("--seed", type=int, default=whole.seed, help="decides what fails when")
    parser.add_argument("--quick", action="store_true", help="only the half that is a test")
    add_figures_flag(parser)
    return parser.parse_args()


def play(size: Size, folder: Path) -> Findings:
    """Play the fan-outs on a cloud of their own, and judge what became of them."""
    ledger = folder / "ledger"
    ledger.touch()
    cloud = LocalCloud(
        CloudOptions(
            handlers="proof.fan_out_chaos.handlers",
            port=0,
            tick_seconds=2.0,
            workers=size.workers,
            batch_size=5,
            timings=Timings().shortened(SHORTENED),
            environment={LEDGER_VARIABLE: str(ledger)},
        ),
        lambda _news: None,
    )
    cloud.start()
    try:
        return _played(cloud, ledger, size)
    finally:
        cloud.stop()


def _played(cloud: LocalCloud, ledger: Path, size: Size) -> Findings:
    findings = Findings(part="fan_out_chaos", command=size.command)
    all_of_them = fan_outs(size.fan_outs, size.children)
    give_up_at = time.monotonic() + size.minutes * 60
    with httpx.Client(base_url=f"{cloud.url}/v1", timeout=WAIT_SECONDS, trust_env=False) as api:
        with killing(cloud, size.rates, size.seed) as faults:
            for start in range(0, len(all_of_them), size.together):
                _play_group(api, all_of_them[start : start + size.together], give_up_at)
        seen = _look_at_all(api, all_of_them, ledger)
    findings.violations += [one for each in seen for one in violations(each)]
    findings.violations += [
        f"{name}: none, so nothing was shown" for name in FAULTS if not faults[name]
    ]
    _count(findings, seen, faults)
    return findings


def _play_group(api: httpx.Client, group: Sequence[FanOut], give_up_at: float) -> None:
    """Submit fan-outs, and wait until they and their callbacks have ended."""
    for one in group:
        for path, body in one.calls():
            api.post(path, json=body).raise_for_status()
    for one in group:
        _await_final(api, one.run, give_up_at)
    for one in group:
        for job_id in _journal(api, one.run).callbacks.values():
            _await_final(api, job_id, give_up_at)
    _say(f"{', '.join(one.run for one in group)}: ended")


def _await_final(api: httpx.Client, job_id: str, give_up_at: float) -> None:
    while _job(api, job_id)["status"] not in FINAL and time.monotonic() < give_up_at:
        time.sleep(LOOK_SECONDS)


def _look_at_all(api: httpx.Client, played: Sequence[FanOut], ledger: Path) -> list[Seen]:
    # Read last: what still runs then is seen as too much, not as missing.
    looked = [(one, _job(api, one.run), _journal(api, one.run)) for one in played]
    jobs = {
        one.run: {name: _job(api, job_id) for name, job_id in journal.callbacks.items()}
        for one, _, journal in looked
    }
    lines = read_ledger(ledger.read_text())
    return [
        Seen(one, job, journal.ends, jobs[one.run], lines[one.run]) for one, job, journal in looked
    ]


def _count(findings: Findings, seen: Sequence[Seen], faults: Counter[str]) -> None:
    lines = [line for each in seen for line in each.lines]
    kinds = Counter(each.fan_out.kind.value for each in seen)
    findings.count("fan-outs", len(seen))
    for name, count in kinds.items():
        findings.count(f"· {name}", count)
    findings.count("children", sum(each.fan_out.children for each in seen))
    findings.count("ends that the runs counted", sum(len(each.ends) for each in seen))
    findings.count("callbacks that succeeded", sum(len(each.callbacks) for each in seen))
    for name in FAULTS:
        findings.count(name, faults[name])
    findings.count("children that ran twice or more", repeated(lines, CHILD))
    findings.count("callbacks that ran twice or more", repeated(lines, CALLBACK))


def _job(api: httpx.Client, job_id: str) -> dict[str, Any]:
    answer: dict[str, Any] = api.get(f"/jobs/{job_id}").raise_for_status().json()
    return answer


@dataclass(frozen=True, slots=True)
class _Journal:
    """What a run's journal has of children: how they ended, and the ids of its callbacks."""

    ends: dict[str, int]
    callbacks: dict[str, str]


def _journal(api: httpx.Client, run: str) -> _Journal:
    ends: dict[str, int] = {}
    callbacks: dict[str, str] = {}
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": PAGE} | ({"cursor": cursor} if cursor else {})
        page = api.get(f"/jobs/{run}/journal", params=query).raise_for_status().json()
        for record in page["records"]:
            path, children = record["path"], record["children"]
            if path == CHILDREN and children is not None:
                ends = children["ends"]
            elif children is not None:
                callbacks[path] = child_id(run, page["segment"], children["key"], 0)
        cursor = page["next_cursor"]
    return _Journal(ends, callbacks)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
