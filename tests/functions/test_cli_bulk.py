"""Many jobs cancelled and redriven: counted, asked about, then done, with each failure told."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.functions.cli_rig import Shell

SOME = 3


def statuses(shell: Shell) -> list[str]:
    return sorted(job.status for job in shell.world.store.jobs().values())


# --- which jobs ---


@pytest.mark.parametrize(
    "verb", [["jobs", "cancel"], ["jobs", "redrive"], ["dead-letters", "redrive"]]
)
def test_without_a_word_of_which_jobs_nothing_is_done(shell: Shell, verb: list[str]) -> None:
    shell.submit()
    ran = shell.type(*verb, "--yes")
    assert ran.code == 2
    assert "give IDs, a filter such as --handler, or --all" in ran.err
    assert statuses(shell) == ["ENQUEUED"]


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
    assert ran.objects == [{"matched": 1, "changed": 0, "failed": []}]
    assert statuses(shell) == ["ENQUEUED"]


def test_nothing_found_is_no_failure_and_no_question(shell: Shell) -> None:
    ran = shell.type("jobs", "redrive", "--handler", "greet")
    assert (ran.code, ran.err) == (0, "")
    assert "0 jobs of handler greet would be redriven" in ran.out


# --- what came of it ---


def answer_with(shell: Shell, *parts: tuple[int, int, list[Any], str | None]) -> None:
    """Let the API answer one call after the other; then Ctrl-C is pressed."""
    names = ("matched", "changed", "failed", "next_cursor")
    left = iter([dict(zip(names, part, strict=True)) for part in parts])

    def answer(request: httpx.Request) -> httpx.Response:
        part = next(left, None)
        if part is None:
            raise KeyboardInterrupt
        return httpx.Response(200, json=part)

    shell.answer = answer


def test_more_than_one_call_of_the_api_is_one_command(shell: Shell) -> None:
    answer_with(
        shell, (1500, 0, [], None), (1000, 1000, [], "c1"), (500, 499, [failure("b")], None)
    )
    ran = shell.type("jobs", "cancel", "--all", "--yes")
    assert (ran.code, ran.out) == (1, "1,499 jobs cancelled, 1 failed.\n")
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
