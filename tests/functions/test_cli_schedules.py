"""``hourhand schedules``: look at, preview, pause, trigger, backfill and delete schedules."""

from __future__ import annotations

import json

import httpx
import pytest

from hourhand.domain.schedules.recurrence import BadExpression
from tests.functions.cli_rig import COMMANDS, HOSTILE, HOURLY, PAST, Ran, Shell, asked, put, raising


def minutes(shell: Shell, count: int) -> None:
    for _ in range(count):
        shell.world.minute()


# --- look ---


def test_a_list_tells_what_each_runs_and_when(shell: Shell) -> None:
    put(shell, "nightly", *HOURLY, "--note", "mine")
    put(shell, "second", "-x", "@daily", "--handler", "report", "--paused")
    ran = shell.type("schedules", "list")

    head, nightly, second = ran.out.splitlines()
    assert head.split()[:4] == ["ID", "STATUS", "NEXT", "EXPRESSION"]
    assert nightly.split()[:5] == ["nightly", "active", "in", "1", "h"]
    assert "mine" in nightly
    assert second.split()[:3] == ["second", "paused", "-"]


def test_a_list_as_json_is_a_line_for_each_as_the_api_has_it(shell: Shell) -> None:
    put(shell, "a")
    put(shell, "b")

    listed = shell.type("schedules", "list", "--json").objects
    assert listed == shell.api.get("/v1/schedules").json["schedules"]


def test_a_list_counts_jobs_and_leaves_out_runs_that_were_not_asked_for(shell: Shell) -> None:
    put(shell, "busy", "-x", "* * * * *", "--handler", "greet")
    minutes(shell, 3)
    head, busy = shell.type("schedules", "list").out.splitlines()
    made = shell.api.get("/v1/schedules/busy").json["occurrences_made"]
    assert head.split()[-1] == "JOBS"
    assert busy.split()[-1] == str(made)
    assert "NEWEST" not in head


def test_a_list_has_the_results_of_the_newest_runs_if_asked(shell: Shell) -> None:
    put(shell, "a-dying", "-x", "@yearly", "--handler", "greet", "--max-attempts", "1")
    put(shell, "b-idle")
    shell.world.trigger("a-dying")
    shell.world.deliver(raising("ValueError", "boom"))
    for _ in range(2):
        shell.world.advance(1)
        shell.world.trigger("a-dying")
        shell.world.deliver()

    ran = shell.type("schedules", "list", "--recent", "5")
    head, dying, idle = ran.out.splitlines()
    assert "NEWEST RUNS" in head
    assert "2 SUCCEEDED, DEAD" in dying
    assert "SUCCEEDED" not in idle
    listed = shell.type("schedules", "list", "--recent", "2", "--json").objects
    shown = [[run["status"] for run in one.get("recent", [])] for one in listed]
    assert shown == [["SUCCEEDED"] * 2, []]


def test_skipped_times_among_the_newest_runs_have_their_reason(shell: Shell) -> None:
    put(shell, "busy", "-x", "* * * * *", "--handler", "greet")
    minutes(shell, 2)
    shell.type("schedules", "pause", "busy")
    minutes(shell, 3)
    shell.type("schedules", "resume", "busy")
    minutes(shell, 1)
    assert "2 skipped: paused, 2 SUCCEEDED" in shell.type("schedules", "list", "--recent", "5").out


@pytest.mark.parametrize("count", ["21", "-1", "x"])
def test_too_many_newest_runs_are_refused(shell: Shell, count: str) -> None:
    ran = shell.type("schedules", "list", "--recent", count)
    assert (ran.code, shell.requests) == (2, [])
    assert "recent" in ran.err


def test_a_list_says_that_there_are_more(shell: Shell) -> None:
    for name in "abc":
        put(shell, name)

    assert "first 2" in shell.type("schedules", "list", "-n", "2").err
    assert shell.type("schedules", "list", "-n", "3").err == ""
    assert shell.type("schedules", "list", "-n", "1", "--all").out.count("\n") == 4


def test_an_empty_list_is_said_beside_what_was_asked(shell: Shell) -> None:
    ran = shell.type("schedules", "list")

    assert (ran.code, ran.out, ran.err) == (0, "", "There is no schedule.\n")


def test_a_list_is_watched_until_ctrl_c(shell: Shell) -> None:
    put(shell)
    shell.clock.interrupts_after = 2
    ran = shell.type("schedules", "list", "--watch", "--json")

    assert ran.code == 130
    assert [one["id"] for one in ran.objects] == ["nightly"] * 3


