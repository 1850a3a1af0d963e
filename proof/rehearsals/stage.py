"""The local cloud that a rehearsal plays on, and what an operator sees of it."""

from __future__ import annotations

import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from hourhand.domain.errors import HourhandError, Unavailable
from hourhand.domain.ticks.timings import Timings
from hourhand.local.backend import MOTO
from hourhand.local.child_process import ChildProcess
from hourhand.local.cloud import CloudOptions
from hourhand.local.events import Logged, Measured, Ticked
from proof.rehearsals.clocks import HOOK
from proof.rehearsals.signs import FOLDER, HANDLERS
from proof.rehearsals.throttling import ThrottlingBackend
from proof.rig.cloud import RigCloud
from proof.rig.news import Recorder
from tests.acceptance.http_api import Answer, local_api

TIMINGS = Timings().shortened(0.1)
TICK_SECONDS = 3.0
LOOK_SECONDS = 0.1
WAIT_SECONDS = 60.0
"""How long anything that must happen may take, before the rehearsal has failed."""

UNREPAIRED_WAIT_SECONDS = 6.0
MOST_PAGES = 20
T = TypeVar("T")
Say = Callable[[str], None]


class RehearsalFailed(HourhandError):
    """What was to be shown did not happen."""

    code = "rehearsal_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Deploys:
    """Handlers that a rehearsal replaces: their module, and the text that it begins with."""

    module: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """What a rehearsal is played on.

    ``deploys``: handlers of its own, which change; ``throttles``: DynamoDB may refuse calls.
    ``in_memory``: the play has a memory cloud of its own, in virtual time; no process is started.
    """

    schedulers: int = 1
    workers: int = 2
    deploys: Deploys | None = None
    throttles: bool = False
    in_memory: bool = False


class Stage:
    """What rehearsals do and see. ``repairs``: whether they may repair what they broke."""

    def __init__(self, cloud: RigCloud, folder: Path, *, repairs: bool) -> None:
        self.cloud, self.folder = cloud, folder
        self.jobs: list[str] = []
        self.backend: ThrottlingBackend | None = None
        self._halted: list[ChildProcess] = []
        self._repairs, self._wait_seconds = repairs, WAIT_SECONDS
        self._began = time.monotonic()

    def open(self) -> None:
        """Take up the work, once the cloud runs."""
        self.api = local_api(self.cloud.url)

    def halt(self, child: ChildProcess) -> None:
        """Stop a process where it is: SIGSTOP."""
        self._halted.append(child)
        child.signal(signal.SIGSTOP)

    def let_go(self) -> None:
        """Let whoever is stopped go on: it could not end in good order."""
        for child in self._halted:
            child.signal(signal.SIGCONT)

    # --- telling ---

    def tell(self, word: str, text: str) -> None:
        """Print a line."""
        sys.stdout.write(f"{time.monotonic() - self._began:6.1f} s  {word:<7} {text}\n")
        sys.stdout.flush()

    def check(self, claim: str, holds: bool, seen: object = "") -> None:
        """Print that ``claim`` holds. Raises `RehearsalFailed` if it does not."""
        told = f" ({seen})" if seen != "" else ""
        if not holds:
            raise RehearsalFailed(f"This does not hold: {claim}{told}.")
        self.tell("holds", f"{claim}{told}")

    def repair(self, text: str, act: Callable[[], object]) -> None:
        """Do what the runbook says, unless the rehearsal runs with ``--unrepaired``."""
        if not self._repairs:
            self.tell("leaves", f"the failure as it is; the repair would be: {text}")
            self._wait_seconds = UNREPAIRED_WAIT_SECONDS
            return
        self.tell("repairs", text)
        act()

    # --- what an operator sees ---

    def stats(self) -> dict[str, Any]:
        """Return ``GET /v1/stats``."""
        return self.ask("GET", "/v1/stats").body

    def logged(self, sentence: str) -> list[Logged]:
        """Return the log lines with this sentence."""
        return self.cloud.news.logged(sentence)

    def ticks(self) -> list[Ticked]:
        """Return the ticks that ended."""
        return self.cloud.news.of(Ticked)

    def values(self, metric: str) -> list[float]:
        """Return every value of a metric so far, of all functions, the oldest first."""
        return [
            value for one in self.cloud.news.of(Measured) for value in one.values.get(metric, ())
        ]

    def newest(self, gauge: str) -> float | None:
        """Return a gauge as of the newest tick; what that tick did not write is zero."""
        ticks = [one.values for one in self.cloud.news.of(Measured) if "ticks" in one.values]
        return ticks[-1].get(gauge, (0.0,))[-1] if ticks else None

    # --- what an operator and callers do ---

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """Call the API, over a new connection: the server hangs up on those that wait."""
        return self.api.ask(method, path, None if method == "GET" else dict(body or {}))

    def submit(self, count: int, handler: str, payload: Any, **others: Any) -> list[str]:
        """Submit ``count`` equal jobs at once; return their ids."""
        return self._submit([{"handler": handler, "payload": payload, **others}] * count)

    def submit_apart(
        self, count: int, handler: str, payload: Any, *, first: float, apart: float
    ) -> list[str]:
        """Submit ``count`` jobs at once, due ``first`` seconds from now and ``apart`` seconds each.

        So far apart that none has to wait for another's worker.
        """
        one = {"handler": handler, "payload": payload}
        delays = [round(first + number * apart, 3) for number in range(count)]
        return self._submit([{**one, "delay_seconds": delay} for delay in delays])

    def _submit(self, bodies: Sequence[Mapping[str, Any]]) -> list[str]:
        answer = self.ask("POST", "/v1/jobs/batch", {"jobs": list(bodies)})
        made = [result["job"]["id"] for result in answer.body["results"]]
        self.jobs.extend(made)
        return made

    def list_jobs(self, query: str = "") -> list[dict[str, Any]]:
        """Return all jobs that match ``query``, as ``GET /v1/jobs`` lists them."""
        found: list[dict[str, Any]] = []
        cursor = ""
        for _ in range(MOST_PAGES):
            page = self.ask("GET", f"/v1/jobs?limit=200{query}{cursor}").body
            found += page["jobs"]
            if page["next_cursor"] is None:
                break
            cursor = f"&cursor={page['next_cursor']}"
        return found

    def by_status(self) -> Counter[str]:
        """Return how many of the submitted jobs are in which state; ``lost`` is none."""
        known = {job["id"]: job["status"] for job in self.list_jobs()}
        return Counter(known.get(job_id, "lost") for job_id in self.jobs)

    def wait(self, what: str, look: Callable[[], T | None]) -> T:
        """Return what ``look`` finds. Raises `RehearsalFailed` if it finds nothing for long."""
        until = time.monotonic() + self._wait_seconds
        while time.monotonic() < until:
            found = look()
            if found is not None and found is not False:
                return found
            time.sleep(LOOK_SECONDS)
        raise RehearsalFailed(f"This did not happen within {self._wait_seconds:g} s: {what}.")

    def wait_for_the_end(self, **ends: int) -> None:
        """Wait until the submitted jobs are as ``ends`` says, by state; by default SUCCEEDED."""
        wanted = Counter(ends or {"SUCCEEDED": len(self.jobs)})
        try:
            self.wait(f"jobs end as {told(wanted)}", lambda: self.by_status() == wanted or None)
        except RehearsalFailed as error:
            raise RehearsalFailed(f"{error.detail} They are {told(self.by_status())}.") from error
        self.check(f"all {len(self.jobs)} jobs are there, none is lost", True, told(wanted))


