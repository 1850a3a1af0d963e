"""The stack as it is deployed, on an emulator, by the stock command line; twice.

The second round enforces IAM: every function works under its role, every caller under his policy.
All of it runs over TLS, so the very same app is deployed as to AWS, but for code packed for this
machine. The tests of a round build on each other, in the order of this file.

Where ministack 1.5 differs from AWS:
- it runs functions by its own Python, whatever runtime and architecture they ask for;
- it judges rights to a version or alias by the function's own ARN, so pruning is not tried here;
- rules fire by a sweep of 10 s, for the first time a minute after they were made;
- it deletes a bucket with objects in it, which CloudFormation refuses;
- its CloudFormation leaves out TTL and point-in-time recovery of a table, lifecycle rules of a
  bucket, and the worker's leave to loop (which is given by hand, for its Lambda does ask for it);
  alarms over expressions it refuses (see there);
- a function that still runs when it is deleted makes its log group anew, without any right to;
- it asks for rights to batches, which do not exist, and logs no refusals (see there, too); it does
  not judge what its own pollers do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.credentials import Credentials

from hourhand.domain.ticks.timings import Timings
from tests.acceptance.scenarios import SCENARIOS, outcomes
from tests.acceptance.system import System
from tests.deployed.account import ACCOUNT
from tests.deployed.deployment import STACK, UPDATED_LOOK_AHEAD_SECONDS, Deployment, logger
from tests.deployed.emulator import REGION, ROOT
from tests.deployed.emulator_process import UNSIGNED

pytestmark = pytest.mark.timeout(900)

FUNCTIONS = ("api", "scheduler", "worker")
JOBS_IN_FLIGHT = 40
LONG_SECONDS = 120.0
"""A job that outlasts the update."""

LAST_DUE_SECONDS = 50
MAX_RECEIVES = 20

CALLS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "submitter": ("POST", "/v1/jobs", {"handler": "echo"}),
    "operator": ("POST", "/v1/jobs/cancel", {"tag": "of:nobody", "dry_run": True}),
    "reader": ("GET", "/v1/stats", None),
}
"""By the example policy in ``docs/iam`` that allows it and that the others are told apart by."""

MAY = {
    "submitter": {"submitter"},
    "operator": {"operator", "reader"},
    "reader": {"reader"},
}
"""By policy: whose of `CALLS` it may make."""


@pytest.mark.parametrize("name", SCENARIOS)
def test_what_holds_on_the_local_cloud_holds_deployed(deployment: Deployment, name: str) -> None:
    deployment.result(name)


def test_a_message_that_comes_again_and_again_runs_its_job_once(deployment: Deployment) -> None:
    job = deployment.result("duplicates")
    assert outcomes(job) == ["SUCCEEDED"]
    assert len(deployment.account.runs(job["id"])) == 1


def test_the_schedule_that_the_code_declares_is_put(deployment: Deployment) -> None:
    assert declared_by(deployment, version=1)["managed_by"] == "code"


def declared_by(deployment: Deployment, *, version: int) -> dict[str, Any]:
    """Wait until a version's declaration is applied; return the schedule."""

    def look() -> dict[str, Any] | None:
        answer = deployment.system.api.get("/v1/schedules/declared")
        is_applied = answer.status == 200 and answer.body["expression"] == f"0 0 {version} 1 *"
        return answer.body if is_applied else None

    return deployment.system.wait(look, f"the schedule that version {version} declares")


def test_the_requirements_of_the_handlers_are_packed(deployment: Deployment) -> None:
    job = deployment.system.run(handler="required", payload=[[1, 2]])
    assert "1  2" in job["result"]


def test_a_dead_job_is_in_the_dead_letter_queue_with_its_context(deployment: Deployment) -> None:
    job = deployment.system.run(ends="DEAD", handler="refuse", payload={"order": 7})
    letter = deployment.system.wait(
        lambda: dead_letters(deployment).get(job["id"]), "its dead letter"
    )
    assert letter["job"]["handler"] == "refuse"
    assert json.loads(letter["payload_json"]) == {"order": 7}
    assert letter["error"]["type"] == "NotRetryable"
    assert "acceptance_jobs.py" in letter["error"]["traceback"]
    assert letter["attempts"][0]["outcome"] == "FAILED"
    assert letter["history"][0]["event"] == "SUBMITTED"


def test_who_does_not_sign_is_refused(deployment: Deployment) -> None:
    stranger = deployment.account.api(deployment.outputs["ApiUrl"], caller=None)
    for method, target, body in CALLS.values():
        assert stranger.ask(method, target, body).status == 403
    assert stranger.get("/v1/health").status == 403


def test_who_has_no_rights_is_refused(deployment: Deployment) -> None:
    require_iam(deployment)
    caller = deployment.account.make_caller("powerless", None)
    api = deployment.account.api(deployment.outputs["ApiUrl"], caller)
    for method, target, body in CALLS.values():
        assert api.ask(method, target, body).status == 403


