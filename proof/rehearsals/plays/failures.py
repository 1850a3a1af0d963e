"""Rehearsals of jobs that fail: retries in masses, dead letters, a bad deploy, a dying worker."""

from __future__ import annotations

import json
import signal
from typing import Any

from hourhand.local.events import ChildDied, HandlersLoaded
from proof.rehearsals.signs import BUG, DOWN, HANG, OVERLAP, POISON
from proof.rehearsals.stage import Deploys, RehearsalFailed, Stage, told

TIMER_EXIT_CODE = 1
"""What `faulthandler` ends a process with."""

LOST = "An attempt was lost: its worker's lease expired."

GOOD = """from hourhand import JobContext, Retry, job


@job("invoice", retry=Retry(max_attempts=3, base_seconds=2, jitter="none"))
def invoice(ctx: JobContext, payload: int) -> int:
    return payload * 2
"""
WITH_A_BUG = GOOD.replace("payload * 2", "payload.cents * 2")
DEPLOYS = Deploys(module="deployed_jobs", text=GOOD)
NO_PYTHON = GOOD + "\nthis is no Python\n"


def mass_retries(stage: Stage) -> None:
    """A service that jobs need is down: they are retried with growing delays until it is up."""
    (stage.folder / DOWN).touch()
    stage.submit(40, "charge", 7)
    stage.tell("breaks", "the bank that 40 jobs need does not answer")
    stage.wait("each has failed", lambda: sum(stage.values("attempts_to_be_retried")) >= 60 or None)
    retried = sum(stage.values("attempts_to_be_retried"))
    retrying = stage.list_jobs("&status=RETRYING")
    stage.tell("seen", f"attempts_to_be_retried: {retried:.0f}; RETRYING: {len(retrying)}")
    job = stage.ask("GET", f"/v1/jobs/{stage.jobs[0]}").body
    stage.check(
        "GET /v1/jobs/ID has the error", "The bank" in job["error"]["message"], job["error"]["type"]
    )
    spread = {str(one["due_at"])[:21] for one in retrying}
    stage.check("the retries are spread over time", len(spread) > 5, f"{len(spread)} tenths of a s")
    stage.repair("the bank answers again", (stage.folder / DOWN).unlink)
    stage.wait_for_the_end()
    attempts = [one["attempt"] for one in stage.list_jobs()]
    stage.check("no job used more than its 6 attempts", max(attempts) <= 6, max(attempts))


def dead_letters(stage: Stage) -> None:
    """A handler has a bug and its jobs end DEAD: after the fix, a redrive runs all of them."""
    (stage.folder / BUG).touch()
    stage.submit(9, "parse", 13)
    stage.submit(6, "work", 0.05)
    stage.tell("breaks", 'a bug in the handler "parse" ends 9 of 15 jobs DEAD')
    stage.wait("they are DEAD", lambda: stage.by_status()["DEAD"] == 9 or None)
    stage.wait("a tick counts them", lambda: 9 in stage.values("dead_jobs") or None)
    letters = _waiting_letters(stage)
    stage.tell("seen", f"dead_jobs is 9 (the alarm dead-jobs: 1 or more); {letters} dead letters")
    letter = _read_letter(stage)
    stage.check("a dead letter has its job's error", "There is no rate" in json.dumps(letter))
    dead = stage.list_jobs("&status=DEAD&handler=parse")
    stage.check("GET /v1/jobs?status=DEAD lists them", len(dead) == 9, dead[0]["error"]["message"])
    stage.repair("fixes the handler", (stage.folder / BUG).unlink)
    asked = {"status": "DEAD", "handler": "parse"}
    dry = stage.ask("POST", "/v1/jobs/redrive", {**asked, "dry_run": True}).body
    stage.check("a dry run counts without changing", dry["matched"] == 9, told(stage.by_status()))
    done = stage.ask("POST", "/v1/jobs/redrive", asked).body
    stage.check("POST /v1/jobs/redrive redrives all of them", done["changed"] == 9, done["changed"])
    stage.wait_for_the_end()
    stage.wait("a tick counts none", lambda: stage.newest("dead_jobs") == 0 or None)
    stage.check("dead_jobs is 0, so the alarm is over", True, "the letters stay: they are copies")


def bad_deploy(stage: Stage) -> None:
    """A deployment has a bug and jobs fail: the previous version and a redrive complete them."""
    file = stage.folder / f"{DEPLOYS.module}.py"
    stage.submit(5, "invoice", 21)
    stage.wait_for_the_end()
    _deploy(stage, file.write_text, NO_PYTHON, is_loaded=False)
    stage.check("packing refuses handlers that cannot be imported", True)
    _deploy(stage, file.write_text, WITH_A_BUG, is_loaded=True)
    stage.submit(12, "invoice", 21)
    stage.tell("breaks", "deploys a version in which the handler raises")
    stage.wait("attempts fail", lambda: sum(stage.values("attempts_to_be_retried")) >= 12 or None)
    first = stage.ask("GET", f"/v1/jobs/{stage.jobs[-1]}").body
    stage.tell("seen", f"{told(stage.by_status())}; error: {first['error']['message']}")
    stage.wait("some end DEAD", lambda: stage.by_status()["DEAD"] >= 12 or None)
    stage.repair(
        "deploys the previous version",
        lambda: _deploy(stage, file.write_text, GOOD, is_loaded=True),
    )
    back = stage.ask("POST", "/v1/jobs/redrive", {"status": "DEAD", "handler": "invoice"}).body
    stage.tell("seen", f"redriven: {back['changed']}")
    stage.wait_for_the_end()