def test_show_tells_the_rule_the_next_times_and_what_became_of_the_last(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--handler", "greet", "--exclude", "3 * * * *")
    minutes(shell, 5)
    ran = shell.type("schedules", "show", "often", "--utc")

    facts, upcoming, past = ran.out.split("\nnext runs\n")[0], *_parts(ran)
    assert "expression  * * * * *" in facts
    assert "excluded    3 * * * *" in facts
    assert upcoming.splitlines()[1].startswith("2026-01-05 09:0")
    assert "SUCCEEDED" in past
    assert "skipped: excluded" in past


def test_show_tells_of_every_policy_that_was_put(shell: Shell) -> None:
    flags = {
        "--start-at": "2026-01-01T00:00Z",
        "--end-at": "2027-02-01T00:00Z",
        "--max-occurrences": "9",
        "--jitter": "30s",
        "--priority": "low",
        "--tenant": "acme",
        "--timeout": "2m",
        "--retention": "1d",
        "--on-lost": "dead",
        "--max-attempts": "3",
        "--tag": "a:1",
        "--overlap": "buffer_all",
        "--note": "mine",
    }
    typed = [text for pair in flags.items() for text in pair]
    put(shell, "nightly", *HOURLY, *typed, "--paused", "--pause-on-failure")
    shell.type("schedules", "backfill", "nightly", *PAST, "--yes")
    told = shell.type("schedules", "show", "nightly", "--utc").out

    for fact in (
        "paused since 2026-01-05 09:00:00Z (now)",
        "starts      2026-01-01 00:00:00Z (4.4 d ago)",
        "ends        2027-02-01 00:00:00Z",
        "at most     9 runs",
        "jitter      up to 30 s",
        "priority    low",
        "timeout     2 min",
        "retention   1 d",
        "on lost     dead",
        "retry       max_attempts 3",
        "tenant      acme",
        "tags        a:1",
        "buffer_all, 1 at once, 100 waiting, pauses on failure",
        "note        mine",
        "2026-01-05 00:00:00Z to 2026-01-05 05:00:00Z, ",
        " of 6 done, 0 skipped",
    ):
        assert fact in told
    assert "There is no next run." in told


def test_times_of_a_schedule_are_in_its_own_zone_which_is_named(shell: Shell) -> None:
    rule = ("-x", "* * * * *", "--timezone", "Asia/Tokyo", "--handler", "greet")
    created = shell.type("schedules", "put", "often", *rule)
    minutes(shell, 3)

    assert ", next 2026-01-05 18:01:00 JST (in 1 min)" in created.out
    shown = shell.type("schedules", "show", "often")
    upcoming, past = _parts(shown)
    for part in (upcoming, past):
        head, first, *_ = part.splitlines()
        assert head.startswith("SCHEDULED TIME (Asia/Tokyo)")
        assert first.startswith("2026-01-05 18:0")
        assert " JST" in first
    assert "changed     2026-01-05 18:00:00 JST" in shown.out
    listed = shell.type("schedules", "occurrences", "often").out
    assert listed.startswith("SCHEDULED TIME (Asia/Tokyo)")
    assert "JST" in shell.type("schedules", "list", "--absolute").out
    previewed = shell.type("schedules", "preview", "often")
    assert previewed.out.startswith("LOCAL TIME (Asia/Tokyo)")


def test_with_utc_times_of_a_schedule_are_in_utc(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--timezone", "Asia/Tokyo", "--handler", "greet")
    minutes(shell, 2)

    for verb in (["show", "often"], ["occurrences", "often"], ["list"]):
        told = shell.type("schedules", *verb, "--utc").out
        assert "JST" not in told
        assert "2026-01-05 09:0" in told


def test_times_of_a_zone_that_this_machine_does_not_know_are_shown_all_the_same(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(shell, "often", "-x", "* * * * *", "--timezone", "Asia/Tokyo", "--handler", "greet")

    def unknown(name: str) -> None:
        raise BadExpression(f"There is no time zone {name}.")

    monkeypatch.setattr("hourhand.domain.schedules.recurrence.zone_named", unknown)
    assert "Asia/Tokyo (dst-gap" in shell.type("schedules", "show", "often").out


def test_the_history_of_a_deleted_schedule_can_be_listed(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--timezone", "Asia/Tokyo", "--handler", "greet")
    minutes(shell, 2)
    shell.type("schedules", "delete", "often", "--yes")

    ran = shell.type("schedules", "occurrences", "often")
    assert (ran.code, "SUCCEEDED" in ran.out) == (0, True)


def test_show_does_not_count_a_triggered_job_among_those_of_its_times(shell: Shell) -> None:
    put(shell)
    shell.type("schedules", "trigger", "nightly")
    told = shell.type("schedules", "show", "nightly").out

    assert "jobs        0 at its times, without triggers and backfills" in told
    assert "trigger" in told.split("\npast runs\n")[1]


def _parts(ran: Ran) -> tuple[str, str]:
    upcoming, past = ran.out.split("\nnext runs\n")[1].split("\npast runs\n")
    return upcoming, past


def test_show_tells_of_no_more_past_times_than_asked(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--handler", "greet")
    minutes(shell, 5)

    assert len(_parts(shell.type("schedules", "show", "often", "--past", "2"))[1].split("\n")) == 4
    assert "past runs" not in shell.type("schedules", "show", "often", "--past", "0").out


def test_occurrences_are_told_newest_first_with_their_jobs_errors(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--handler", "greet", "--max-attempts", "1")
    for _ in range(3):
        shell.world.minute(raising("ValueError", HOSTILE))
    ran = shell.type("schedules", "occurrences", "often")

    assert "ValueError" in ran.out
    assert not any(command in ran.out for command in COMMANDS)
    times = [one["at"] for one in shell.type("schedules", "occurrences", "often", "--json").objects]
    assert times == sorted(times, reverse=True)
    assert len(times) >= 2


def test_neighbours_that_were_skipped_are_told_as_one(shell: Shell) -> None:
    put(shell, "often", "-x", "* * * * *", "--handler", "greet", "--exclude", "1-4 * * * *")
    minutes(shell, 8)

    assert "4 times until" in shell.type("schedules", "occurrences", "often", "--utc").out


def test_texts_of_others_can_command_no_terminal(shell: Shell) -> None:
    put(shell, "h", *HOURLY, "--note", HOSTILE, "--payload", json.dumps(HOSTILE))

    for verb in (["list"], ["show", "h"], ["show", "h", "--json"]):
        ran = shell.type("schedules", *verb)
        assert ran.code == 0
        assert not any(command in ran.out for command in COMMANDS)


def test_a_schedule_that_there_is_not_is_code_3(shell: Shell) -> None:
    for verb in (["show"], ["occurrences"], ["trigger"], ["preview"], ["pause"]):
        ran = shell.type("schedules", *verb, "nope")
        assert ran.code == 3
        assert "There is no schedule nope." in ran.err


# --- preview ---


def test_a_preview_tells_local_times_and_what_the_clocks_do_to_them(shell: Shell) -> None:
    rule = ["-x", "30 2 * * *", "--timezone", "Europe/Berlin", "--after", "2026-03-28T12:00Z"]
    ran = shell.type("schedules", "preview", *rule, "--count", "2")

    _, gap, after, note = ran.out.splitlines()
    assert gap.startswith("Sun 2026-03-29 03:00:00 +0200  2026-03-29 01:00:00Z")
    assert gap.endswith("*")
    assert note.startswith("* 2026-03-29 02:30 does not exist in Europe/Berlin")
    assert after.startswith("Mon 2026-03-30 02:30:00 +0200")
    assert shell.api.get("/v1/schedules").json["schedules"] == []


def test_a_month_has_a_row_for_each_day_with_its_times_and_what_excludes_them(
    shell: Shell,
) -> None:
    shell.api.send("PUT", "/v1/calendars/holidays", {"exclude": ["2026-03-05"]})
    put(shell, "nightly", "-x", "30 2 * * *", "--handler", "greet", "--exclude", "holidays")
    rule = ["nightly", "--timezone", "Europe/Berlin", "--month", "2026-03"]
    ran = shell.type("schedules", "preview", *rule)

    title, *days = ran.out.splitlines()
    assert title.split() == ["DAY", "TIMES", "FIRST", "EXCLUDED", "BY"]
    assert days[3].split() == ["Wed", "2026-03-04", "1", "02:30"]
    assert days[4].split() == ["Thu", "2026-03-05", "0", "holidays"]
    assert days[28].split() == ["Sun", "2026-03-29", "1", "03:00", "*"]
    assert days[31].startswith("* 2026-03-29 02:30 does not exist in Europe/Berlin")
    assert shell.type("schedules", "preview", *rule[:-1], "2026-13").code == 2


def test_a_preview_can_be_of_one_that_there_is_with_a_change(shell: Shell) -> None:
    put(shell, "nightly", "-x", "30 2 * * *", "--handler", "greet")
    ran = shell.type("schedules", "preview", "nightly", "--timezone", "Asia/Tokyo", "--json")

    assert ran.objects[0]["fires"][0]["local"].endswith("+09:00")
    assert len(ran.objects[0]["fires"]) == 10


def test_a_preview_of_what_is_over_says_so(shell: Shell) -> None:
    ran = shell.type("schedules", "preview", "-x", "at(2026-01-01T09:00)")

    assert (ran.code, ran.out) == (0, "")
    assert "The schedule would never run." in ran.err


def test_a_preview_warns_of_local_times_that_do_not_exist(shell: Shell) -> None:
    rule = ["-x", "*/15 2 * * *", "--timezone", "Europe/Berlin", "--dst-gap", "skip"]
    rule += ["--after", "2026-03-29T00:00Z"]
    ran = shell.type("schedules", "preview", *rule, "--count", "1")
    warnings = json.loads(shell.type("schedules", "preview", *rule, "--count", "1", "--json").out)[
        "warnings"
    ]

    assert warnings
    assert all(warning in ran.err for warning in warnings)


# --- change ---


def test_several_are_paused_and_one_that_fails_stops_no_other(shell: Shell) -> None:
    put(shell, "a")
    put(shell, "c")
    ran = shell.type("schedules", "pause", "a", "nope", "c", "--note", "why")

    assert ran.code == 3
    assert ran.out == "a  paused; it had no pending job\nc  paused; it had no pending job\n"
    assert ran.err == "nope: There is no schedule nope.\n"
    assert shell.api.get("/v1/schedules/c").json["note"] == "why"


def test_a_paused_one_goes_on(shell: Shell) -> None:
    put(shell, "a", *HOURLY, "--paused")

    assert shell.type("schedules", "resume", "a").out.startswith("a  active, next ")


def test_a_pause_and_a_resume_count_the_jobs_that_they_changed(shell: Shell) -> None:
    put(shell, "busy", "-x", "* * * * *", "--handler", "greet")
    ran = shell.type("schedules", "pause", "busy")
    assert ran.out == "busy  paused; 5 pending jobs cancelled\n"
    shell.world.advance(60)
    ran = shell.type("schedules", "resume", "busy")
    assert ran.out.endswith("; 5 jobs restored, 1 created\n")


@pytest.mark.parametrize(
    ("verb", "said"), [("pause", "busy  paused\n"), ("resume", "busy  paused\n")]
)
def test_a_change_that_changed_nothing_counts_nothing(shell: Shell, verb: str, said: str) -> None:
    put(shell, "busy", *HOURLY, "--paused")
    api = shell.answer

    def answer(request: httpx.Request) -> httpx.Response:
        told = api(request).json()
        told.pop("effect", None)
        return httpx.Response(200, json={**told, "status": "paused", "next_at": None})

    shell.answer = answer
    assert shell.type("schedules", verb, "busy").out == said


def test_the_note_of_a_pause_ends_with_it(shell: Shell) -> None:
    put(shell, "nightly", *HOURLY, "--note", "mine")
    shell.type("schedules", "pause", "nightly", "--note", "bank down")
    assert "note        bank down" in shell.type("schedules", "show", "nightly").out
    shell.type("schedules", "resume", "nightly")
    assert "note        mine" in shell.type("schedules", "show", "nightly").out


def test_the_answer_to_a_change_can_be_put_again(shell: Shell) -> None:
    put(shell, "busy", "-x", "* * * * *", "--handler", "greet")
    changed = shell.type("schedules", "pause", "busy", "--json")
    assert changed.objects[0]["effect"] == {"cancelled": 5, "restored": 0, "created": 0}
    assert shell.type("schedules", "put", "busy", "--file", "-", stdin=changed.out).code == 0


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("overlap", "another job of the schedule had not ended"),
        ("buffer full", "as many jobs waited as may wait"),
        ("window", "missed for longer than its misfire window"),
        ("misfire", "2 times until"),
    ],
)
def test_a_time_that_was_skipped_says_why(shell: Shell, reason: str, said: str) -> None:
    count = 2 if reason == "misfire" else 1
    skipped = {
        "at": "2026-01-05T08:00:00.000Z",
        "until": "2026-01-05T08:01:00.000Z",
        "count": count,
        "is_least": False,
        "kind": "schedule",
        "reason": reason,
        "skipped_first": None,
        "job_id": None,
        "job": None,
    }
    page = {"occurrences": [skipped], "upcoming": [], "next_cursor": None}
    put(shell)
    api = shell.answer

    def answer(request: httpx.Request) -> httpx.Response:
        is_history = request.url.path.endswith("/occurrences")
        return httpx.Response(200, json=page) if is_history else api(request)

    shell.answer = answer
    ran = shell.type("schedules", "occurrences", "nightly")
    assert f"skipped: {reason}" in ran.out
    assert said in ran.out


def test_a_trigger_makes_a_job_at_once_and_follows_it(shell: Shell) -> None:
    put(shell)
    ran = shell.type("schedules", "trigger", "nightly", "--watch")

    assert ran.code == 0
    assert "SUCCEEDED" in ran.out
    job = shell.type("schedules", "trigger", "nightly", "--json").objects[0]
    assert (job["schedule_id"], job["status"]) == ("nightly", "ENQUEUED")


def test_a_followed_job_that_dies_is_code_1(shell: Shell) -> None:
    put(shell, "nightly", *HOURLY, "--max-attempts", "1")
    shell.clock.behaviour = raising("ValueError", "boom")

    assert shell.type("schedules", "trigger", "nightly", "--watch").code == 1


def test_a_backfill_counts_asks_and_runs(shell: Shell) -> None:
    put(shell)
    ran = shell.type(
        "schedules", "backfill", "nightly", *PAST, "--utc", stdin="y\n", is_terminal=True
    )

    assert ran.code == 0
    assert (
        "Run 6 scheduled times of nightly, 2026-01-05 00:00:00Z to 2026-01-05 05:00:00Z?" in ran.err
    )
    assert "runs 6 scheduled times" in ran.out
    assert len(shell.api.get("/v1/schedules/nightly").json["backfills"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--dry-run"], 0, "would run 6 scheduled times"),
        ([], 2, "Confirm with --yes"),
    ],
)
def test_a_backfill_that_nobody_confirmed_runs_nothing(
    shell: Shell, arguments: list[str], code: int, said: str
) -> None:
    put(shell)
    ran = shell.type("schedules", "backfill", "nightly", *PAST, *arguments)

    assert ran.code == code
    assert said in ran.out + ran.err
    assert shell.api.get("/v1/schedules/nightly").json["backfills"] == []


def test_a_no_runs_nothing_and_is_code_1(shell: Shell) -> None:
    put(shell)
    ran = shell.type("schedules", "backfill", "nightly", *PAST, stdin="n\n", is_terminal=True)

    assert ran.code == 1
    assert "Nothing was changed." in ran.err


def test_a_backfill_is_asked_for_as_it_was_typed(shell: Shell) -> None:
    put(shell)
    how = {
        "--overlap": "allow",
        "--order": "newest",
        "--max-active": "3",
        "--reprocess": "failed",
        "--note": "again",
    }
    typed = [text for pair in how.items() for text in pair]
    ran = shell.type("schedules", "backfill", "nightly", *PAST, *typed, "--yes", "--json")

    assert asked(shell) == {
        "from": "2026-01-05T00:00:00.000Z",
        "to": "2026-01-05T05:00:00.000Z",
        "overlap": "allow",
        "order": "newest",
        "max_active": 3,
        "reprocess": "failed",
        "note": "again",
    }
    assert ran.objects[0]["total"] == 6


def test_a_dry_run_tells_the_first_times_and_how_many_more_there_are(shell: Shell) -> None:
    put(shell)
    past = ["--from", "2026-01-04T00:00Z", "--to", "2026-01-05T05:00Z"]
    ran = shell.type("schedules", "backfill", "nightly", *past, "--dry-run", "--utc")

    assert ran.out.count("\n") == 12
    assert "and 20 more" in ran.err
    counted = shell.type("schedules", "backfill", "nightly", *past, "--dry-run", "--json").objects
    assert (counted[0]["total"], counted[0]["dry_run"]) == (30, True)


def test_a_backfill_of_nothing_asks_nobody(shell: Shell) -> None:
    put(shell, "yearly", "-x", "@yearly", "--handler", "greet")
    past = ["--from", "2026-01-02T00:00Z", "--to", "2026-01-03T00:00Z"]
    ran = shell.type("schedules", "backfill", "yearly", *past)

    assert (ran.code, ran.out) == (0, "")
    assert "nothing to run" in ran.err


def test_a_delete_asks_and_names_what_it_deletes(shell: Shell) -> None:
    put(shell, "a")
    put(shell, "b")
    ran = shell.type("schedules", "delete", "a", "b", stdin="y\n", is_terminal=True)

    assert ran.code == 0
    assert "Delete 2 schedules: a, b?" in ran.err
    assert shell.api.get("/v1/schedules").json["schedules"] == []


def test_a_delete_without_anybody_to_ask_needs_yes(shell: Shell) -> None:
    put(shell, "a")

    assert shell.type("schedules", "delete", "a").code == 2
    assert shell.api.get("/v1/schedules/a").status == 200
    ran = shell.type("schedules", "delete", "a", "a", "nope", "--yes", "--json")
    assert ran.code == 3
    assert ran.objects == [{"id": "a", "deleted": True}]
