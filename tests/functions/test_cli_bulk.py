"""Many jobs cancelled, redriven and discarded: counted, asked about, done, each failure told."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from hourhand.cli.dead_letters import commands
from hourhand.client._operations import _bulk as client_bulk
from hourhand.services.jobs import bulk
from tests.functions.cli_rig import HOURLY, Shell, put, raising

SOME = 3


def statuses(shell: Shell) -> list[str]:
    return sorted(job.status for job in shell.world.store.jobs().values())


# --- which jobs ---


@pytest.mark.parametrize(
    "verb",
    [
        ["jobs", "cancel"],
        ["jobs", "redrive"],
        ["jobs", "discard"],
        ["dead-letters", "redrive"],
        ["dead-letters", "discard"],
    ],
)
def test_without_a_word_of_which_jobs_nothing_is_done(shell: Shell, verb: list[str]) -> None:
    shell.submit()
    ran = shell.type(*verb, "--yes")
    assert ran.code == 2
    assert "give IDs, a filter such as --handler, or --all" in ran.err
    assert statuses(shell) == ["ENQUEUED"]


def test_jobs_that_were_not_discarded_are_nearly_all_jobs(shell: Shell) -> None:
    shell.submit()
    ran = shell.type("jobs", "redrive", "--not-discarded", "--yes")
    assert (ran.code, statuses(shell)) == (2, ["ENQUEUED"])


@pytest.mark.parametrize("verb", ["cancel", "discard"])
def test_discarded_jobs_can_be_named_only_where_they_can_be_meant(shell: Shell, verb: str) -> None:
    shell.die()
    ran = shell.type("jobs", verb, "--discarded", "--handler", "greet", "--yes")
    assert (ran.code, shell.requests) == (2, [])
    assert "--discarded" in ran.err


@pytest.mark.parametrize("more", [["--handler", "greet"], ["--all"]])
def test_ids_and_filters_do_not_go_together(shell: Shell, more: list[str]) -> None:
    job_id = shell.submit()
    ran = shell.type("jobs", "cancel", job_id, *more, "--yes")
    assert ran.code == 2
    assert "either IDs or filters" in ran.err
    assert statuses(shell) == ["ENQUEUED"]


def test_filters_choose_the_jobs_and_are_named_in_the_question(shell: Shell) -> None:
    meant = shell.submit(tenant="acme", tags={"a": "b"})
    shell.submit(tenant="other")
    typed = (
        "jobs", "cancel", "--tenant", "acme", "--tag", "a:b", "--created-after", "2h",
        "--created-before", "2026-01-06T00:00Z", "--status", "enqueued",
    )  # fmt: skip
    assert (
        "Cancel 1 job in state ENQUEUED, of tenant acme, tagged a:b, created after 2 h ago, "
        "created before 2026-01-0"
    ) in shell.type(*typed).err
    assert shell.type(*typed, "--yes").code == 0
    assert shell.api.get(f"/v1/jobs/{meant}").json["status"] == "CANCELLED"
    assert statuses(shell) == ["CANCELLED", "ENQUEUED"]


# --- asking ---


def test_without_a_terminal_and_without_yes_it_is_refused_with_the_count(shell: Shell) -> None:
    for _ in range(SOME):
        shell.submit()
    ran = shell.type("jobs", "cancel", "--handler", "greet")
    assert ran.code == 2
    assert "Cancel 3 jobs of handler greet? There is no terminal to ask on." in ran.err
    assert statuses(shell) == ["ENQUEUED"] * SOME


@pytest.mark.parametrize("answer", ["n\n", "\n", "", "nope\n", "yess\n"])
def test_any_answer_but_yes_does_nothing(shell: Shell, answer: str) -> None:
    shell.submit()
    ran = shell.type("jobs", "cancel", "--all", stdin=answer, is_terminal=True)
    assert ran.code == 1
    assert "Cancel 1 job? [y/N]" in ran.err
    assert "Nothing was changed." in ran.err
    assert statuses(shell) == ["ENQUEUED"]


@pytest.mark.parametrize("answer", ["y\n", "Yes\n"])
def test_yes_does_it_with_progress_on_stderr(shell: Shell, answer: str) -> None:
    for _ in range(SOME):
        shell.submit()
    ran = shell.type("jobs", "cancel", "--all", stdin=answer, is_terminal=True)
    assert ran.code == 0
    assert ran.out == "3 jobs cancelled.\n"
    assert "3 jobs, " in ran.err
    assert statuses(shell) == ["CANCELLED"] * SOME


def test_a_dry_run_counts_and_asks_nothing(shell: Shell) -> None:
    shell.submit()
    ran = shell.type("jobs", "cancel", "--handler", "greet", "--dry-run")
    said = "1 job of handler greet would be cancelled. Nothing was changed.\n"
    assert (ran.code, ran.out) == (0, said)
    ran = shell.type("jobs", "cancel", "--all", "--dry-run", "--json")
    counted = {"matched": 1, "changed": 0, "failed": [], "count_is_bounded": False}
    assert ran.objects == [counted]
    assert statuses(shell) == ["ENQUEUED"]


def test_nothing_found_is_no_failure_and_no_question(shell: Shell) -> None:
    ran = shell.type("jobs", "redrive", "--handler", "greet")
    assert (ran.code, ran.err) == (0, "")
    assert "0 jobs of handler greet would be redriven" in ran.out


# --- what came of it ---


def answer_with(shell: Shell, *parts: tuple[int, int, list[Any], str | None]) -> None:
    """Let the API answer one call after the other; then Ctrl-C is pressed."""
    names = ("matched", "changed", "failed", "next_cursor")
    left = iter(
        [{**dict(zip(names, part, strict=True)), "count_is_bounded": False} for part in parts]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        part = next(left, None)
        if part is None:
            raise KeyboardInterrupt
        return httpx.Response(200, json=part)

    shell.answer = answer


def test_more_than_one_call_of_the_api_is_one_command(shell: Shell) -> None:
    answer_with(shell, (900, 0, [], None), (600, 600, [], "c1"), (300, 299, [failure("b")], None))
    ran = shell.type("jobs", "cancel", "--all", "--yes")
    assert (ran.code, ran.out) == (1, "899 jobs cancelled, 1 failed.\n")
    assert "b: The job's state does not allow this." in ran.err


def test_ctrl_c_between_two_calls_tells_how_many_were_done(shell: Shell) -> None:
    answer_with(shell, (1500, 0, [], None), (1000, 998, [], "c1"))
    ran = shell.type("jobs", "cancel", "--all", "--yes")
    assert ran.code == 130
    assert "At least 998 jobs cancelled so far" in ran.err


def test_of_very_many_failures_the_first_are_told_and_as_json_all(shell: Shell) -> None:
    many = [failure(f"job-{number}") for number in range(30)]
    answer_with(shell, *[(30, 0, [], None), (30, 0, many, None)] * 2)
    ran = shell.type("jobs", "redrive", "--all", "--yes")
    assert "job-19: " in ran.err
    assert "job-20: " not in ran.err
    assert "and 10 more" in ran.err
    ran = shell.type("jobs", "redrive", "--all", "--yes", "--json")
    assert ran.code == 1
    [told] = ran.objects
    assert (told["matched"], told["changed"], len(told["failed"])) == (30, 0, 30)
    assert told["failed"][0]["error"]["code"] == "wrong_state"


def failure(job_id: str) -> dict[str, object]:
    problem = {
        "type": "urn:hourhand:wrong_state",
        "title": "Conflict",
        "status": 409,
        "detail": "The job's state does not allow this.",
    }
    return {"id": job_id, "error": problem}


def test_named_jobs_are_done_one_by_one_and_a_failure_stops_none_of_them(shell: Shell) -> None:
    first, second = shell.submit(), shell.submit()
    ran = shell.type("jobs", "cancel", first, "nobody", second)
    assert ran.code == 3
    assert [line.split()[:2] for line in ran.out.splitlines()] == [
        [first, "cancelled:"],
        [second, "cancelled:"],
    ]
    assert "nobody: There is no job nobody." in ran.err
    [done] = shell.die()
    assert shell.type("jobs", "redrive", first, "nobody", second, done, shell.submit()).code == 1


# --- dead letters ---


def test_dead_letters_come_in_groups_the_one_that_ended_last_first(shell: Shell) -> None:
    slow = shell.die(times=SOME, error="TimeoutError", message="too slow")
    shell.world.advance(1)
    shell.die(handler="report", error="KeyError", message="'user'")
    ran = shell.type("dead-letters", "list")
    lines = [line.split() for line in ran.out.splitlines()]
    assert lines[0][:3] == ["HANDLER", "ERROR", "JOBS"]
    assert [line[:3] for line in lines[1:]] == [
        ["report", "KeyError", "1"],
        ["greet", "TimeoutError", "3"],
    ]
    assert any(job_id in ran.out for job_id in slow)
    assert "too slow" in ran.out


def test_groups_as_json_are_those_of_the_api(shell: Shell) -> None:
    shell.die(times=SOME)
    ran = shell.type("dead-letters", "list", "--json")
    assert ran.objects == shell.api.get("/v1/dead-letters/groups").json["groups"]


def test_groups_of_several_pages_are_added_up(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = shell.die(times=5, message="no user 7")
    monkeypatch.setattr("hourhand.client._operations._dead_letters.MAX_READ_A_PAGE", 2)
    [group] = shell.type("dead-letters", "list", "--json").objects
    assert (group["handler"], group["error_type"], group["jobs"]) == ("greet", "ValueError", 5)
    assert group["pattern"] == "no user <n>"
    assert group["newest"]["id"] in ids
    assert len(shell.requests) == 3


def test_a_group_is_listed_and_redriven_by_its_id(shell: Shell) -> None:
    meant = shell.die(times=SOME, message="no user 7")
    shell.die(message="no table")
    groups = shell.type("dead-letters", "list", "--json").objects
    [group] = [one["id"] for one in groups if one["pattern"] == "no user <n>"]
    found = shell.type("jobs", "list", "--error-group", group, "--json").objects
    assert {job["id"] for job in found} == set(meant)
    ran = shell.type("dead-letters", "redrive", "--error-group", group, "--dry-run")
    assert f"3 jobs in state DEAD, of group {group} would be redriven" in ran.out
    assert shell.type("dead-letters", "redrive", "--error-group", group, "--yes").out == (
        "3 jobs redriven.\n"
    )


def test_the_commands_for_the_first_group_are_complete(shell: Shell) -> None:
    shell.die(message="first")
    shell.world.advance(1)
    [newest] = shell.die(message="second", error="KeyError")
    ran = shell.type("dead-letters", "list")
    group = shell.type("dead-letters", "list", "--json").objects[0]
    typed = [command.split() for command in re.findall(r"`hourhand (.+)`", ran.err)]
    assert ["dead-letters", "redrive", "--error-group", group["id"]] in typed
    assert ["dead-letters", "discard", "--error-group", group["id"]] in typed
    listed = next(command for command in typed if command[:2] == ["jobs", "list"])
    assert [job["id"] for job in shell.type(*listed, "--json").objects] == [newest]
    assert ["dead-letters", "show", newest] in typed


# --- redriven jobs of schedules ---


def dead_of(shell: Shell, schedule: str, *flags: str) -> str:
    """Return the job of a schedule that was triggered and died."""
    put(shell, schedule, *HOURLY, "--max-attempts", "1", *flags)
    job = shell.world.trigger(schedule)
    shell.world.deliver(raising("ValueError", "boom"))
    return job.id


def test_of_redriven_jobs_of_a_schedule_it_is_told_when_they_run(shell: Shell) -> None:
    dead_of(shell, "nightly")
    ran = shell.type("dead-letters", "redrive", "--all", "--yes")
    assert ran.out == "1 job redriven.\n"
    told = " ".join(ran.err.split())
    assert "Jobs of schedule nightly run as its overlap allows." in told
    assert "its new times may be skipped" in told
    assert "`hourhand jobs list --schedule nightly --watch`" in told


def test_a_job_that_is_redriven_by_its_id_says_the_same_once(shell: Shell) -> None:
    first = dead_of(shell, "nightly")
    shell.world.advance(1)
    second = dead_of(shell, "nightly")
    ran = shell.type("jobs", "redrive", first, second)
    assert ran.err.count("Jobs of schedule nightly run as its overlap allows") == 1


def test_of_several_schedules_each_is_named(shell: Shell) -> None:
    for name in "ab":
        dead_of(shell, name)
    told = " ".join(shell.type("jobs", "redrive", "--handler", "greet", "--yes").err.split())
    assert "Jobs of a schedule run as its overlap allows." in told
    assert re.search("Their schedules are (a, b|b, a)", told)


def test_jobs_that_no_other_job_holds_up_need_no_word_of_it(shell: Shell) -> None:
    dead_of(shell, "nightly", "--overlap", "allow")
    shell.die()
    ran = shell.type("jobs", "redrive", "--all", "--yes")
    assert "overlap" not in ran.err
    dead_of(shell, "other")
    assert shell.type("jobs", "redrive", "--all", "--yes", "--json").objects[0]["schedules"] == [
        "other"
    ]


def test_no_dead_letter_is_said(shell: Shell) -> None:
    ran = shell.type("dead-letters", "list")
    assert (ran.code, ran.out, ran.err) == (0, "", "No job is dead.\n")
    shell.die()
    ran = shell.type("dead-letters", "list", "--error-type", "KeyError")
    assert (ran.code, ran.out, ran.err) == (0, "", "No dead job matches.\n")


def test_a_look_at_some_says_that_there_are_more(shell: Shell) -> None:
    shell.die(times=SOME)
    ran = shell.type("dead-letters", "list", "--scan", "2", "--json")
    assert ran.objects[0]["jobs"] == 2
    assert "newest 2 dead jobs" in ran.err


def test_one_dead_letter_is_shown_and_another_job_is_said_to_be_none(shell: Shell) -> None:
    [dead] = shell.die()
    ran = shell.type("dead-letters", "show", dead)
    assert "line 7, in greet" in ran.out
    assert f"dead-letters redrive {dead}" in ran.err
    assert "`discard` closes it" in ran.err
    assert (
        "This job is not dead. It is ENQUEUED"
        in shell.type("dead-letters", "show", shell.submit()).err
    )


def test_a_group_of_one_error_is_redriven_and_no_other_job(shell: Shell) -> None:
    meant = shell.die(times=SOME, error="TimeoutError")
    other = shell.die(error="KeyError")
    ran = shell.type("dead-letters", "redrive", "--error-type", "TimeoutError", "--yes")
    assert (ran.code, ran.out) == (0, "3 jobs redriven.\n")
    found = {job_id: shell.api.get(f"/v1/jobs/{job_id}").json["status"] for job_id in meant + other}
    assert found == {**dict.fromkeys(meant, "ENQUEUED"), other[0]: "DEAD"}


def test_a_group_is_counted_before_the_question(shell: Shell) -> None:
    shell.die(times=SOME, error="TimeoutError")
    chosen = ("--handler", "greet", "--error-type", "TimeoutError")
    ran = shell.type("dead-letters", "redrive", *chosen)
    assert ran.code == 2
    question = "Redrive 3 jobs in state DEAD, of handler greet, with error TimeoutError?"
    assert question in ran.err
    ran = shell.type("dead-letters", "redrive", "--error-type", "TimeoutError", "--dry-run")
    assert "3 jobs in state DEAD, with error TimeoutError would be redriven" in ran.out


def test_what_was_cancelled_on_purpose_is_no_dead_letter(shell: Shell) -> None:
    cancelled = shell.submit()
    shell.type("jobs", "cancel", cancelled)
    shell.die()
    ran = shell.type("dead-letters", "redrive", "--all", "--yes")
    assert ran.out == "1 job redriven.\n"
    assert shell.api.get(f"/v1/jobs/{cancelled}").json["status"] == "CANCELLED"


@pytest.mark.parametrize(
    "typed",
    [
        ["jobs", "cancel", "some-id", "--dry-run"],
        ["dead-letters", "redrive", "some-id", "--error-type", "ValueError"],
    ],
)
def test_flags_for_groups_are_not_taken_with_ids(shell: Shell, typed: list[str]) -> None:
    assert shell.type(*typed).code == 2
    assert shell.requests == []


@pytest.mark.parametrize(
    "typed", [["jobs", "cancel", "mine"], ["dead-letters", "redrive", "--error-type", "E", "--yes"]]
)
def test_a_mistake_of_ours_is_not_told_as_a_jobs_failure(shell: Shell, typed: list[str]) -> None:
    shell.die(error="E")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "POST":
            raise ZeroDivisionError
        return shell.answer_as_api(request)

    shell.answer = answer
    with pytest.raises(ZeroDivisionError):
        shell.type(*typed)


# --- discard ---


def test_a_dead_job_is_discarded_with_a_note_and_shown_so(shell: Shell) -> None:
    [dead] = shell.die()
    ran = shell.type("jobs", "discard", dead, "--note", "the list was wrong")
    assert (ran.code, ran.out) == (0, f"{dead}  discarded: DEAD, note: the list was wrong\n")
    shown = shell.type("jobs", "show", dead).out
    assert "DEAD, discarded " in shown
    assert "the list was wrong" in shown
    assert "discarded (the list was wrong); ValueError: boom" in shell.type("jobs", "list").out
    listed = "hourhand jobs list --status DEAD --discarded"
    assert ran.err == f"Discarded jobs: `{listed}`.\n"
    assert (
        f"No dead job needs action. 1 is discarded: `{listed}`.\n"
        == shell.type("dead-letters", "list").err
    )
    assert "It was discarded." in shell.type("dead-letters", "show", dead).err
    assert "DISCARDED" in shell.type("jobs", "events", dead).out


def test_a_job_that_is_not_dead_is_not_discarded(shell: Shell) -> None:
    ran = shell.type("jobs", "discard", shell.submit())
    assert ran.code == 4
    assert "is ENQUEUED; only DEAD jobs can be discarded" in ran.err


@pytest.mark.parametrize(("most", "said"), [(100, "3 are discarded"), (2, "More than 2 are disc")])
def test_discarded_jobs_are_counted_where_no_job_is_dead(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, most: int, said: str
) -> None:
    monkeypatch.setattr(commands, "MAX_DISCARDED_COUNTED", most)
    shell.die(times=SOME)
    shell.type("jobs", "discard", "--handler", "greet", "--yes")
    assert said in shell.type("dead-letters", "list").err
    assert "No dead job matches." in shell.type("dead-letters", "list", "--handler", "greet").err


@pytest.mark.parametrize("noun", ["jobs", "dead-letters"])
def test_dead_jobs_are_discarded_by_filters_after_a_question(shell: Shell, noun: str) -> None:
    shell.die(times=SOME, tenant="acme")
    [other] = shell.die(tenant="other")
    typed = (noun, "discard", "--tenant", "acme", "--note", "known")
    assert "Discard 3 jobs " in shell.type(*typed).err
    ran = shell.type(*typed, "--yes")
    assert (ran.code, ran.out) == (0, "3 jobs discarded.\n")
    assert "The note is kept with them: known\n" in ran.err
    assert "`hourhand jobs list --status DEAD --discarded`" in ran.err
    left = shell.type("jobs", "list", "--status", "DEAD", "--not-discarded", "--json").objects
    assert [job["id"] for job in left] == [other]
    closed = shell.type("jobs", "list", "--discarded", "--json").objects
    assert [job["discard_note"] for job in closed] == ["known"] * SOME


def test_a_group_of_one_error_is_discarded_and_no_other_job(shell: Shell) -> None:
    shell.die(times=SOME, error="TimeoutError")
    [other] = shell.die(error="KeyError")
    ran = shell.type("dead-letters", "discard", "--error-type", "TimeoutError", "--yes")
    assert (ran.code, ran.out) == (0, "3 jobs discarded.\n")
    assert shell.api.get(f"/v1/jobs/{other}").json["discarded_at"] is None


def test_a_redrive_by_filters_leaves_discarded_jobs_alone_unless_they_are_named(
    shell: Shell,
) -> None:
    [closed, _] = shell.die(times=2)
    shell.type("jobs", "discard", closed)
    assert shell.type("jobs", "redrive", "--all", "--yes").out == "1 job redriven.\n"
    assert shell.api.get(f"/v1/jobs/{closed}").json["status"] == "DEAD"
    ran = shell.type("jobs", "redrive", "--discarded", "--yes")
    assert ran.out == "1 job redriven.\n"


# --- the count that was shown ---


def test_the_count_that_was_shown_is_sent_and_one_that_grew_changes_nothing(shell: Shell) -> None:
    shell.submit()

    def answer(request: httpx.Request) -> httpx.Response:
        if len(shell.requests) == 2:
            shell.submit()
        return shell.answer_as_api(request)

    shell.answer = answer
    ran = shell.type("jobs", "cancel", "--handler", "greet", "--yes")
    assert ran.code == 4
    assert "A count of 1 was expected, and the count is 2 now. Nothing was changed." in ran.err
    assert statuses(shell) == ["ENQUEUED"] * 2


@pytest.mark.parametrize("typed", [["--yes"], []])
def test_a_thousand_jobs_or_more_need_a_narrower_filter_or_a_word_for_all(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, typed: list[str]
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 3)
    monkeypatch.setattr(client_bulk, "MAX_COUNTED", 3)
    for _ in range(4):
        shell.submit()
    ran = shell.type("jobs", "cancel", "--handler", "greet", *typed, stdin="y\n", is_terminal=True)
    assert ran.code == 2
    assert "3 or more jobs of handler greet match. Give a narrower filter" in ran.err
    assert "--all-matching" in ran.err
    assert statuses(shell) == ["ENQUEUED"] * 4
    dry = shell.type("jobs", "cancel", "--handler", "greet", "--dry-run")
    assert "3 or more jobs of handler greet would be cancelled. Nothing was changed." in dry.out
    dry = shell.type("jobs", "cancel", "--handler", "greet", "--dry-run", "--json")
    assert dry.objects[0]["count_is_bounded"] is True


def test_a_thousand_jobs_or_more_are_changed_after_a_word_for_all_and_a_question(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "MAX_JOBS_A_CALL", 3)
    monkeypatch.setattr(client_bulk, "MAX_COUNTED", 3)
    for _ in range(4):
        shell.submit()
    typed = ("jobs", "cancel", "--handler", "greet", "--all-matching")
    asked = shell.type(*typed, stdin="n\n", is_terminal=True)
    assert asked.code == 1
    assert "Cancel 3 or more jobs of handler greet? [y/N]" in asked.err
    ran = shell.type(*typed, "--yes")
    assert (ran.code, ran.out) == (0, "4 jobs cancelled.\n")
