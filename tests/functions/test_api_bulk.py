"""Bulk operations over the whole system in memory."""

from __future__ import annotations

from hourhand.api.app import create_app
from hourhand.domain.jobs.job import JobStatus
from hourhand.testing import Faults
from tests.functions.api_client import ApiClient
from tests.world.runs import fail_for_good
from tests.world.world import World


def test_a_dry_run_counts_and_changes_nothing(api: ApiClient, world: World) -> None:
    for tenant in ("acme", "acme", "other"):
        api.submit(tenant=tenant, delay_seconds=3600)
    response = api.post("/v1/jobs/cancel", {"tenant": "acme", "dry_run": True})
    assert response.json == {"matched": 2, "changed": 0, "failed": [], "next_cursor": None}
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.PENDING}


def test_only_matching_jobs_are_cancelled(api: ApiClient) -> None:
    for customer in ("1", "2", "2"):
        api.submit(tags={"customer": customer}, delay_seconds=3600)
    response = api.post("/v1/jobs/cancel", {"tag": "customer:2"})
    assert (response.status, response.json["matched"], response.json["changed"]) == (200, 2, 2)
    (left,) = api.get("/v1/jobs?status=PENDING").json["jobs"]
    assert left["tags"] == {"customer": "1"}


def test_all_dead_jobs_are_redriven(api: ApiClient, world: World) -> None:
    for _ in range(3):
        api.submit()
    world.deliver(fail_for_good)
    assert api.post("/v1/jobs/redrive", {"status": "DEAD"}).json["changed"] == 3
    world.deliver()
    assert {job.status for job in world.store.jobs().values()} == {JobStatus.SUCCEEDED}


def test_all_means_all(api: ApiClient) -> None:
    for _ in range(2):
        api.submit(delay_seconds=3600)
    assert api.post("/v1/jobs/cancel", {"all": True}).json["changed"] == 2


def test_a_job_that_could_not_be_changed_is_named_with_the_reason(world: World) -> None:
    job = world.submit(delay_seconds=3600)
    faults = Faults()
    faults.throttle("transition", times=100)
    api = ApiClient(create_app(world.process(faults).api))
    response = api.post("/v1/jobs/cancel", {"all": True})
    assert (response.json["matched"], response.json["changed"]) == (1, 0)
    (failure,) = response.json["failed"]
    assert (failure["id"], failure["error"]["status"]) == (job.id, 503)
