"""``hourhand estimate``: its flags, what it prints, and what it advises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from hourhand.cli.estimate import prices
from hourhand.cli.main import app

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
ISSUE = ["estimate", "--jobs-per-month", "10M", "--delayed", "30%", "--payload", "2KB"]


def test_the_bill_is_printed_by_service_with_alternatives_and_the_day_of_the_prices() -> None:
    result = RUNNER.invoke(app, ISSUE)

    assert result.exit_code == 0
    assert "10,000,000 jobs, 30% delayed, payload 2,048 bytes" in result.output
    for word in ("DynamoDB, writes", "SQS", "Lambda, workers", "API Gateway", "CloudWatch"):
        assert word in result.output
    for word in ("EventBridge Scheduler", "Step Functions", prices.READ_ON):
        assert word in result.output


def test_the_load_is_printed_as_it_was_understood() -> None:
    flags = ["--scheduled", "20%", "--retried", "0.5%", "--keyed", "50%", "--batch", "100"]
    told = RUNNER.invoke(app, [*ISSUE, *flags]).output.splitlines()[0]

    assert told == (
        "A month of 10,000,000 jobs, 30% delayed, 20% from schedules, 0.5% retried, "
        "50% with a key, payload 2,048 bytes, 0.1 s at 1024 MB each, 100 in a call"
    )


def test_what_costs_nothing_is_no_line_of_the_bill() -> None:
    assert "\nS3 " not in RUNNER.invoke(app, ISSUE).output
    assert "\nS3 " in RUNNER.invoke(app, [*ISSUE, "--result", "1MB"]).output


def test_json_is_one_object_on_one_line_whose_services_add_up() -> None:
    result = RUNNER.invoke(app, [*ISSUE, "--json"])
    told = json.loads(result.output)

    assert result.output.count("\n") == 1
    assert told["dollars"] == pytest.approx(
        sum(each["dollars"] for each in told["services"]), abs=0.01
    )
    assert told["load"]["jobs"] == 10_000_000
    assert prices.READ_ON in told["notes"][0]
    names = [each["name"] for each in told["alternatives"]]
    assert names == ["EventBridge Scheduler + SQS", "Step Functions, Standard workflows"]


def test_every_flag_reaches_the_load() -> None:
    flags = {
        "--scheduled": "20%",
        "--retried": "5%",
        "--keyed": "50%",
        "--tenants": "25%",
        "--result": "1KB",
        "--duration": "1.5s",
        "--memory": "512MB",
        "--batch": "100",
        "--stage": "dev",
        "--retention": "30d",
        "--delay-rounding": "down",
    }
    arguments = [part for flag in flags.items() for part in flag]
    told = json.loads(RUNNER.invoke(app, [*ISSUE, *arguments, "--economy", "--json"]).output)

    assert told["load"] == {
        "jobs": 10_000_000,
        "delayed": pytest.approx(0.3),
        "scheduled": pytest.approx(0.2),
        "retried": pytest.approx(0.05),
        "keyed": pytest.approx(0.5),
        "tenants": pytest.approx(0.25),
        "payload_bytes": 2048,
        "result_bytes": 1024,
        "seconds": 1.5,
        "memory_mb": 512,
        "batch": 100,
        "economy": True,
        "delay_rounding": "down",
        "monitoring": "basic",
        "has_ceiling": False,
        "retention_days": 30,
        "flows": {},
    }


def test_flags_have_twins_in_the_environment() -> None:
    environment = {"HOURHAND_ESTIMATE_JOBS_PER_MONTH": "5k", "HOURHAND_ESTIMATE_DELAYED": "10%"}
    told = json.loads(RUNNER.invoke(app, ["estimate", "--json"], env=environment).output)

    assert told["load"]["jobs"] == 5000
    assert told["load"]["delayed"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--jobs-per-month", "9999999B", "at most"),
        ("--scheduled", "90%", "100% together"),
        ("--payload", "3MB", "2,500,000 bytes"),
        ("--result", "3MB", "2,500,000 bytes"),
        ("--duration", "1h", "840s"),
        ("--duration", "0s", "above 0"),
        ("--memory", "64MB", "128MB"),
        ("--batch", "501", "500"),
    ],
)
def test_a_load_that_cannot_be_is_wrong_usage_that_names_its_flag(
    flag: str, value: str, said: str
) -> None:
    result = RUNNER.invoke(app, [*ISSUE, flag, value])

    assert result.exit_code == 2
    # Click draws a box, and the flag may be broken at its edge.
    told = " ".join(result.output.replace("│", " ").split())
    assert said in told
    assert flag in told or "--delayed" in told


@pytest.mark.parametrize(
    ("arguments", "monitoring", "has_ceiling"),
    [
        ([], "full", True),
        (["--stage", "dev"], "basic", False),
        (["--stage", "dev", "--monitoring", "none"], "none", False),
        (["--stage", "prod", "--monitoring", "basic"], "basic", True),
    ],
)
def test_the_level_of_monitoring_is_the_stage_s_unless_it_is_given(
    arguments: list[str], monitoring: str, has_ceiling: bool
) -> None:
    told = json.loads(RUNNER.invoke(app, [*ISSUE, *arguments, "--json"]).output)

    assert (told["load"]["monitoring"], told["load"]["has_ceiling"]) == (monitoring, has_ceiling)


def _estimated(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        RUNNER.invoke(app, ["estimate", *arguments, "--json"]).output
    )
    return found


def test_an_alternative_is_printed_with_its_share_of_the_bill() -> None:
    found = _estimated(*ISSUE[1:])
    text = RUNNER.invoke(app, ISSUE).output

    for other in found["alternatives"]:
        share = f"{other['dollars'] / found['dollars']:.0%} of Hourhand's bill"
        assert f"{other['name']}: ${other['dollars']:,.2f} a month, {share}" in text


def test_savings_are_advised_with_their_dollars() -> None:
    load = ("--jobs-per-month", "100M", "--delayed", "100%")
    ours = _estimated(*load)
    for flags, name in ((["--batch", "500"], "500 jobs"), (["--economy"], "The setting dispatch")):
        saved = ours["dollars"] - _estimated(*load, *flags)["dollars"]
        (advice,) = (each for each in ours["advice"] if each.startswith(name))
        assert f"would save ${saved:,.2f} a month" in advice


def test_what_is_set_already_saves_nothing() -> None:
    advice = _estimated("--jobs-per-month", "100M", "--batch", "500", "--economy")["advice"]

    assert advice == []


@pytest.mark.parametrize(
    ("jobs", "stage", "sentences"),
    [("1000", "prod", 2), ("1000", "dev", 1), ("100M", "prod", 0)],
)
def test_a_small_load_is_shown_what_an_idle_deployment_costs(
    jobs: str, stage: str, sentences: int
) -> None:
    flags = ("--jobs-per-month", jobs, "--stage", stage, "--batch", "500")

    assert len(_estimated(*flags)["advice"]) == sentences


def test_what_jobs_have_is_named_and_priced() -> None:
    flags = ["--with", "runs=1", "--with", "steps=10", "--with", "slot-waits=20%"]
    plain, priced = (
        json.loads(RUNNER.invoke(app, [*ISSUE, *more, "--json"]).output) for more in ([], flags)
    )
    assert priced["load"]["flows"] == {"runs": 1, "steps": 10, "slot-waits": 0.2}
    assert priced["dollars"] > plain["dollars"] + 10 * 10 * 0.625
    assert "10 steps each" in RUNNER.invoke(app, [*ISSUE, *flags]).output


@pytest.mark.parametrize("given", ["steps", "steps=many", "stairs=1", "limits=120%"])
def test_a_wrong_amount_is_refused(given: str) -> None:
    result = RUNNER.invoke(app, [*ISSUE, "--with", given])
    assert result.exit_code == 2
    assert "--with" in result.output
