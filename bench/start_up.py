"""What a cold start of each function costs: imports and wiring, its first answer, its memory.

Each function starts in fresh interpreters, as Lambda starts it, and answers one event against an
emulator on loopback. Compared with importing boto3 and making two clients, in the same run. The
packed functions start once more under conditions like Lambda's, with and without their bytecode.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import packed_starts
from bench.function_rig import HANDLER, Installation, api_event, installation, scheduled_event
from bench.packed_starts import FUNCTIONS, WITH, WITHOUT, row_name
from bench.targets import Target, all_ok, at_most
from hourhand.api.requests.jobs import JobSubmission
from hourhand.api.routing import Services
from hourhand.aws.clients import dynamodb_client
from hourhand.aws.job_store import DynamoJobStore
from hourhand.domain.jobs.job import JobStatus
from hourhand.wiring.functions import wire_api

PROBE = Path(__file__).with_name("start_up_probe.py")
BARE, YARDSTICK = "bare interpreter", "boto3, two clients"
ROUNDS = 12
MAX_RECEIVES = 60
"""More than all starts of a run have messages."""

BOTO3_SECONDS = 0.41
ALLOWED_SECONDS = {"scheduler": 0.5, "worker": 0.6}
"""The design's figures, all of one machine: so their ratios are what must be reached."""

COSTLY = 6
"""How many packages are named: those whose own imports cost most."""

_IMPORT = re.compile(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)")


@dataclass(frozen=True, slots=True)
class Start:
    """One start in a fresh interpreter: CPU seconds over a bare one, seconds to the answer."""

    interpreter_cpu: float
    ready_cpu: float
    answered_cpu: float
    answered_seconds: float
    peak_mb: float | None
    answer: Any


