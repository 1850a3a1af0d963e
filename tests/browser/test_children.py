"""The children of a run and of a batch: a row for each call, with counts, and never all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.harness import Cloud

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

MANY = 45
BROKEN = (12, 30)


def run_over_images(cloud: Cloud, *, tolerate: int = len(BROKEN)) -> str:
    """Submit a run with a child and a map, two of whose children fail; return its id at its end."""
    images = ["broken" if number in BROKEN else number for number in range(MANY)]
    job_id = cloud.submit("resize-all", {"images": images, "tolerate": tolerate})
    cloud.reach(job_id, "SUCCEEDED", "DEAD")
    return job_id


def section(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name, exact=True)


def test_a_run_shows_a_row_for_each_call_with_counts(page: Page, cloud: Cloud) -> None:
    page.goto(f"/console/jobs/{run_over_images(cloud)}")
    children = section(page, "Children")
    children.get_by_text("2 calls: 44 of 46 succeeded, 2 failed").wait_for()
    assert children.get_by_role("listitem").count() == 2
    children.get_by_text("43 of 45 succeeded, 2 failed").wait_for()


def test_a_call_that_is_opened_shows_its_first_children_those_that_failed_first(
    page: Page, cloud: Cloud
) -> None:
    page.goto(f"/console/jobs/{run_over_images(cloud)}")
    children = section(page, "Children")
    children.locator("summary").filter(has_text="images").click()
    shown = children.locator(".call-children li")
    shown.nth(19).wait_for()
    assert shown.count() == 20
    assert [row.inner_text().split()[0] for row in shown.all()[:3]] == ["#12", "#30", "#0"]
    for pages in (40, MANY):
        children.get_by_role("button", name="Show 20 more children").click()
        shown.nth(pages - 1).wait_for()
    assert shown.count() == MANY
    assert len(set(shown.locator("a").all_inner_texts())) == MANY
    assert children.get_by_role("button", name="Show 20 more children").count() == 0


def test_a_child_links_to_the_run_that_submitted_it(page: Page, cloud: Cloud) -> None:
    job_id = run_over_images(cloud)
    page.goto(f"/console/jobs/{job_id}")
    children = section(page, "Children")
    children.get_by_role("listitem").filter(has_text="album").get_by_role("link").click()
    page.get_by_role("heading", name="load-table").wait_for()
    section(page, "Facts").get_by_role("link", name=job_id).click()
    page.get_by_role("heading", name="resize-all").wait_for()


def ended(cloud: Cloud, job_id: str, path: str) -> tuple[int, int]:
    """Wait for the end of all children of a call; return how many succeeded, and how many not."""

    def look() -> tuple[int, int] | None:
        of = cloud.ask("GET", f"/jobs/{job_id}/children?path={path}&limit=1")
        are_all = of["succeeded"] + of["failed"] == of["total"]
        return (of["succeeded"], of["failed"]) if are_all else None

    return cloud.wait(look)


def test_the_timeline_shows_children_and_maps_with_counts(page: Page, cloud: Cloud) -> None:
    job_id = run_over_images(cloud, tolerate=0)
    # How many had not begun, and were cancelled, when the first one failed is not known.
    succeeded, failed = ended(cloud, job_id, "images")
    assert 1 <= failed < MANY
    page.goto(f"/console/jobs/{job_id}")
    steps = section(page, "Steps")
    steps.get_by_text("album child").wait_for()
    row = steps.locator("summary").filter(has_text="images")
    row.get_by_text("Failed").wait_for()
    assert f"map {succeeded} of {MANY}" in row.inner_text()
    row.click()
    steps.get_by_text(f"{succeeded} of {MANY} succeeded, {failed} failed").wait_for()


def test_a_wait_of_which_only_the_end_is_known_has_no_duration(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("load-any", None)
    cloud.reach(job_id, "SUCCEEDED")
    page.goto(f"/console/jobs/{job_id}")
    row = section(page, "Steps").locator("summary").filter(has_text="gather")
    row.get_by_text("Succeeded").wait_for()
    assert row.inner_text().split() == ["gather", "children", "Succeeded"]
    row.click()
    details = section(page, "Steps").locator("details[open] .run-details")
    details.get_by_text("Ended").wait_for()
    assert details.locator(".json").count() == 0


def test_a_job_without_children_has_no_panel_of_children(page: Page, cloud: Cloud) -> None:
    job_id = cloud.submit("approve-order", {"cents": 5})
    cloud.wait(lambda: cloud.job(job_id)["waits_for"])
    page.goto(f"/console/jobs/{job_id}")
    section(page, "Steps").get_by_text("charge", exact=True).wait_for()
    assert section(page, "Children").count() == 0


def submit_batch(cloud: Cloud, **fields: Any) -> str:
    jobs = [{"handler": "resize-image", "payload": one} for one in (1, 2, "broken")]
    return str(cloud.ask("POST", "/batches", {"jobs": jobs, **fields})["id"])


def test_a_batch_shows_its_counts_its_jobs_and_its_callbacks(page: Page, cloud: Cloud) -> None:
    report = {"handler": "greet"}
    batch_id = submit_batch(cloud, on_complete=report, on_failure=report)
    cloud.reach(batch_id, "DEAD")
    callbacks = cloud.ask("GET", f"/batches/{batch_id}")["callbacks"]
    page.goto(f"/console/batches/{batch_id}")
    batch = section(page, "Batch")
    batch.get_by_text("2 of 3 succeeded, 1 failed").wait_for()
    batch.get_by_text("Failed").first.wait_for()
    for name in ("on_complete", "on_failure"):
        batch.get_by_role("link", name=callbacks[name]).wait_for()
    batch.locator(".facts > div").filter(has_text="on_success").get_by_text("none").wait_for()
    batch.locator("summary").click()
    batch.get_by_text("The header of the image is broken.").wait_for()
    assert batch.get_by_role("listitem").count() == 3


def test_an_open_batch_says_that_it_takes_more_jobs(page: Page, cloud: Cloud) -> None:
    batch_id = submit_batch(cloud, open=True)
    page.goto(f"/console/batches/{batch_id}")
    batch = section(page, "Batch")
    batch.get_by_text("Open", exact=True).wait_for()
    cloud.ask("POST", f"/batches/{batch_id}/close")
    batch.get_by_text("2 of 3 succeeded, 1 failed").wait_for()
    page.get_by_role("heading", name="hourhand.batch").get_by_text("Dead").wait_for()


def test_a_batch_cannot_be_submitted_as_a_job_so_the_console_does_not_offer_it(
    page: Page, cloud: Cloud
) -> None:
    batch_id = submit_batch(cloud)
    cloud.reach(batch_id, "DEAD")
    page.goto(f"/console/jobs/{batch_id}")
    page.get_by_role("button", name="Redrive …").wait_for()
    assert page.get_by_role("link", name="Edit and resubmit").count() == 0
