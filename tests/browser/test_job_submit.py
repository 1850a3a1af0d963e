"""The console's form that submits a job: its payload, its options, and what the API refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.harness import Cloud, Guard

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page, Route

SUBMIT = "/console/submit?handler=send-invoice"


def field(page: Page, name: str) -> Locator:
    """Return a field of the payload's form."""
    return page.get_by_role("group", name="Payload").get_by_label(name)


def submitted(page: Page, cloud: Cloud) -> dict[str, Any]:
    """Submit the form, and return the job."""
    page.get_by_role("button", name="Submit job").click()
    page.wait_for_url("**/console/jobs/*")
    return cloud.job(page.url.rsplit("/", 1)[1])


def test_the_form_has_a_field_for_each_property_with_its_default(page: Page, cloud: Cloud) -> None:
    page.goto(SUBMIT)
    field(page, "customer").wait_for()
    group = page.get_by_role("group", name="Payload")
    assert group.locator(".required").count() == 2
    assert field(page, "currency").input_value() == '"EUR"'
    assert field(page, "send").input_value() == "true"
    # Packing runs no code for a default, so one of a `default_factory` is not in the schema.
    assert field(page, "lines").input_value() == ""
    field(page, "customer").fill("ada")
    field(page, "cents").fill("12345678901234567890")
    field(page, "currency").select_option("USD")
    field(page, "send").select_option("false")
    field(page, "lines").fill('[{"text": "one"}]')
    job = submitted(page, cloud)
    assert job["payload"] == {
        "customer": "ada",
        "cents": 12345678901234567890,
        "currency": "USD",
        "send": False,
        "lines": [{"text": "one"}],
    }