@pytest.mark.parametrize("name", CALLS)
def test_an_example_policy_allows_what_it_is_for_and_no_more(
    deployment: Deployment, name: str
) -> None:
    require_iam(deployment)
    caller = deployment.account.make_caller(name, example_policy(deployment, name))
    api = deployment.account.api(deployment.outputs["ApiUrl"], caller)
    for of, (method, target, body) in CALLS.items():
        allowed = api.ask(method, target, body).status in {200, 201}
        assert allowed == (of in MAY[name]), f"{name}: {method} {target}"
    assert api.get("/v1/handlers").status == 200


def test_an_update_while_jobs_run_loses_none_and_ends_each_once(
    deployment: Deployment, assemblies: Mapping[int, Path]
) -> None:
    system = deployment.system
    long = system.submit(handler="version", priority="high", payload=LONG_SECONDS)
    system.reach(long["id"], "RUNNING")
    delays = [LAST_DUE_SECONDS * n / JOBS_IN_FLIGHT for n in range(JOBS_IN_FLIGHT)]
    jobs = [{"handler": "version", "payload": 2.0, "delay_seconds": delay} for delay in delays]
    results = system.api.post("/v1/jobs/batch", {"jobs": jobs}).body["results"]
    ids = [result["job"]["id"] for result in results]
    system.reach(ids[0], "RUNNING", "SUCCEEDED")
    deployment.update(assemblies[2])
    # What began before the update ends on its own version, and is not begun again.
    assert system.job(long["id"])["status"] == "RUNNING", "the update took longer than the job"
    assert system.reach(long["id"], "SUCCEEDED")["result"] == 1
    assert outcomes(system.job(long["id"])) == ["SUCCEEDED"]
    assert len(system.runs(long["id"])) == 1
    ended = [system.reach(job_id, "SUCCEEDED") for job_id in ids]
    ran = [job["result"] for job in ended]
    assert (ran[0], ran[-1]) == (1, 2)
    assert set(ran) == {1, 2}
    for job in ended:
        assert outcomes(job) == ["SUCCEEDED"]
        assert len(system.runs(job["id"])) == 1
    counts = ran.count(1), ran.count(2)
    logger.info("%d jobs ran by the old version, %d by the new one, none was lost", *counts)


def test_the_update_changed_the_look_ahead(deployment: Deployment) -> None:
    assert not looks_ahead(deployment.system)


def test_the_update_applied_the_declarations_of_the_new_version(deployment: Deployment) -> None:
    assert declared_by(deployment, version=2)["status"] == "active"


def test_a_dead_job_is_redriven_once_its_handler_is_mended(deployment: Deployment) -> None:
    job = deployment.result("broken")
    deployment.system.operate(job["id"], "redrive")
    assert deployment.system.reach(job["id"], "SUCCEEDED")["result"] == 2


def test_a_rollback_goes_back_in_code_and_environment_and_forth_again(
    deployment: Deployment,
) -> None:
    account, system = deployment.account, deployment.system
    # With the rights of the example policy alone; the first round asks nobody for rights.
    operator = account.make_caller("rollback", example_policy(deployment, "rollback"))
    assert (looks_ahead(system), runs_version(system)) == (False, 2)
    newest, before = rolled_back(deployment, operator, "--list")
    assert (newest["live"], before["live"]) == (["api", "scheduler", "worker"], [])
    (done,) = rolled_back(deployment, operator, "--yes")
    assert done["deployment"] == before["deployment"]
    assert [move["function"] for move in done["moved"]] == ["api", "scheduler", "worker"]
    assert (looks_ahead(system), runs_version(system)) == (True, 1)
    assert declared_by(deployment, version=1)["status"] == "active"
    assert "rolled back: the aliases are at" in doctor(deployment)
    # Given again it goes no further.
    (again,) = rolled_back(deployment, operator, "--yes")
    assert (again["deployment"], again["moved"]) == (before["deployment"], [])
    (forth,) = rolled_back(deployment, operator, "--yes", "--to", newest["deployment"])
    assert [move["to"] for move in forth["moved"]] == list(newest["versions"].values())
    assert (looks_ahead(system), runs_version(system)) == (False, 2)
    assert declared_by(deployment, version=2)["status"] == "active"


def test_a_job_whose_message_was_lost_is_sent_again_by_the_tick(deployment: Deployment) -> None:
    job = deployment.result("lost message")
    assert outcomes(job) == ["SUCCEEDED"]
    kinds = [(event["kind"], event["actor"]) for event in deployment.system.events(job["id"])]
    assert ("DISPATCHED_AGAIN", "tick") in kinds


def test_no_tick_failed_and_no_message_was_given_up(deployment: Deployment) -> None:
    for name in ("TickFailuresQueueUrl", "BackstopQueueUrl"):
        assert deployment.is_empty(name), name


def test_the_doctor_finds_nothing_wrong(deployment: Deployment) -> None:
    said = doctor(deployment)
    logger.info("the doctor says:\n%s", said)
    assert "rolled back" not in said