def worker_crash(stage: Stage) -> None:
    """A job kills its worker each time: it ends DEAD, and no other job loses an attempt."""
    (stage.folder / POISON).touch()
    poison = stage.submit(1, "convert", "poison", retry={"max_attempts": 2, "base_seconds": 0.5})
    stage.submit(20, "convert", "water")
    stage.tell("breaks", "one job of 21 kills the process that runs it")
    died = stage.wait("a worker dies", lambda: _died(stage))
    stage.tell("seen", f"{died.name} (pid {died.pid}) died of signal {signal.SIGKILL.value}")
    stage.wait("it is DEAD", lambda: stage.by_status()["DEAD"] == 1 or None)
    job = stage.ask("GET", f"/v1/jobs/{poison[0]}").body
    outcomes = [attempt["outcome"] for attempt in job["attempts"]]
    stage.check("its history has the lost attempts", outcomes == ["LOST", "LOST"], outcomes)
    stage.check(
        "the lost attempts are logged or recovered by redelivery",
        bool(outcomes),
        f"{len(stage.logged(LOST))} by the sweep",
    )
    neighbours = [one for one in stage.list_jobs("&status=SUCCEEDED") if one["attempt"] == 1]
    stage.wait("its neighbours end", lambda: stage.by_status()["SUCCEEDED"] == 20 or None)
    stage.check(
        "each other job took one attempt",
        all(one["attempt"] == 1 for one in stage.list_jobs("&status=SUCCEEDED")),
        len(neighbours),
    )
    stage.repair("fixes the handler that killed it", (stage.folder / POISON).unlink)
    stage.ask("POST", f"/v1/jobs/{poison[0]}/redrive")
    stage.wait_for_the_end()


def hung_handler(stage: Stage) -> None:
    """A handler holds the interpreter's lock: its process ends with the lease, before a retry."""
    (stage.folder / HANG).touch()
    hung = stage.submit(1, "match", "a" * 60 + "b")
    stage.submit(20, "convert", "water")
    stage.tell("breaks", "one job of 21 holds the GIL in a catastrophic regular expression")
    died = stage.wait("its worker ends", lambda: _died(stage))
    stage.check(
        "the timer that needs no GIL ended it", died.exit_code == TIMER_EXIT_CODE, died.exit_code
    )
    stage.wait("it is DEAD", lambda: stage.by_status()["DEAD"] == 1 or None)
    job = stage.ask("GET", f"/v1/jobs/{hung[0]}").body
    outcomes = [attempt["outcome"] for attempt in job["attempts"]]
    stage.check("its history has the lost attempts", outcomes == ["LOST", "LOST"], outcomes)
    overlaps = stage.folder / OVERLAP
    noted = overlaps.read_text() if overlaps.exists() else ""
    stage.check("no two of its handlers ran at once", not noted, noted)
    stage.wait("the others end", lambda: stage.by_status()["SUCCEEDED"] == 20 or None)
    stage.check(
        "each of the others took one attempt",
        all(one["attempt"] == 1 for one in stage.list_jobs("&status=SUCCEEDED")),
    )
    stage.repair("gives the handler an expression that ends", (stage.folder / HANG).unlink)
    stage.ask("POST", f"/v1/jobs/{hung[0]}/redrive")
    stage.wait_for_the_end()


# --- ---


def _deploy(stage: Stage, write: Any, text: str, *, is_loaded: bool) -> None:
    """Replace the handlers as a deployment does; wait until they are, or are refused."""
    before = len(_loads(stage))
    write(text)
    loads = stage.wait("the handlers are read", lambda: _loads(stage)[before:] or None)
    if (loads[-1].error is None) is not is_loaded:
        raise RehearsalFailed(f"The handlers were read otherwise than expected: {loads[-1].error}.")


def _loads(stage: Stage) -> list[HandlersLoaded]:
    return stage.cloud.news.of(HandlersLoaded)


def _died(stage: Stage) -> ChildDied | None:
    return next(iter(stage.cloud.news.of(ChildDied)), None)


def _waiting_letters(stage: Stage) -> int:
    name = "ApproximateNumberOfMessages"
    url = stage.cloud.settings.dead_letter_queue
    answer = stage.cloud.aws.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])  # type: ignore[list-item]
    return int(answer["Attributes"][name])  # type: ignore[index]


def _read_letter(stage: Stage) -> Any:
    url = stage.cloud.settings.dead_letter_queue
    answer = stage.cloud.aws.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)
    return json.loads(answer["Messages"][0]["Body"])
