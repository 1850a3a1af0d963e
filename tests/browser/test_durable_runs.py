"""The page of a durable run: its calls on a time axis, and a button for the signal it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.harness import Cloud

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


def waiting_run(cloud: Cloud, **payload: Any) -> str:
    """Submit a run, and return its id once it waits for its approval."""
    job_id = cloud.submit("approve-order", {"cents": 900, **payload})
    cloud.wait(lambda: cloud.job(job_id)["waits_for"])
    return job_id


def steps_of(page: Page, job_id: str) -> Locator:
    page.goto(f"/console/jobs/{job_id}")
    steps = page.get_by_role("region", name="Steps")
    steps.get_by_text("charge", exact=True).wait_for()
    return steps


def approve(page: Page, payload: str) -> None:
    page.get_by_role("button", name="Send approved …").click()
    dialog = page.get_by_role("dialog", name="Send the signal approved")
    dialog.get_by_label("Payload").fill(payload)
    dialog.get_by_role("button", name="Send signal").click()
    dialog.wait_for(state="detached")


def test_a_person_approves_a_run_that_waits(page: Page, cloud: Cloud) -> None:
    job_id = waiting_run(cloud)
    steps = steps_of(page, job_id)
    page.get_by_text("This run waits for a signal, approved").wait_for()
    steps.get_by_text("2 succeeded, 1 waiting").wait_for()
    assert steps.get_by_role("listitem").count() == 4
    approve(page, '{"by": "Ann"}')
    cloud.reach(job_id, "SUCCEEDED")
    steps.get_by_text("4 succeeded").wait_for()
    assert page.get_by_role("button", name="Send approved …").count() == 0
    steps.get_by_text("2 invocations").wait_for()
    steps.locator("summary").filter(has_text="approved").click()
    steps.get_by_text("Ann").wait_for()
    assert cloud.job(job_id)["result"] == {"by": "Ann"}


def test_an_open_step_stays_open_as_the_run_ends(page: Page, cloud: Cloud) -> None:
    job_id = waiting_run(cloud)
    steps = steps_of(page, job_id)
    steps.locator("summary").filter(has_text="charge").click()
    details = steps.locator("details[open] .run-details")
    details.wait_for()
    approve(page, "1")
    cloud.reach(job_id, "SUCCEEDED")
    page.get_by_text("This run waits for a signal").wait_for(state="detached")
    steps.get_by_role("button", name="Redrive from here …").wait_for()
    assert details.is_visible()


def test_a_payload_that_is_no_json_cannot_be_sent(page: Page, cloud: Cloud) -> None:
    steps_of(page, waiting_run(cloud))
    page.get_by_role("button", name="Send approved …").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Payload").fill("{")
    assert dialog.get_by_role("button", name="Send signal").is_disabled()
    dialog.get_by_role("button", name="Back").click()
    dialog.wait_for(state="detached")


def test_a_failed_step_shows_its_error_and_a_private_result_is_not_shown(
    page: Page, cloud: Cloud
) -> None:
    job_id = waiting_run(cloud, breaks=True)
    steps = steps_of(page, job_id)
    approve(page, "true")
    cloud.reach(job_id, "DEAD")
    steps.locator("summary").filter(has_text="ship").click()
    steps.get_by_text("There is no courier.").wait_for()
    steps.locator("summary").filter(has_text="card").click()
    steps.get_by_text("The result is private.").wait_for()
    assert "4111" not in steps.inner_text()


def test_a_run_is_redriven_from_a_step_after_a_preview(page: Page, cloud: Cloud) -> None:
    job_id = waiting_run(cloud)
    steps = steps_of(page, job_id)
    assert steps.get_by_role("button", name="Redrive from here …").count() == 0
    approve(page, "1")
    cloud.reach(job_id, "SUCCEEDED")
    steps.get_by_text("4 succeeded").wait_for()
    steps.locator("summary").filter(has_text="ship").click()
    steps.get_by_role("button", name="Redrive from here …").click()
    dialog = page.get_by_role("dialog", name="Redrive the run from ship?")
    dialog.get_by_text("1 call will run again").wait_for()
    dialog.get_by_text("3 calls keep their results").wait_for()
    dialog.get_by_label("New step keys: steps have their effect again").check()
    began = next(s["started_at"] for s in calls_of(cloud, job_id) if s["path"] == "ship")
    dialog.get_by_role("button", name="Redrive 1 call").click()
    dialog.wait_for(state="detached")

    def ran_again() -> bool | None:
        ship = next((s for s in calls_of(cloud, job_id) if s["path"] == "ship"), None)
        return (ship is not None and ship["started_at"] > began) or None

    cloud.wait(ran_again)
    cloud.reach(job_id, "SUCCEEDED")


def calls_of(cloud: Cloud, job_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cloud.ask("GET", f"/jobs/{job_id}/steps")["steps"]
    return found


def test_a_long_journal_opens_at_its_newest_steps(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("import-rows", 205)
    cloud.reach(job_id, "SUCCEEDED")
    page.goto(f"/console/jobs/{job_id}")
    paths = page.get_by_role("region", name="Steps").locator(".run-call bdi")
    page.get_by_text("row-204", exact=True).wait_for()
    assert paths.all_inner_texts() == [f"row-{row}" for row in range(105, 205)]
    page.get_by_role("button", name="Show 100 earlier steps").click()
    page.get_by_text("row-5", exact=True).wait_for()
    page.get_by_role("button", name="Show 100 earlier steps").click()
    page.get_by_text("row-0", exact=True).wait_for()
    assert paths.all_inner_texts() == [f"row-{row}" for row in range(205)]
    assert page.get_by_role("button", name="Show 100 earlier steps").count() == 0


def test_the_page_of_another_job_has_no_steps(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("greet", {})
    cloud.reach(job_id, "SUCCEEDED")
    page.goto(f"/console/jobs/{job_id}")
    page.get_by_role("region", name="Timeline").wait_for()
    assert page.get_by_role("region", name="Steps").count() == 0
