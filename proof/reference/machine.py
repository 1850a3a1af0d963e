"""The whole system, stepped at random through its API, beside the model of what a user may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hourhand.api.app import create_app
from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.handler_runner import Finished, Pulse
from proof.reference import model
from proof.reference.answers import differences, seen_lateness, time_of
from proof.reference.caller import Caller, Response
from proof.reference.model import Behaviour, Next, Refused, Seen
from tests.world import runs
from tests.world.world import World

MINUTES_TO_REST = 60
PAGE_JOBS = 200
FEW_ATTEMPTS = 2
"""So many are always told."""


@dataclass(frozen=True)
class Pace:
    """How much time passes, and who does something then."""

    seconds: int
    ticks: bool
    works: bool


BODIES = st.fixed_dictionaries(
    {
        "delay_seconds": st.sampled_from([0, 2, 40, 300, 301, 700]),
        "priority": st.sampled_from(["high", "medium", "low"]),
        "max_attempts": st.integers(1, 3),
        "base_seconds": st.sampled_from([0, 20, 400]),
        "on_lost": st.sampled_from(["retry", "dead"]),
        "payload": st.sampled_from([None, "x", "x" * 400]),
    },
    optional={
        "idempotency_key": st.sampled_from(["a", "b"]),
        "expires_in": st.sampled_from([800, 1500]),
    },
)
PATCHES = st.sampled_from(
    [{"delay_seconds": 5}, {"delay_seconds": 500}, {"priority": "high"}, {"payload": "new"}]
)
BEHAVIOURS = st.builds(
    Behaviour,
    ends=st.sampled_from(["die", "die", "fail", "fail", "fail for good", "snooze", "succeed"]),
    is_told=st.sampled_from([False, False, True]),
    seconds=st.sampled_from([50, 400]),
)
PACES = st.builds(
    Pace,
    seconds=st.sampled_from([0, 2, 20, 48, 60, 60, 300, 1900]),
    ticks=st.booleans(),
    works=st.booleans(),
)
OPERATIONS = {"cancel": model.cancelled, "run-now": model.run_now, "redrive": model.redriven}
SOME = st.integers(min_value=0, max_value=9)
ENDS = {
    "succeed": runs.succeed,
    "fail": runs.fail,
    "fail for good": runs.fail_for_good,
    "die": runs.kill_process,
}


class ReferenceMachine(RuleBasedStateMachine):
    """Each step is done to the system and to the model; then every answer is compared.

    ``counts`` is of all machines: a comparison of what never happened would prove nothing.
    """

    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.world = World(timings=Timings())
        self.api = Caller(create_app(self.world.api))
        self.jobs: dict[str, Seen] = {}
        self.keys: dict[str, str] = {}
        self.bodies: dict[str, dict[str, Any]] = {}
        self.ticked_at: datetime | None = None
        self.steps = 0

    @property
    def now(self) -> datetime:
        return self.world.clock.now()

    # --- people ---

    @initialize(bodies=st.lists(BODIES, min_size=2, max_size=4))
    def begin(self, bodies: list[dict[str, Any]]) -> None:
        """There is something to do from the beginning."""
        for body in bodies:
            self.submit(body)

    @rule(body=BODIES)
    def submit(self, body: dict[str, Any]) -> None:
        sent = self._sent(body)
        response = self.api.post("/v1/jobs", sent)
        known = self.keys.get(body.get("idempotency_key", ""))
        if known is not None:
            self._expect("submit again", known, response, self._again(known, body))
            return
        assert response.status == 201, response.text
        job = model.submitted(response.json["id"], self._stamped(body), self.now)
        assert job.id not in self.jobs
        self.jobs[job.id] = job
        if "idempotency_key" in body:
            self.keys[body["idempotency_key"]] = job.id
            self.bodies[job.id] = sent
        self._expect("submit", job.id, response, [job])

    @precondition(lambda self: self.bodies)
    @rule(number=SOME)
    def submit_the_same(self, number: int) -> None:
        """A client that never read the answer sends the very same again, however late."""
        job_id = list(self.bodies)[number % len(self.bodies)]
        response = self.api.post("/v1/jobs", self.bodies[job_id])
        job = self.jobs[job_id]
        same = model.submitted_again(job, job.body, self.now)
        self._expect("submit the same", job_id, response, same)

    def _sent(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return what the API takes for a body of the model."""
        retry = {"max_attempts": body["max_attempts"], "base_seconds": body["base_seconds"]}
        sent = {k: v for k, v in body.items() if k not in {*retry, "expires_in"}}
        sent |= {"handler": "greet", "retry": {**retry, "backoff": "fixed", "jitter": "none"}}
        if "expires_in" in body:
            expires_at = self.now + timedelta(seconds=body["expires_in"])
            sent["expires_at"] = expires_at.isoformat()
        return sent

    def _stamped(self, body: dict[str, Any]) -> dict[str, Any]:
        """An expiry is sent as a time: the same words later are another body."""
        return {**body, "sent_at": self.now if "expires_in" in body else None}

    def _again(self, job_id: str, body: dict[str, Any]) -> Next:
        return model.submitted_again(self.jobs[job_id], self._stamped(body), self.now)

    @precondition(lambda self: self.jobs)
    @rule(number=SOME, verb=st.sampled_from(sorted(OPERATIONS)))
    def operate(self, number: int, verb: str) -> None:
        self._operate(verb, number, OPERATIONS[verb])

    def _operate(self, verb: str, number: int, step: Any) -> None:
        job = self._pick(number)
        response = self.api.post(f"/v1/jobs/{job.id}/{verb}")
        self._expect(verb, job.id, response, step(job, self.now))

    @precondition(lambda self: self.jobs)
    @rule(number=SOME, patch=PATCHES)
    def change(self, number: int, patch: dict[str, Any]) -> None:
        job = self._pick(number)
        response = self.api.patch(f"/v1/jobs/{job.id}", patch)
        self._expect("change", job.id, response, model.changed(job, patch, self.now))

    @rule()
    def redrive_all_dead(self) -> None:
        """One of them is discarded before: it is left alone until it is redriven by its id."""
        discarded = [job.id for job in self._unresolved()[:1]]
        for job_id in discarded:
            response = self.api.post(f"/v1/jobs/{job_id}/discard")
            self._expect("discard", job_id, response, model.discarded(self.jobs[job_id], self.now))
        dead = self._unresolved()
        response = self.api.post("/v1/jobs/redrive", {"all": True, "expected_count": len(dead)})
        assert (response.json["matched"], response.json["changed"]) == (len(dead), len(dead))
        for job in dead:
            self._settle(job.id, model.redriven(job, self.now))
        for job_id in discarded:
            response = self.api.post(f"/v1/jobs/{job_id}/redrive")
            self._expect("redrive", job_id, response, model.redriven(self.jobs[job_id], self.now))

    def _unresolved(self) -> list[Seen]:
        return [j for j in self.jobs.values() if j.status == model.DEAD and not j.is_discarded]

    def _pick(self, number: int) -> Seen:
        return list(self.jobs.values())[number % len(self.jobs)]

    # --- schedulers, workers, time ---

    @rule(pace=PACES, behaviour=BEHAVIOURS)
    def live_on(self, pace: Pace, behaviour: Behaviour) -> None:
        """Time passes, and then the scheduler, the workers or both do their work."""
        self.world.advance(pace.seconds)
        if pace.ticks:
            self.world.tick()
            self.ticked_at = self.now
            self._all_may("tick", lambda job: model.ticked(job, self.now))
        if pace.works:
            self._work(behaviour)

    @rule(pace=PACES, behaviour=BEHAVIOURS)
    def live_on_and_on(self, pace: Pace, behaviour: Behaviour) -> None:
        """The same: it is what mostly happens."""
        self.live_on(pace, behaviour)

    def _work(self, behaviour: Behaviour) -> None:
        for delivery in self.world.receive():
            with suppress(runs.HandlerKilled):
                self.world.handle(delivery, self._behave(behaviour), self.world.process().worker)
        self._all_may("work", lambda job: model.worked(job, behaviour, self.now))

    def _behave(self, behaviour: Behaviour) -> runs.Behaviour:
        def behave(job: Job, pulse: Pulse) -> Finished:
            assert self.api.get(f"/v1/jobs/{job.id}").json["status"] == model.RUNNING
            if behaviour.is_told:
                told = self.api.post(f"/v1/jobs/{job.id}/cancel").json
                assert told["status"] == model.RUNNING
                assert time_of(told["cancel_requested_at"]) == self.now
                assert pulse.beat(None) == "cancelled"
            if behaviour.ends == "snooze":
                return runs.snooze(behaviour.seconds)(job, pulse)
            return ENDS[behaviour.ends](job, pulse)

        return behave

    # --- what is compared ---

    def _all_may(self, step: str, after: Any) -> None:
        for job in list(self.jobs.values()):
            may_be = after(job)
            self.counts[step] += may_be != [job]
            self._settle(job.id, may_be)

    def _expect(self, step: str, job_id: str, response: Response, may_be: Next) -> None:
        """Compare the answer to a request about one job with what may be answered."""
        if isinstance(may_be, Refused):
            self.counts[f"{step}: refused"] += 1
            assert response.status == may_be.status, (step, self.jobs[job_id], response.text)
            return
        self.counts[step] += 1
        assert response.status in {200, 201}, (step, self.jobs[job_id], response.text)
        self._settle(job_id, may_be)
        assert not differences(self.jobs[job_id], response.json), (step, self.jobs[job_id])

    def _settle(self, job_id: str, may_be: Next) -> None:
        """Find out which of the things that may be true now is."""
        assert not isinstance(may_be, Refused)
        answer = self._told(job_id)
        self.counts["compared"] += 1
        for candidate in may_be:
            if not differences(candidate, answer):
                self.jobs[job_id] = candidate
                return
        first = differences(may_be[-1], answer)
        raise AssertionError(f"job {job_id} was {self.jobs[job_id]}; told, expected: {first}")

    def _told(self, job_id: str) -> dict[str, Any]:
        """Return the job as the API tells it, and beside it what else is seen of it."""
        answer: dict[str, Any] = self.api.get(f"/v1/jobs/{job_id}").json
        letters = [one.body for one in self.world.queues.dead_letters if f'"{job_id}"' in one.body]
        answer["runs"] = sum(run.job.id == job_id for run in self.world.runs)
        answer["letters"] = len(letters)
        if len(self.jobs[job_id].attempts) >= FEW_ATTEMPTS:
            # A long history loses its middle, and says so.
            answer["dropped"] = self.api.get(f"/v1/jobs/{job_id}/events").json["dropped"]
        return answer

    @invariant()
    def every_job_is_told_as_it_is(self) -> None:
        for job_id in self._in_turn(list(self.jobs)):
            assert not differences(self.jobs[job_id], self._told(job_id)), self.jobs[job_id]

    @invariant()
    def the_listing_shows_every_job_once_newest_first(self) -> None:
        listed = self._listed("")
        assert sorted(job["id"] for job in listed) == sorted(self.jobs)
        for one in listed:
            self.counts["compared"] += 1
            assert not differences(self.jobs[one["id"]], one), self.jobs[one["id"]]
        created = [one["created_at"] for one in listed]
        assert created == sorted(created, reverse=True)

    @invariant()
    def each_state_lists_its_jobs(self) -> None:
        for status in {model.DEAD, *self._in_turn(model.STATES)}:
            expected = {job.id for job in self.jobs.values() if job.status == status}
            assert {one["id"] for one in self._listed(f"&status={status}")} == expected, status
        unresolved = {job.id for job in self._unresolved()}
        listed = self._listed("&status=DEAD&discarded=false")
        assert {one["id"] for one in listed} == unresolved

    def _in_turn(self, things: Sequence[str]) -> Sequence[str]:
        """Return one of them, at each step another: all at each step would take its time."""
        self.steps += 1
        return things[self.steps % len(things) :][:1] if things else ()

    def _listed(self, query: str) -> list[dict[str, Any]]:
        page = self.api.get(f"/v1/jobs?limit={PAGE_JOBS}{query}").json
        assert page["next_cursor"] is None
        jobs: list[dict[str, Any]] = page["jobs"]
        return jobs

    @invariant()
    def the_figures_are_those_of_the_jobs(self) -> None:
        stats = self.api.get("/v1/stats").json
        assert seen_lateness(self.jobs.values()) == (
            stats["lateness"]["p50_ms"],
            stats["lateness"]["p99_ms"],
            stats["lateness"]["sample"],
        )
        assert time_of(stats["last_tick_at"]) == self.ticked_at
        messages = sum(q["waiting"] + q["running"] + q["delayed"] for q in stats["queues"])
        assert messages >= sum(job.is_sent for job in self.jobs.values())

    def teardown(self) -> None:
        """Left alone, with handlers that succeed, every job comes to its end."""
        self.world.settle(minutes=MINUTES_TO_REST)
        for job_id in self.jobs:
            told = self.api.get(f"/v1/jobs/{job_id}").json
            assert told["status"] in model.FINAL, told
            self.counts[f"ended {told['status']}"] += 1
        self.counts["jobs"] += len(self.jobs)
