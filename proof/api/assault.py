"""Every hostile request there is, one after the other, and what the server holds afterwards."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from proof.api.attacks import Attack
from proof.api.forged_cursors import forged_cursors
from proof.api.hostile_bodies import hostile_bodies
from proof.api.hostile_framing import hostile_framing
from proof.api.hostile_heads import hostile_heads
from proof.api.hostile_paths import hostile_paths
from proof.api.hostile_sizes import hostile_sizes
from proof.api.hostile_texts import texts_against
from proof.api.slow_clients import slow_clients
from proof.api.texts_that_run import texts_that_run, unfinished
from proof.api.wire import Reply, Target

MAX_PAGES = 10_000
MAX_TOLD = 200
HEALTH_EVERY = 10
"""After so many attacks the server is asked how it is; the next attack would notice, too."""
IDS = ("one", "two", "three")

KINDS: Mapping[str, Callable[[], Iterator[Attack]]] = {
    "bodies": hostile_bodies,
    "framing": hostile_framing,
    "heads": hostile_heads,
    "paths": hostile_paths,
    "small sizes": partial(hostile_sizes, share=0.1),
    "sizes": hostile_sizes,
}

MOST_CPU_SECONDS = 20.0
"""What a request may cost this process, client and server together. The most costly of those whose
work is in proportion to their size takes a fifth of it; one whose work grows with the square of its
size takes minutes, and hours."""


def prepare(target: Target) -> None:
    """Make what the attacks aim at: jobs that never end, a schedule, a calendar."""
    job = {"handler": "put-off", "delay_seconds": 86_400}
    for method, path, body in (
        *(("POST", "/v1/jobs", {**job, "id": job_id}) for job_id in IDS),
        ("PUT", "/v1/schedules/one", {"handler": "echo", "expression": "@yearly"}),
        ("PUT", "/v1/calendars/one", {"exclude": ["2026-12-25"]}),
    ):
        reply = target.request(method, path, body)
        assert reply.status == 201, reply
    # By the server's own clock: no call that is made by chance names a time that it takes.
    job = target.request("GET", f"/v1/jobs/{IDS[0]}").json
    reply = target.request("POST", "/v1/resweep", {"since": job["created_at"]})
    assert reply.status == 200, reply


@dataclass
class Assault:
    """One run of all attacks against a server that holds nothing yet.

    ``words``: names of the texts that are sent. ``tell`` hears what is done. ``running``: names of
    the texts that are sent in jobs which run, where there are workers. ``most_cpu_seconds``: what
    one request may cost. ``counts``: attacks by kind, ``statuses``: answers by status.
    """

    target: Target
    seed: int
    words: frozenset[str]
    tell: Callable[[str], None]
    kinds: Sequence[str] = tuple(KINDS)
    running: frozenset[str] = frozenset()
    most_cpu_seconds: float = MOST_CPU_SECONDS
    counts: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    accepted: set[str] = field(default_factory=set)

    def run(self) -> None:
        """Prepare what the attacks aim at, strike, and look at what is left."""
        prepare(self.target)
        self.accepted |= set(IDS)
        for kind in self.kinds:
            self.tell(f"hostile {kind}")
            for attack in KINDS[kind]():
                self._strike(kind, attack)
        self.tell("hostile texts")
        with trap() as (address, visitors):
            self._note_all("texts", texts_against(self.target, self.words, address))
            self._run_texts(address)
            if visitors():
                self.violations.append("an address in a text was called")
        self.tell("forged cursors and slow clients")
        self._note_all("cursors", forged_cursors(self.target, self.seed))
        self._note_all("slow clients", slow_clients(self.target))
        self._look_back()

    def _run_texts(self, trap_address: str) -> None:
        """Let jobs with texts in them run to their end: who calls the trap may be a worker."""
        before = set(self.accepted)
        texts = texts_that_run(self.target, self.running, trap_address)
        self._note_all("texts in jobs that run", texts)
        left = unfinished(self.target, self.accepted - before)
        if left:
            self.violations.append(f"{len(left)} jobs with texts in them never ended: {left[:5]}")

    def _strike(self, kind: str, attack: Attack) -> None:
        began = time.process_time()
        reply, faults = attack.strike(self.target)
        spent = time.process_time() - began
        if spent > self.most_cpu_seconds:
            faults.append(f"{attack}: it took {spent:.0f} s of CPU")
        if reply is not None and not faults and attack.path == "/v1/jobs":
            faults = [f"{attack}: {fault}" for fault in _changed(self.target, attack, reply)]
        self._note(kind, reply, faults)
        if self.counts.total() % HEALTH_EVERY:
            return
        health = self.target.request("GET", "/v1/health")
        if health.status != 200:
            self.violations.append(f"{attack}: afterwards the server answers {health.status}")

    def _note_all(self, kind: str, results: Iterator[tuple[str, Reply | None, list[str]]]) -> None:
        for told, reply, faults in results:
            self._note(kind, reply, [f if f.startswith(told) else f"{told}: {f}" for f in faults])

    def _note(self, kind: str, reply: Reply | None, faults: list[str]) -> None:
        self.counts[kind] += 1
        self.statuses["closed" if reply is None else str(reply.status)] += 1
        self.violations += faults
        if reply is not None and reply.status in {200, 201}:
            self.accepted |= _ids_of(reply)

    def _look_back(self) -> None:
        """Whatever is there was accepted in so many words, and what was accepted is there."""
        jobs = {job["id"] for job in self._listed("jobs")}
        if jobs != self.accepted:
            self.violations.append(f"jobs of refused requests: {sorted(jobs - self.accepted)[:10]}")
            self.violations.append(f"accepted and gone: {sorted(self.accepted - jobs)[:10]}")
        schedules = {schedule["id"] for schedule in self._listed("schedules")}
        if schedules - {"one", "words", "strange"}:
            self.violations.append(f"schedules of refused requests: {schedules}")
        calendars = {calendar["name"] for calendar in self._listed("calendars")}
        if calendars - {"one", "words"}:
            self.violations.append(f"calendars of refused requests: {calendars}")
        del self.violations[MAX_TOLD:]

    def _listed(self, name: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        for _ in range(MAX_PAGES):
            query = f"?limit=100{cursor}"
            page = self.target.request("GET", f"/v1/{name}{query}").json
            yield from page[name]
            if page["next_cursor"] is None:
                return
            cursor = f"&cursor={page['next_cursor']}"
        raise AssertionError("a listing without an end")


def _ids_of(reply: Reply) -> set[str]:
    """Return the ids of the jobs that an answer says were accepted."""
    if not reply.body or reply.headers.get("content-type") != "application/json":
        return set()
    value = reply.json
    results = value.get("results", []) if isinstance(value, dict) else []
    accepted = {result["job"]["id"] for result in results if "job" in result}
    is_job = reply.headers.get("location", "").startswith("/v1/jobs/")
    return accepted | ({value["id"]} if is_job else set())


def _changed(target: Target, attack: Attack, reply: Reply) -> Iterator[str]:
    """Compare an accepted payload with what is read."""
    if reply.status != 201:
        return
    sent = json.loads(attack.data(target).partition(b"\r\n\r\n")[2]).get("payload")
    read = target.request("GET", reply.headers["location"])
    # What echoes a large payload has it twice, and an answer holds less than that.
    told = [job["payload"] for job in (reply.json, read.json) if "omitted" not in job]
    if any(payload != sent for payload in told):
        yield f"a payload came back as {read.body[:200]!r}"


@contextmanager
def trap() -> Iterator[tuple[str, Callable[[], bool]]]:
    """Listen where nobody should call; yield the address, and whether somebody did."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)

        def visited() -> bool:
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        yield f"127.0.0.1:{listener.getsockname()[1]}", visited