def test_each_error_of_the_api_is_shown_at_its_field(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    page.goto(SUBMIT)
    field(page, "customer").fill("ada")
    field(page, "cents").fill("many")
    page.get_by_role("button", name="Submit job").click()
    page.locator("[aria-invalid]").first.wait_for()
    assert field(page, "cents").get_attribute("aria-invalid") == "true"
    assert field(page, "customer").get_attribute("aria-invalid") is None
    assert page.url.endswith(SUBMIT)


def test_a_property_that_the_handler_does_not_have_is_refused_with_the_one_that_was_meant(
    page: Page, guard: Guard
) -> None:
    guard.allow("status of 422")
    page.goto(SUBMIT)
    field(page, "customer").wait_for()
    page.get_by_role("button", name="JSON", exact=True).click()
    editor = page.get_by_label("Payload (JSON)")
    editor.fill('{"customer": "ada", "cents": 1, "curency": "USD"}')
    page.get_by_role("button", name="Submit job").click()
    page.get_by_text("Did you mean 'currency'?").first.wait_for()
    assert page.get_by_text("payload.curency").count() > 0
    assert editor.get_attribute("aria-invalid") == "true"


def test_broken_json_in_a_field_is_said_there_and_not_sent(page: Page) -> None:
    page.goto(SUBMIT)
    field(page, "customer").fill("ada")
    field(page, "cents").fill("1")
    field(page, "lines").fill("[{")
    page.locator(".field-error", has_text="Line 1, column").wait_for()
    assert page.get_by_role("button", name="Submit job").is_disabled()


def test_the_payload_can_be_written_as_json_and_goes_back_to_the_form(
    page: Page, cloud: Cloud
) -> None:
    page.goto(SUBMIT)
    field(page, "customer").fill("ada")
    page.get_by_role("button", name="JSON", exact=True).click()
    editor = page.get_by_label("Payload (JSON)")
    assert '"customer": "ada"' in editor.input_value()
    # A null, and a property that the schema does not have, have no field.
    editor.fill('{"customer": "bob", "cents": 2, "reference": null}')
    form = page.get_by_role("button", name="Form", exact=True)
    assert form.is_disabled()
    editor.fill('{"customer": "bob", "cents": 2}')
    form.click()
    assert field(page, "customer").input_value() == "bob"
    assert field(page, "currency").input_value() == ""
    job = submitted(page, cloud)
    assert job["payload"]["customer"] == "bob"


def test_a_handler_without_a_schema_takes_json(page: Page, cloud: Cloud) -> None:
    page.goto("/console/submit?handler=greet")
    editor = page.get_by_label("Payload (JSON)")
    editor.fill('{"n": 1.0}')
    assert page.get_by_role("group", name="Payload").count() == 0
    job = submitted(page, cloud)
    assert job["payload"] == {"n": 1}


def test_another_handler_replaces_what_the_form_filled_in_and_never_what_was_typed(
    page: Page,
) -> None:
    page.goto("/console/submit?handler=greet")
    editor = page.get_by_label("Payload (JSON)")
    page.get_by_label("Handler").select_option("send-invoice")
    field(page, "customer").fill("ada")
    page.get_by_label("Handler").select_option("greet")
    editor.wait_for()
    assert '"ada"' in editor.input_value()


def test_a_resubmission_begins_with_the_payload_of_the_other_job(page: Page, cloud: Cloud) -> None:
    payload = {"customer": "ada", "cents": 7, "currency": "USD"}
    job_id = cloud.submit("send-invoice", payload)
    page.goto(f"/console/submit?from={job_id}")
    field(page, "cents").wait_for()
    assert field(page, "cents").input_value() == "7"
    assert field(page, "send").input_value() == ""
    job = submitted(page, cloud)
    assert {name: job["payload"][name] for name in payload} == payload


def test_nothing_can_be_submitted_while_the_api_does_not_answer(page: Page, guard: Guard) -> None:
    guard.allow("Failed to load resource: net::ERR_FAILED")
    page.goto("/console/submit?handler=greet")
    submit = page.get_by_role("button", name="Submit job")
    page.get_by_label("Payload (JSON)").wait_for()
    page.route("**/v1/**", lambda route: route.abort())
    submit.click()
    page.get_by_role("alert").first.wait_for()
    assert submit.is_disabled()
    page.unroute("**/v1/**")
    page.locator("button[type=submit]:not(:disabled)").wait_for()


# --- options ---


def open_options(page: Page, *, handler: str = "greet", payload: str = "{}") -> None:
    page.goto(f"/console/submit?handler={handler}")
    page.get_by_label("Payload (JSON)").fill(payload)
    page.get_by_text("More", exact=True).click()


def sent(page: Page) -> dict[str, Any]:
    """Submit the form, and return the body that was sent."""
    with page.expect_request(lambda request: request.method == "POST") as asked:
        page.get_by_role("button", name="Submit job").click()
    return dict(asked.value.post_data_json or {})


def is_wrong(page: Page, label: str, words: str) -> None:
    """Wait until a field, and no other one, shows this error."""
    page.locator(".field-error", has_text=words).wait_for()
    marked = page.locator("[aria-invalid=true]")
    assert marked.count() == 1
    assert page.get_by_label(label).get_attribute("aria-invalid") == "true"


def test_a_submission_names_shared_limits_which_its_copy_has_too(page: Page, cloud: Cloud) -> None:
    open_options(page)
    page.get_by_label("Shared limits").fill("exports = payload.region\n\n bank ")
    job = submitted(page, cloud)
    chosen = [{"name": "exports", "key": "payload.region"}, {"name": "bank", "key": None}]
    assert job["limits"] == chosen
    page.get_by_role("link", name="exports = payload.region").wait_for()
    page.goto(f"/console/submit?from={job['id']}")
    assert page.get_by_label("Shared limits").input_value() == "exports = payload.region\nbank"


LIMITS_REFUSED = {
    "a name that no handler declares": ("exprots", "exports"),
    "a name that is there twice": ("exports\nexports", "must not be named twice"),
    "a key that cannot be read": ("exports = paylod.x", "paylod.x"),
}


@pytest.mark.parametrize("name", LIMITS_REFUSED)
def test_shared_limits_that_are_refused_say_why(page: Page, guard: Guard, name: str) -> None:
    text, words = LIMITS_REFUSED[name]
    guard.allow("status of 422")
    open_options(page)
    page.get_by_label("Shared limits").fill(text)
    page.get_by_role("button", name="Submit job").click()
    is_wrong(page, "Shared limits", words)


def test_limits_beside_a_concurrency_key_are_refused_at_their_field(
    page: Page, guard: Guard
) -> None:
    guard.allow("status of 422")
    open_options(page, handler="sync-account")
    page.get_by_label("Shared limits").fill("exports")
    page.get_by_label("Concurrency key").fill("acme")
    page.get_by_role("button", name="Submit job").click()
    is_wrong(page, "Shared limits", "must not be given together with concurrency_key")


def test_a_second_job_of_a_unique_key_is_the_first_one(page: Page, cloud: Cloud) -> None:
    held = {"unique": {"key": "payload.day"}, "delay_seconds": 3600}
    first = cloud.submit("greet", {"day": "monday"}, **held)
    open_options(page, payload='{"day": "monday"}')
    page.get_by_label("Jobs with the same key").select_option("unique")
    page.get_by_label("Unique key").fill("payload.day")
    assert sent(page)["unique"] == {"key": "payload.day"}
    page.wait_for_url(f"**/console/jobs/{first}")
    page.get_by_role("status").get_by_text("No new job was created").wait_for()
    cloud.ask("POST", f"/jobs/{first}/cancel")


def test_what_is_typed_while_the_handler_is_read_is_kept(page: Page) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/handlers/greet", hold)
    with page.expect_request("**/handlers/greet"):
        page.goto("/console/submit?handler=greet")
    editor = page.get_by_label("Payload (JSON)")
    editor.fill('{"day": ')
    with page.expect_response("**/handlers/greet"):
        held[0].continue_()
    page.get_by_text("Submit job").hover()
    page.keyboard.insert_text('"monday"}')
    assert editor.input_value() == '{"day": "monday"}'


def test_every_option_of_a_unique_job_is_sent(page: Page, guard: Guard) -> None:
    guard.allow("status of 422")
    open_options(page, payload='{"day": "tuesday"}')
    page.get_by_label("Jobs with the same key").select_option("unique")
    page.get_by_label("Unique key").fill("payload.day")
    page.get_by_label("The job has the key until").select_option("seconds")
    page.get_by_label("Seconds after its submission").fill("60")
    page.get_by_label("If another job has the key").select_option("replace")
    unique = {"key": "payload.day", "until": 60, "on_conflict": "replace"}
    assert sent(page)["unique"] == unique
    is_wrong(page, "If another job has the key", "only with until='start'")


def test_every_option_of_a_debounced_job_is_sent(page: Page, guard: Guard, cloud: Cloud) -> None:
    guard.allow("status of 422")
    open_options(page, payload='{"shop": "acme"}')
    page.get_by_label("Jobs with the same key").select_option("debounce")
    page.get_by_label("Debounce key").fill("payload.shop")
    page.get_by_label("Quiet time before it runs, in s").fill("900.5")
    latest = page.get_by_label("At the latest after the first, in s")
    latest.fill("60")
    page.get_by_label("It runs with the payload of").select_option("first")
    waits = {"wait_seconds": 900.5, "max_wait_seconds": 60}
    assert sent(page)["debounce"] == {"key": "payload.shop", **waits, "mode": "first"}
    is_wrong(page, "At the latest after the first, in s", "at least wait_seconds, 900.5")
    latest.fill("")
    job = submitted(page, cloud)
    assert job["status"] == "PENDING"
    cloud.ask("POST", f"/jobs/{job['id']}/cancel")


@pytest.mark.parametrize("way", ["unique", "debounce"])
def test_a_payload_without_the_key_is_an_error_of_the_key(
    page: Page, guard: Guard, way: str
) -> None:
    guard.allow("status of 422")
    open_options(page)
    page.get_by_label("Jobs with the same key").select_option(way)
    key = f"{way.capitalize()} key"
    page.get_by_label(key).fill("payload.day")
    if way == "debounce":
        page.get_by_label("Quiet time before it runs, in s").fill("5")
    page.get_by_role("button", name="Submit job").click()
    is_wrong(page, key, "the job has no payload.day")


# --- the kind of a payload's field ---


FORMS: dict[str, tuple[dict[str, Any], list[list[str]] | None]] = {
    "no object": ({"type": "array"}, None),
    "alternatives": ({"type": "object", "properties": {}, "oneOf": []}, None),
    "scalars": (
        {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "b": {"type": "integer"},
                "c": {"type": "number"},
                "d": {"type": "boolean"},
                "e": {"enum": ["x", 1]},
                "f": {"const": "only"},
            },
        },
        [
            ["a", "text"],
            ["b", "number"],
            ["c", "number"],
            ["d", "flag"],
            ["e", "choice"],
            ["f", "choice"],
        ],
    ),
    "nullable and nested": (
        {
            "type": "object",
            "properties": {
                "a": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "b": {"type": ["string", "null"]},
                "c": {"$ref": "#/$defs/Inner"},
                "d": {"allOf": [{"$ref": "#/$defs/Kind"}]},
                "e": {"type": "array", "items": {"type": "string"}},
                "f": {"$ref": "#/$defs/Loop"},
                "g": {},
            },
            "$defs": {
                "Inner": {"type": "object", "properties": {}},
                "Kind": {"enum": ["x"]},
                "Loop": {"$ref": "#/$defs/Loop"},
            },
        },
        [
            ["a", "number"],
            ["b", "text"],
            ["c", "json"],
            ["d", "choice"],
            ["e", "json"],
            ["f", "json"],
            ["g", "json"],
        ],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_the_kind_of_each_field_follows_from_its_schema(page: Page, name: str) -> None:
    schema, kinds = FORMS[name]
    page.goto("/console/handlers")
    script = """async (schema) => {
      const { fieldsOf } = await import("/console/static/lib/schema.js");
      return fieldsOf(schema)?.map(({ name, kind }) => [name, kind]) ?? null;
    }"""
    assert page.evaluate(script, schema) == kinds