def start(work: str, environment: Mapping[str, str], event: Any = None) -> Start:
    """Start an interpreter that does one kind of ``work`` of the probe."""
    began = time.time()
    done = subprocess.run(
        [sys.executable, "-P", str(PROBE), work],
        env=dict(environment),
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{work} did not start: {done.stderr[-2000:]}")
    # A function's own telemetry may stand before it.
    told = json.loads(done.stdout.strip().splitlines()[-1])
    return Start(
        told["interpreter"],
        told["ready"],
        told["done"],
        told["answered_at"] - began,
        told["peak_mb"],
        told["answer"],
    )


class Stage:
    """Starts each function with an event of its own, and looks at what became of it."""

    def __init__(self, installed: Installation, api: Services) -> None:
        self._installed, self._api = installed, api
        self._jobs = DynamoJobStore(dynamodb_client(), installed.settings.jobs_table)
        self.environments = {name: installed.fresh_environment(name) for name in FUNCTIONS}

    def start_all(self, packages: Mapping[str, Mapping[str, Path]]) -> dict[str, Start]:
        """Start everything once, one after the other; ``packages`` by kind and function."""
        begun = {
            BARE: start("bare", self.environments["api"]),
            YARDSTICK: start("boto3", self.environments["api"]),
        }
        begun |= {name: self._start(name, self.environments[name]) for name in FUNCTIONS}
        for function in FUNCTIONS:
            for kind, trees in packages.items():
                base = self.environments[function]
                environment = packed_starts.environment(trees[function], base)
                begun[row_name(function, kind)] = self._start(function, environment)
        return begun

    def _start(self, function: str, environment: Mapping[str, str]) -> Start:
        if function == "api":
            return self._start_api(environment)
        if function == "scheduler":
            return self._start_scheduler(environment)
        return self._start_worker(environment)

    def _start_api(self, environment: Mapping[str, str]) -> Start:
        in_an_hour = {"handler": HANDLER, "payload": {"n": 1}, "delay_seconds": 3600}
        begun = start("function", environment, api_event("/v1/jobs", in_an_hour))
        return _require(begun, begun.answer["statusCode"] == 201)

    def _start_scheduler(self, environment: Mapping[str, str]) -> Start:
        begun = start("function", environment, scheduled_event())
        return _require(begun, begun.answer["led"] and begun.answer["completed"])

    def _start_worker(self, environment: Mapping[str, str]) -> Start:
        request = JobSubmission.parse({"handler": HANDLER, "payload": {"n": 1}})
        job = self._api.submission.submit(request, actor="bench").job
        begun = start("function", environment, self._message_of(job.id))
        after = self._jobs.get(job.id)
        return _require(begun, after is not None and after.status is JobStatus.SUCCEEDED)

    def _message_of(self, job_id: str) -> Any:
        """Receive a job's message. Nothing deletes those of earlier starts: they may reappear."""
        for _ in range(MAX_RECEIVES):
            event = self._installed.receive()
            if job_id in event["Records"][0]["body"]:
                return event
        raise TimeoutError(f"no message of {job_id} came")


def _require(begun: Start, is_right: bool) -> Start:
    if not is_right:
        raise RuntimeError(f"its first answer is not right: {begun.answer}")
    return begun


def import_costs(environment: Mapping[str, str]) -> Counter[str]:
    """Return the milliseconds that each package's own modules took to import, of ``main``."""
    done = subprocess.run(
        [sys.executable, "-P", "-X", "importtime", "-c", "import main"],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
    )
    costs: Counter[str] = Counter()
    for microseconds, module in _IMPORT.findall(done.stderr):
        costs[_package(module)] += int(microseconds)
    return Counter({name: round(us / 1000) for name, us in costs.most_common()})


def _package(module: str) -> str:
    top = module.partition(".")[0]
    is_pythons = top in sys.stdlib_module_names or top.startswith("_")
    return "Python's own" if is_pythons else top


@dataclass(frozen=True, slots=True)
class Figures:
    """The starts of one thing, and how it compares with the ``yardstick``."""

    name: str
    starts: list[Start]
    yardstick: list[Start]

    def of(self, pick: Callable[[Start], float], choose: Callable[[list[float]], float]) -> float:
        """Return the least or the middle of one figure."""
        return choose([pick(one) for one in self.starts])

    def ratio(self, choose: Callable[[list[float]], float]) -> float:
        """Return the CPU of imports and wiring against the yardstick's."""
        ours = choose([one.ready_cpu for one in self.starts])
        return ours / choose([one.ready_cpu for one in self.yardstick])

    def row(self) -> list[Any]:
        """Return the row of the table."""
        answers = self.name not in {BARE, YARDSTICK}
        peaks = [one.peak_mb for one in self.starts if one.peak_mb is not None]
        allowed = ALLOWED_SECONDS.get(self.name)
        return [
            self.name,
            _ms(self.of(lambda one: one.ready_cpu, min)),
            _ms(self.of(lambda one: one.ready_cpu, median)),
            round(self.ratio(min), 2),
            round(allowed / BOTO3_SECONDS, 2) if allowed else "",
            _ms(self.of(lambda one: one.answered_cpu, min)) if answers else "",
            _ms(self.of(lambda one: one.answered_seconds, min)) if answers else "",
            _ms(self.of(lambda one: one.answered_seconds, median)) if answers else "",
            round(max(peaks), 1) if peaks else "",
        ]


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def targets(figures: Mapping[str, Figures]) -> list[Target]:
    """Return what must be reached."""
    return [
        at_most(
            f"{name}: CPU of imports and wiring, against boto3 with two clients",
            round(figures[name].ratio(min), 3),
            round(allowed / BOTO3_SECONDS, 2),
            " x",
        )
        for name, allowed in ALLOWED_SECONDS.items()
    ] + packed_starts.targets(_ratios(figures))


def _ratios(figures: Mapping[str, Figures]) -> dict[str, float]:
    """Return the least CPU of each package's start with its bytecode, to that without."""

    def cpu(function: str, kind: str) -> float:
        return figures[row_name(function, kind)].of(lambda one: one.ready_cpu, min)

    return {name: cpu(name, WITH) / cpu(name, WITHOUT) for name in FUNCTIONS}


def _plot(figures: Mapping[str, Figures]) -> dict[str, Any]:
    shown = [YARDSTICK, *FUNCTIONS]
    ready, answered = (lambda one: one.ready_cpu), (lambda one: one.answered_cpu)
    return {
        "name": "start-up",
        "kind": "bars",
        "title": "CPU of a cold start",
        "x": "",
        "y": "ms of CPU over a bare interpreter",
        "log_x": False,
        "log_y": False,
        "series": {
            "imports and wiring": [[name, _ms(figures[name].of(ready, min))] for name in shown],
            "with the first answer": [
                [name, _ms(figures[name].of(answered, min))] for name in FUNCTIONS
            ],
        },
    }


def _notes(figures: Mapping[str, Figures], costs: Mapping[str, Counter[str]]) -> list[str]:
    costly = [
        f"{name}: " + ", ".join(f"{p} {ms}" for p, ms in found.most_common(COSTLY))
        for name, found in costs.items()
    ]
    bare = figures[BARE].of(lambda one: one.interpreter_cpu, min)
    return [
        f"The minimum and the median of {ROUNDS} starts, each in a fresh interpreter with cached "
        f"bytecode. The interpreter itself takes {_ms(bare)} ms of CPU, which is left out.",
        f"The limits are the design's {ALLOWED_SECONDS['scheduler']} s and "
        f"{ALLOWED_SECONDS['worker']} s on a machine on which boto3 with two clients takes "
        f"{BOTO3_SECONDS} s.",
        "The first answer is that to one event (a submission, a tick with nothing due, a job run "
        "to its end) against an emulator on loopback, one call after another. Its time begins "
        "before the interpreter starts. AWS's own part of a cold start is left out.",
        "Milliseconds of import by package, from -X importtime, which slows imports: "
        + "; ".join(costly)
        + ". The rest of a start is the creation of clients.",
        "Packed: the deployed package on one CPU, with read-only code and no bytecode written, as "
        "in Lambda. Without: the same package without its bytecode. Lambda's own libraries (boto3) "
        "have bytecode in both. These conditions are simulated: no start was measured on Lambda.",
    ]


@contextmanager
def _packages(installed: Installation) -> Iterator[dict[str, dict[str, Path]]]:
    with (
        tempfile.TemporaryDirectory(prefix="bench-packed-") as name,
        packed_starts.packages(installed, Path(name)) as trees,
    ):
        yield trees


def run() -> dict[str, Any]:
    """Start everything, round by round, in a fresh installation."""
    with installation() as installed, _packages(installed) as packages:
        stage = Stage(installed, wire_api(installed.settings))
        stage.start_all(packages)  # Bytecode is written, tables are known.
        rounds = [stage.start_all(packages) for _ in range(ROUNDS)]
        costs = {name: import_costs(stage.environments[name]) for name in FUNCTIONS}
    starts = {name: [one[name] for one in rounds] for name in rounds[0]}
    figures = {name: Figures(name, of, starts[YARDSTICK]) for name, of in starts.items()}
    must = targets(figures)
    return {
        "asks": "How long does the first call of a function take without a warm process?",
        "columns": [
            "a fresh interpreter",
            "cpu ms",
            "median",
            "x boto3",
            "needed",
            "cpu ms to answer",
            "ms to answer",
            "median",
            "peak MB",
        ],
        "rows": [one.row() for one in figures.values()],
        "notes": _notes(figures, costs),
        "must": must,
        "ok": all_ok(must),
        "imports_ms": costs,
        "plots": [_plot(figures)],
    }