def told(counts: Mapping[str, int]) -> str:
    """Return counts by name in words: ``3 DEAD, 9 SUCCEEDED``."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"


@contextmanager
def staged(scene: Scene, *, repairs: bool) -> Iterator[Stage]:
    """Run the local cloud for one rehearsal."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="hourhand-rehearsal-"))
        )
        backend = ThrottlingBackend() if scene.throttles else None
        if backend is not None:
            backend.start()
            stack.callback(backend.stop)
        endpoint = MOTO if backend is None else backend.endpoint
        options = _options(scene, folder, endpoint)
        cloud = RigCloud(options, Recorder(), hook=HOOK, path=[str(folder)])
        stage = Stage(cloud, folder, repairs=repairs)
        stage.backend = backend
        if scene.in_memory:
            stage.tell("starts", "the memory cloud: the deployed services, in virtual time")
            yield stage
            return
        stage.tell("starts", f"the local cloud: {_described(scene)}")
        cloud.start()
        stack.callback(cloud.stop)
        stack.callback(stage.let_go)
        stage.open()
        yield stage


def _options(scene: Scene, folder: Path, backend: str) -> CloudOptions:
    module = HANDLERS
    if scene.deploys is not None:
        module = scene.deploys.module
        (folder / f"{module}.py").write_text(scene.deploys.text)
    return CloudOptions(
        handlers=module,
        backend=backend,
        tick_seconds=TICK_SECONDS,
        schedulers=scene.schedulers,
        workers=scene.workers,
        timings=TIMINGS,
        environment={FOLDER: str(folder)},
    )


def _described(scene: Scene) -> str:
    return (
        f"{scene.schedulers} scheduler and {scene.workers} worker processes; time is shortened: a "
        f"tick every {TICK_SECONDS:g} s (60), look-ahead {TIMINGS.look_ahead.total_seconds():g} s "
        f"(300), lease of the leader {TIMINGS.leader_lease.total_seconds():g} s (30), of a job "
        f"{TIMINGS.job_lease.total_seconds():g} s (45)"
    )


def seconds_since(text: str) -> float:
    """Return how long ago an API's time was."""
    return (datetime.now(UTC) - datetime.fromisoformat(text)).total_seconds()


def asks_again(stage: Stage, path: str, body: Mapping[str, Any], tries: int) -> tuple[Answer, int]:
    """Call as a good caller does: again after a 5xx or no answer; return how often it took."""
    for number in range(1, tries + 1):
        try:
            answer = stage.ask("POST", path, body)
        except Unavailable:
            continue
        if answer.status < 500:
            return answer, number
    raise RehearsalFailed(f"POST {path} was refused {tries} times.")