def test_nobody_was_refused_but_those_who_had_to_be(deployment: Deployment) -> None:
    refused = deployment.emulator.denials()
    roles = deployment.account.client("iam").list_roles(PathPrefix=f"/{STACK}/")["Roles"]
    assert len(roles) == len(FUNCTIONS)
    names = {role["RoleName"] for role in roles}
    assert [d for d in refused if names & set(d["principal"].split("/"))] == []
    others = {denial["principal"].rpartition("/")[2] for denial in refused} - {UNSIGNED}
    # That the wrong callers are among them shows that refusals are seen at all.
    assert others == ({"powerless", *CALLS} if deployment.emulator.enforces_iam else set())


def test_destroying_it_leaves_nothing(deployment: Deployment) -> None:
    account = deployment.account
    empty_bucket(deployment)
    deployment.destroy()
    assert [
        name
        for name in account.client("dynamodb").list_tables()["TableNames"]
        if name.startswith(STACK)
    ] == []
    assert account.client("sqs").list_queues(QueueNamePrefix=STACK).get("QueueUrls", []) == []
    functions = account.client("lambda").list_functions()["Functions"]
    assert [f["FunctionName"] for f in functions if f["FunctionName"].startswith(STACK)] == []
    buckets = [bucket["Name"] for bucket in account.client("s3").list_buckets()["Buckets"]]
    assert deployment.outputs["ContentsBucket"] not in buckets
    assert account.client("events").list_rules(NamePrefix=STACK)["Rules"] == []
    apis = account.client("apigatewayv2").get_apis()["Items"]
    assert [api["Name"] for api in apis if api["Name"].startswith(STACK)] == []


def rolled_back(
    deployment: Deployment, caller: Credentials, *arguments: str
) -> list[dict[str, Any]]:
    """Run ``hourhand rollback`` as a caller; return what it prints."""
    environment = {
        **deployment.emulator.client_environment(),
        "AWS_ACCESS_KEY_ID": caller.access_key,
        "AWS_SECRET_ACCESS_KEY": caller.secret_key,
    }
    said = command("rollback", "--stack", STACK, "--json", *arguments, environment=environment)
    return [json.loads(line) for line in said.splitlines()]


def doctor(deployment: Deployment) -> str:
    """Run ``hourhand doctor`` as the account's root; return what it says."""
    return command("doctor", "--stack", STACK, environment=deployment.emulator.client_environment())


def command(*arguments: str, environment: Mapping[str, str]) -> str:
    """Run the command line; fail unless it succeeds."""
    # Of the tests' own credentials not even the session token: it is of no key of the emulator's.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    found = subprocess.run(
        [sys.executable, "-m", "hourhand.cli.main", *arguments],
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def runs_version(system: System) -> int:
    """Return the version of the handlers that runs a job now."""
    version: int = system.run(handler="version", priority="high", payload=0.0)["result"]
    return version


def looks_ahead(system: System) -> bool:
    """Whether the API looks as far ahead as it does without the flag of the second deployment."""
    between = (UPDATED_LOOK_AHEAD_SECONDS + Timings().look_ahead.total_seconds()) / 2
    job = system.submit(handler="echo", delay_seconds=between)
    system.operate(job["id"], "cancel")
    return bool(job["status"] == "ENQUEUED")


def require_iam(deployment: Deployment) -> None:
    if not deployment.emulator.enforces_iam:
        pytest.skip("this round asks nobody for rights")


def example_policy(deployment: Deployment, name: str) -> dict[str, Any]:
    """Return an example of the documentation, its placeholders filled in."""
    text = (ROOT / "docs" / "iam" / f"{name}.json").read_text(encoding="utf-8")
    api_id = str(urlsplit(deployment.outputs["ApiUrl"]).hostname).partition(".")[0]
    values = {"REGION": REGION, "ACCOUNT": ACCOUNT, "API_ID": api_id, "INSTALLATION": STACK}
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    policy: dict[str, Any] = json.loads(text)
    return policy


def dead_letters(deployment: Deployment) -> dict[str, Any]:
    """Return the dead letters that are to be seen now, by job; they stay in the queue."""
    sqs, url = deployment.account.client("sqs"), deployment.outputs["DeadLetterQueueUrl"]
    found: dict[str, Any] = {}
    for _ in range(MAX_RECEIVES):
        messages = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=1
        ).get("Messages", [])
        letters = [json.loads(message["Body"]) for message in messages]
        fresh = {letter["job"]["id"]: letter for letter in letters}
        if fresh.keys() <= found.keys():
            break
        found |= fresh
    return found


def empty_bucket(deployment: Deployment) -> None:
    """Delete every object, as the documentation asks: AWS deletes no bucket that holds any."""
    s3, bucket = deployment.account.client("s3"), deployment.outputs["ContentsBucket"]
    kept = s3.list_objects_v2(Bucket=bucket).get("Contents", [])
    assert kept, "large contents were to be in the bucket"
    s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": o["Key"]} for o in kept]})
