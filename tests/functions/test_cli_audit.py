"""``hourhand audit``: who did what, in order, within bounds, and as JSON."""

from __future__ import annotations

import httpx
import pytest

from hourhand.cli import audit
from hourhand.domain.callers import LOCAL
from tests.functions.api_client import ALICE
from tests.functions.cli_rig import Shell, put


def test_callers_of_a_job_are_shown_newest_first(shell: Shell) -> None:
    job_id = shell.submit(delay_seconds=3600)
    shell.world.advance(60)
    shell.type("jobs", "cancel", job_id)
    ran = shell.type("audit", "--job", job_id, "--utc")

    assert ran.code == 0
    _, first, second = ran.out.splitlines()
    assert ("CANCELLED" in first, "SUBMITTED" in second) == (True, True)
    assert "alice" in first
    assert job_id in first


def test_events_of_all_histories_are_sorted_by_their_times(shell: Shell) -> None:
    first = shell.submit(delay_seconds=3600)
    shell.world.advance(60)
    put(shell)
    shell.world.advance(60)
    second = shell.submit(delay_seconds=3600)
    shell.world.advance(60)
    shell.type("jobs", "run-now", first)
    ran = shell.type("audit", "--caller", ALICE, "--json")

    found = [(e["action"], e["job_id"] or e["schedule_id"]) for e in ran.objects]
    assert [one for one in found if one[1] in {first, second, "nightly"}] == [
        ("RUN_NOW", first),
        ("SUBMITTED", second),
        ("PUT", "nightly"),
        ("SUBMITTED", first),
    ]
    assert {e["caller"] for e in ran.objects} == {ALICE}


def test_a_time_may_be_given_as_how_long_ago(shell: Shell) -> None:
    early = shell.submit()
    shell.world.advance(3600)
    late = shell.submit()

    def found(*flags: str) -> set[str]:
        return {event["job_id"] for event in shell.type("audit", *flags, "--json").objects}

    assert found("--from", "2h") == {early, late}
    assert found("--from", "30m") == {late}
    assert found("--to", "30m") == {early}
    assert found("--from", "2026-01-05T09:30Z") == {late}


def test_a_limit_shows_the_newest(shell: Shell) -> None:
    ids = []
    for _ in range(4):
        ids.append(shell.submit(delay_seconds=3600))
        shell.world.advance(1)
    ran = shell.type("audit", "--caller", ALICE, "--limit", "2", "--json")

    assert [event["job_id"] for event in ran.objects] == ids[:1:-1]
    assert "Only the newest 2 are shown" in ran.err
    assert len(shell.type("audit", "--caller", ALICE, "--all", "--json").objects) == 4


def test_a_search_that_finds_very_much_stops(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit, "MAX_EVENTS", 3)
    for _ in range(5):
        shell.submit()
    ran = shell.type("audit", "--caller", ALICE, "--all", "--json")

    assert len(ran.objects) == 3
    assert "The search stopped after 3 events" in ran.err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "give --job, --schedule, --handler, --caller, --tenant, --from or --to"),
        (("--job", "a", "--schedule", "b"), "give one of --job, --schedule and --handler"),
        (("--from", "soon"), "must be a duration such as"),
    ],
)
def test_a_search_needs_a_filter_that_makes_sense(
    shell: Shell, flags: tuple[str, ...], told: str
) -> None:
    ran = shell.type("audit", *flags)

    assert ran.code == 2
    assert told in " ".join(ran.err.split())


def test_nothing_found_is_said(shell: Shell) -> None:
    ran = shell.type("audit", "--caller", "nobody")

    assert (ran.code, ran.out) == (0, "")
    assert "Give the whole identity" in " ".join(ran.err.split())
    ran = shell.type("audit", "--from", "1h")
    assert "No caller did anything that matches." in ran.err


def test_an_unknown_job_has_no_history(shell: Shell) -> None:
    assert shell.type("audit", "--job", "unknown").code != 0


def test_the_events_of_a_job_name_their_callers(shell: Shell) -> None:
    job_id = shell.submit()
    [event] = shell.type("jobs", "events", job_id, "--json").objects

    assert event["caller"] == ALICE
    assert "assumed-role/Submitter/alice" in "".join(
        shell.type("jobs", "events", job_id).out.split()
    )


def test_what_one_action_did_with_jobs_of_a_schedule_is_one_row(shell: Shell) -> None:
    put(shell, "busy", "-x", "* * * * *", "--handler", "greet")
    shell.world.advance(5)
    shell.type("schedules", "pause", "busy")
    shell.world.advance(5)
    shell.type("schedules", "resume", "busy")
    ran = shell.type("audit", "--caller", ALICE, "--utc")

    rows = [line.split()[2:] for line in ran.out.splitlines()[1:]]
    assert [(row[0], row[1:3] == ["5", "jobs"]) for row in rows] == [
        ("RESTORED", True),
        ("RESUMED", False),
        ("CANCELLED", True),
        ("PAUSED", False),
        ("SUBMITTED", True),
        ("PUT", False),
    ]
    actions = [one["action"] for one in shell.type("audit", "--caller", ALICE, "--json").objects]
    assert {action: actions.count(action) for action in actions} == {
        "REDRIVEN": 5,
        "RESUMED": 1,
        "CANCELLED": 5,
        "PAUSED": 1,
        "SUBMITTED": 5,
        "PUT": 1,
    }


def test_jobs_of_no_schedule_and_jobs_of_another_time_have_rows_of_their_own(shell: Shell) -> None:
    for _ in range(2):
        shell.submit(delay_seconds=3600)
    put(shell, "busy", "-x", "@yearly", "--handler", "greet")
    for _ in range(2):
        shell.api.post("/v1/schedules/busy/trigger")
        shell.world.advance(2)
    ran = shell.type("audit", "--caller", ALICE)

    assert [line.split()[3] for line in ran.out.splitlines()[1:]].count("SUBMITTED") == 4
    assert " jobs " not in ran.out


def test_that_a_local_cloud_authenticates_nobody_is_said_once(shell: Shell) -> None:
    for _ in range(2):
        shell.submit()
    api = shell.answer
    shell.answer = lambda request: httpx.Response(200, text=api(request).text.replace(ALICE, LOCAL))
    ran = shell.type("audit", "--from", "1h")

    assert ran.err.count("A local cloud authenticates no caller") == 1
    assert "authenticates" not in shell.type("audit", "--from", "1h", "--json").err
