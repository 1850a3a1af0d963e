"""``hourhand jobs`` for one job: submitted, found, followed and changed."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.jobs.job import Job, JobStatus, Progress
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.memory import MemoryJobLogs
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from tests.functions.cli_rig import COMMANDS, HOSTILE, Shell, raising
from tests.world.occurrences import end_run, job_id_of, put_occurrence, put_running, put_schedule
from tests.world.runs import in_turn, succeed
from tests.world.world import World

# --- submit ---


def test_a_job_is_submitted_with_every_field_as_a_flag(shell: Shell) -> None:
    flags = {
        "--delay": "5m",
        "--priority": "high",
        "--id": "mine",
        "--tenant": "acme",
        "--expires-at": "2026-02-01T00:00Z",
        "--timeout": "2m",
        "--retention": "1d",
        "--on-lost": "dead",
        "--max-attempts": "3",
        "--backoff": "fixed",
        "--retry-base": "10s",
        "--retry-max-delay": "1h",
        "--retry-jitter": "none",
    }
    typed = [text for pair in flags.items() for text in pair]
    ran = shell.type(
        "jobs", "submit", "greet", '{"n": 1}', *typed, "--tag", "a:1", "--tag", "b:2:3", "--json"
    )
    assert ran.code == 0
    job = ran.objects[0]
    assert (job["id"], job["handler"], job["payload"]) == ("mine", "greet", {"n": 1})
    assert (job["priority"], job["tenant"], job["tags"]) == ("high", "acme", {"a": "1", "b": "2:3"})
    assert job["run_at"] == "2026-01-05T09:05:00.000Z"
    assert job["expires_at"] == "2026-02-01T00:00:00.000Z"
    assert (job["timeout_seconds"], job["retention_seconds"]) == (120, 86_400)
    assert job["on_lost"] == "dead"
    assert job["retry"] == {
        "max_attempts": 3,
        "backoff": "fixed",
        "base_seconds": 10,
        "max_delay_seconds": 3600,
        "jitter": "none",
    }


def test_a_key_for_which_the_handler_has_no_limit_is_refused_by_its_name(shell: Shell) -> None:
    ran = shell.type("jobs", "submit", "greet", "--concurrency-key", "vip")
    assert ran.code != 0
    assert "concurrency_key cannot be given" in ran.err


def test_limits_of_a_job_are_named_once_each_with_their_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shared = (Concurrency(1, name="bank"), Concurrency(2, name="pool"))
    world = World(handlers=(HandlerInfo(name="sync", limits=shared), "greet"))
    shell = Shell(world, monkeypatch)
    flags = ("--limit", "pool", "--limit", "bank=payload.account")
    ran = shell.type("jobs", "submit", "greet", *flags, "--json")
    named = [{"name": "pool", "key": None}, {"name": "bank", "key": "payload.account"}]
    assert ran.objects[0]["limits"] == named
    shown = shell.type("jobs", "show", ran.objects[0]["id"])
    assert "pool, bank=payload.account" in shown.out
    refused = shell.type("jobs", "submit", "greet", "--limit", "bonk")
    assert "limits[0].name is no shared limit." in refused.err
    assert shell.type("jobs", "submit", "greet", "--limit", "bank=").code == 2


UNIQUE = ("--unique", "payload.day")
DEBOUNCE = ("--debounce", "payload.day", "--debounce-wait", "10s")


@pytest.mark.parametrize(
    ("flags", "kept"),
    [
        (UNIQUE, 1),
        ((*UNIQUE, "--unique-until", "3600"), 1),
        ((*UNIQUE, "--unique-until", "start", "--on-conflict", "replace"), 2),
        ((*DEBOUNCE, "--debounce-max-wait", "1m"), 2),
        ((*DEBOUNCE, "--debounce-mode", "first"), 1),
    ],
)
def test_a_key_of_a_job_is_typed_with_its_options(
    shell: Shell, flags: tuple[str, ...], kept: int
) -> None:
    ids = set()
    for payload in ('{"day": 1, "n": 1}', '{"day": 1, "n": 2}'):
        ran = shell.type("jobs", "submit", "greet", payload, *flags, "--json")
        ids.add(ran.objects[0]["id"])
    assert len(ids) == 1
    job = shell.type("jobs", "show", ids.pop(), "--json").objects[0]
    assert job["payload"]["n"] == kept


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--unique-until", "end"), "give --unique, too"),
        (("--on-conflict", "reject"), "give --unique, too"),
        (("--debounce", "tenant"), "give --debounce-wait, too"),
        (("--debounce-wait", "5s"), "give --debounce, too"),
        (("--debounce-max-wait", "5s"), "give --debounce, too"),
        (("--debounce-mode", "first"), "give --debounce, too"),
    ],
)
def test_an_option_of_a_key_needs_the_key(shell: Shell, flags: tuple[str, ...], words: str) -> None:
    ran = shell.type("jobs", "submit", "greet", *flags)
    assert ran.code == 2
    assert words in ran.err


def test_a_job_that_waits_for_a_start_of_its_rate_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rate = Rate(1, per=3600, burst=1)
    world = World(handlers=(HandlerInfo(name="greet", limits=(rate,)),))
    shell = Shell(world, monkeypatch)
    for _ in range(2):
        shell.type("jobs", "submit", "greet")
    world.deliver()
    waits = "waits for a start of its rate limit"
    assert waits in shell.type("jobs", "list", "--status", "PENDING").out
    job_id = shell.type("jobs", "list", "--status", "PENDING", "--json").objects[0]["id"]
    assert f"PENDING, {waits}" in shell.type("jobs", "show", job_id).out
    shell.clock.interrupts_after = 3
    watched = shell.type("jobs", "watch", job_id, is_terminal=True).out
    assert f", {waits}, due in 60 min" in watched


def test_the_payload_comes_from_stdin_for_a_dash(shell: Shell) -> None:
    ran = shell.type("jobs", "submit", "greet", "-", "--json", stdin='["from", "stdin"]')
    assert ran.objects[0]["payload"] == ["from", "stdin"]


@pytest.mark.parametrize("typed", [['{"n": 1}'], ["--payload", '{"n": 1}']])
def test_the_payload_is_an_argument_or_an_option(shell: Shell, typed: list[str]) -> None:
    ran = shell.type("jobs", "submit", "greet", *typed, "--json")
    assert ran.objects[0]["payload"] == {"n": 1}


def test_flags_have_twins_in_the_environment(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOURHAND_JOBS_SUBMIT_PRIORITY", "low")
    monkeypatch.setenv("HOURHAND_JSON", "1")
    assert shell.type("jobs", "submit", "greet").objects[0]["priority"] == "low"


def test_a_lost_answer_does_not_submit_twice(shell: Shell) -> None:
    lost = [True]

    def answer(request: httpx.Request) -> httpx.Response:
        response = shell.answer_as_api(request)
        if lost:
            lost.clear()
            raise httpx.ReadError("the connection broke", request=request)
        return response

    shell.answer = answer
    assert shell.type("jobs", "submit", "greet").code == 0
    assert len(shell.world.store.jobs()) == 1
    assert len(shell.requests) == 2


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (["submit"], "give a handler"),
        (["submit", "greet", "{"], "is not valid JSON"),
        (
            ["submit", "greet", "--priority", "urgent"],
            "'urgent' is not one of 'high', 'medium', 'low'",
        ),
        (["submit", "greet", "--payload", "{"], "is not valid JSON"),
        (["submit", "greet", "1", "--payload", "1"], "cannot be combined with PAYLOAD"),
        (["submit", "greet", "--delay", "soon"], "must be a duration such as"),
        (["submit", "greet", "--timeout", "1.5s"], "must be whole seconds"),
        (["submit", "nobody"], "Registered: greet, report"),
        (["submit", "greet", "--delay", "1m", "--run-at", "2027-01-01T00:00Z"], "run_at"),
        (["reschedule", "mine"], "give a change"),
        (["frobnicate"], "No such command"),
    ],
)
def test_wrong_usage_is_told_by_name_and_ends_with_2(
    shell: Shell, typed: list[str], said: str
) -> None:
    ran = shell.type("jobs", *typed)
    assert ran.code == 2
    assert said in ran.err
    assert ran.out == ""


# --- list and show ---


def test_a_list_has_a_line_a_job_the_newest_first(shell: Shell) -> None:
    first = shell.submit(delay_seconds=180, tags={"a": "b"})
    shell.world.advance(60)
    second = shell.submit(priority="high")
    shell.world.deliver()
    ran = shell.type("jobs", "list")
    lines = ran.out.splitlines()
    assert lines[0].split() == [
        *("ID", "HANDLER", "STATUS", "TRY", "WHEN", "CREATED", "PRIORITY", "REMARK"),
    ]
    assert [line.split()[0] for line in lines[1:]] == [second, first]
    assert "SUCCEEDED" in lines[1]
    assert "due in 2 min" in lines[2]
    # Its message waits in SQS; that of a job due now does not.
    assert lines[2].endswith("sent ahead")
    shell.world.advance(121)
    assert "sent ahead" not in shell.type("jobs", "list").out


def test_filters_all_hold(shell: Shell) -> None:
    meant = shell.submit(tenant="acme", tags={"customer": "42"})
    shell.submit(tenant="acme")
    shell.submit(tags={"customer": "42"})
    filters = ("--tenant", "acme", "--tag", "customer:42", "--created-after", "1h")
    assert [job["id"] for job in shell.type("jobs", "list", *filters, "--json").objects] == [meant]


def test_a_shortened_list_says_that_there_is_more(shell: Shell) -> None:
    for _ in range(3):
        shell.submit()
    ran = shell.type("jobs", "list", "--limit", "2", "--json")
    assert len(ran.objects) == 2
    assert "newest 2" in ran.err
    assert "newest" not in shell.type("jobs", "list", "--limit", "3").err
    assert len(shell.type("jobs", "list", "--all", "--json").objects) == 3


def test_nothing_found_is_said_to_people_and_not_to_programs(shell: Shell) -> None:
    assert shell.type("jobs", "list").err == "No job matches.\n"
    ran = shell.type("jobs", "list", "--json")
    assert (ran.out, ran.err, ran.code) == ("", "", 0)


def test_json_is_what_the_api_gave(shell: Shell) -> None:
    job_id = shell.submit(payload={"ä": "\u2028\x1b"})
    ran = shell.type("jobs", "show", job_id, "--json")
    assert ran.objects == [shell.api.get(f"/v1/jobs/{job_id}").json]
    assert ran.out.isascii()


def test_a_job_is_shown_with_its_attempts_contents_and_error(shell: Shell) -> None:
    [job_id] = shell.die(payload={"user": 7}, message="no such user", tags={"a": "b"})
    ran = shell.type("jobs", "show", job_id, "--utc")
    assert ran.code == 0
    error = ("ValueError: no such user", "line 7, in greet", "1 of 1")
    for told in (job_id, "DEAD", "2026-01-05 09:00:00Z (now)", "a:b", '"user": 7', *error):
        assert told in ran.out


def test_a_running_job_is_shown_with_its_owner_progress_and_the_wish_to_stop(
    shell: Shell,
) -> None:
    job_id = shell.submit(delay_seconds=60, idempotency_key="key", tenant="acme")

    def look(job: Job, pulse: Pulse) -> Finished:
        pulse.beat(Progress(done=1, total=4, message="first"))
        shell.type("jobs", "cancel", job_id)
        seen.append(shell.type("jobs", "show", job_id).out)
        seen.append(shell.type("jobs", "list").out)
        return succeed(job, pulse)

    seen: list[str] = []
    shell.world.advance(60)
    shell.world.deliver(look)
    shown, listed = seen
    for told in ("RUNNING, worker w-", "asked to stop now", "1 of 4 first", "acme", "key"):
        assert told in shown
    assert "asked to stop" in listed
    assert "started now" in listed


def test_a_handlers_progress_is_in_the_list(shell: Shell) -> None:
    seen = []

    def look(job: Job, pulse: Pulse) -> Finished:
        for progress in (Progress(done=1, total=4, message="rows"), Progress(done=7)):
            shell.world.advance(20)
            pulse.beat(progress)
            seen.append(shell.type("jobs", "list").out)
        return succeed(job, pulse)

    shell.submit()
    shell.world.deliver(look)
    assert "25% rows" in seen[0]
    assert "7 done" in seen[1]


def test_contents_that_are_too_large_for_an_answer_are_said_to_be(shell: Shell) -> None:
    job = {**shell.api.get(f"/v1/jobs/{shell.submit()}").json, "omitted": ["payload", "result"]}
    shell.answer = lambda request: httpx.Response(200, json=job)
    ran = shell.type("jobs", "show", "mine")
    assert ran.out.count("not shown: too large for an answer") == 2


def test_events_as_json_are_lines(shell: Shell) -> None:
    job_id = shell.submit()
    ran = shell.type("jobs", "events", job_id, "--json")
    assert ran.objects == shell.api.get(f"/v1/jobs/{job_id}/events").json["events"]


def test_a_watched_list_is_drawn_in_place(shell: Shell) -> None:
    shell.submit()
    shell.clock.interrupts_after = 1
    ran = shell.type("jobs", "list", "--watch", is_terminal=True)
    assert ran.code == 130
    assert "ENQUEUED" in ran.out
    assert "SUCCEEDED" in ran.out


def test_events_tell_the_history_oldest_first(shell: Shell) -> None:
    [job_id] = shell.die()
    ran = shell.type("jobs", "events", job_id)
    kinds = [line.split()[3] for line in ran.out.splitlines()[1:]]
    assert kinds[0] == "SUBMITTED"
    assert kinds.index("CLAIMED") < kinds.index("FAILED")


def test_events_that_a_long_history_dropped_are_counted_where_they_would_stand(
    shell: Shell,
) -> None:
    [job_id] = shell.die()
    api = shell.answer

    def answer(request: httpx.Request) -> httpx.Response:
        told = api(request).json()
        dropped = {"dropped": 7} if "events" in told else {"history_dropped": 1}
        return httpx.Response(200, json={**told, **dropped})

    shell.answer = answer
    _, first, gap, second, *_ = shell.type("jobs", "events", job_id).out.splitlines()
    assert ("SUBMITTED" in first, "CLAIMED" in second) == (True, True)
    assert " ".join(gap.split()) == "... 7 older events were dropped."
    assert "1 older event was dropped." in shell.type("jobs", "show", job_id).out


# --- jobs that wait for a slot of their schedule ---


@pytest.fixture
def waiting(shell: Shell) -> str:
    """A job of a schedule that was redriven, and waits for another one to end."""
    put_schedule(shell.world)
    put_running(shell.world, 0)
    error = "ZeroDivisionError: division by zero"
    put_occurrence(shell.world, 1, schedule_revision=None, last_failure=error, round=2)
    shell.world.deliver()
    return job_id_of(1)


def test_a_job_that_waits_for_a_slot_says_so_and_that_its_error_is_an_earlier_one(
    shell: Shell, waiting: str
) -> None:
    listed = shell.type("jobs", "list", "--error-type", "ZeroDivisionError").out
    assert (
        "waits for another job of schedule nightly; "
        "earlier error: ZeroDivisionError: division by zero"
    ) in listed
    shown = shell.type("jobs", "show", waiting, "--utc").out
    assert "ENQUEUED, waits for another job of schedule nightly (1 at once)" in shown
    assert "waits since" in shown
    assert "earlier error" in shown


def test_a_job_that_waits_and_is_run_now_waits_again(shell: Shell, waiting: str) -> None:
    assert "due now: ENQUEUED" in shell.type("jobs", "run-now", waiting).out
    shell.world.deliver()
    assert "waits for another job of schedule nightly" in shell.type("jobs", "list").out


def test_a_job_that_waits_for_a_slot_is_watched(shell: Shell, waiting: str) -> None:
    shell.clock.interrupts_after = 3
    ran = shell.type("jobs", "watch", waiting, is_terminal=True)
    assert "waits for another job of schedule nightly. Ctrl-C stops watching" in ran.out


def test_a_job_that_got_its_slot_waits_no_more(shell: Shell, waiting: str) -> None:
    end_run(shell.world, 0)
    shell.world.settle()
    assert shell.world.job(waiting).status is JobStatus.SUCCEEDED
    assert "waits for another job" not in shell.type("jobs", "list").out


def test_the_error_of_a_job_that_runs_again_is_an_earlier_one_until_it_fails_again(
    shell: Shell,
) -> None:
    [job_id] = shell.die()
    shell.type("jobs", "redrive", job_id)
    assert "earlier error: ValueError: boom" in shell.type("jobs", "list").out
    shell.world.deliver(raising("ValueError", "boom"))
    listed = shell.type("jobs", "list").out
    assert ("earlier" in listed, "ValueError: boom" in listed) == (False, True)


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("verb", [["list"], ["show", "ID"], ["events", "ID"], ["watch", "ID"]])
def test_hostile_text_does_not_reach_the_terminal(
    shell: Shell, verb: list[str], is_terminal: bool
) -> None:
    [job_id] = shell.die(
        payload={HOSTILE: HOSTILE}, tags={"t": HOSTILE}, tenant=HOSTILE, message=HOSTILE
    )
    typed = [job_id if text == "ID" else text for text in verb]
    ran = shell.type("jobs", *typed, is_terminal=is_terminal)
    # Clearing its own lines is what a live display does.
    printed = re.sub(r"\r(\x1b\[1A)?\x1b\[2K", "", ran.out + ran.err)
    assert not [command for command in COMMANDS if command in printed]
    assert "\\x1b[2J" in printed
    # Shortened on a terminal.
    assert is_terminal or "[red]x[/]" in printed


def test_hostile_text_of_a_problem_does_not_reach_the_terminal(shell: Shell) -> None:
    shell.answer = lambda request: httpx.Response(
        422,
        headers={"content-type": "application/problem+json"},
        json={"type": "urn:x", "title": "t", "status": 422, "detail": HOSTILE},
    )
    ran = shell.type("jobs", "show", HOSTILE, is_terminal=True)
    assert ran.code == 2
    assert not [command for command in COMMANDS if command in ran.err.replace("\x1b[0m", "")]


# --- exit codes ---


EXIT_CODES = {2: (400, 413, 422), 3: (404,), 4: (409,), 5: (429, 500, 503), 6: (401, 403)}


@pytest.mark.parametrize(
    ("status", "code"), [(status, code) for code, of_it in EXIT_CODES.items() for status in of_it]
)
def test_each_kind_of_refusal_has_an_exit_code(shell: Shell, status: int, code: int) -> None:
    shell.answer = lambda request: httpx.Response(status, json={"message": "No."})
    ran = shell.type("jobs", "show", "mine")
    assert ran.code == code
    assert ran.err.startswith("hourhand: ")


def test_an_api_that_cannot_be_reached_has_an_exit_code(shell: Shell) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("Connection refused", request=request)

    shell.answer = refuse
    ran = shell.type("jobs", "list")
    assert ran.code == 5
    assert "Connection refused" in ran.err


def test_ctrl_c_ends_with_130_and_one_sentence(shell: Shell) -> None:
    def interrupt(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    shell.answer = interrupt
    ran = shell.type("jobs", "list")
    assert (ran.code, ran.err) == (130, "hourhand: Interrupted.\n")


# --- watch ---


def test_a_job_is_followed_through_retries_to_its_success(shell: Shell) -> None:
    job_id = shell.submit(retry={"backoff": "fixed", "base_seconds": 2, "jitter": "none"})
    shell.clock.behaviour = in_turn(raising("OSError", "no route"), succeed)
    ran = shell.type("jobs", "watch", job_id)
    assert ran.code == 0
    words = [line.split()[1] for line in ran.out.splitlines()[:-2]]
    assert [words[0], *words[-4:]] == ["submitted", "claimed", "failed", "claimed", "succeeded"]
    assert f"{job_id} SUCCEEDED after 2 attempts" in ran.out
    assert ran.out.splitlines()[-1] == '{"done": true}'


def test_a_job_that_ends_badly_ends_the_watch_with_1_and_says_why(shell: Shell) -> None:
    job_id = shell.submit(retry={"max_attempts": 1})
    shell.clock.behaviour = raising("OSError", "no route")
    ran = shell.type("jobs", "watch", job_id)
    assert ran.code == 1
    assert "OSError: no route" in ran.out
    assert f"jobs show {job_id}" in ran.err


def test_a_watch_ends_in_time_with_124(shell: Shell) -> None:
    job_id = shell.submit(delay_seconds=3600)
    ran = shell.type("jobs", "watch", job_id, "--timeout", "90s")
    assert ran.code == 124
    assert "did not end in time. It is PENDING" in ran.err
    # It is due in an hour: nobody asks each second.
    assert len(shell.requests) < 30


def test_watched_as_json_each_change_is_a_line_and_the_last_the_whole_job(shell: Shell) -> None:
    job_id = shell.submit(payload={"n": 1})
    ran = shell.type("jobs", "watch", job_id, "--json")
    statuses = [job["status"] for job in ran.objects]
    assert statuses[0] == "ENQUEUED"
    assert statuses[-1] == "SUCCEEDED"
    assert "payload" not in ran.objects[0]
    assert ran.objects[-1] == shell.api.get(f"/v1/jobs/{job_id}").json


def test_on_a_terminal_the_last_line_tells_what_it_waits_for(shell: Shell) -> None:
    job_id = shell.submit(delay_seconds=600)
    shell.clock.interrupts_after = 3
    ran = shell.type("jobs", "watch", job_id, is_terminal=True)
    assert ran.code == 130
    assert "due in 10 min" in ran.out


def test_a_job_is_submitted_and_followed_in_one_command(shell: Shell) -> None:
    ran = shell.type("jobs", "submit", "greet", "--watch")
    assert ran.code == 0
    assert "SUCCEEDED after 1 attempt" in ran.out


def test_a_list_is_watched_until_ctrl_c(shell: Shell) -> None:
    shell.submit()
    shell.clock.interrupts_after = 2
    ran = shell.type("jobs", "list", "--watch", "--json")
    assert ran.code == 130
    assert [job["status"] for job in ran.objects] == ["ENQUEUED", "SUCCEEDED", "SUCCEEDED"]


# --- changes of one ---


def test_a_waiting_job_is_run_now_rescheduled_and_cancelled(shell: Shell) -> None:
    job_id = shell.submit(delay_seconds=3600, payload=1)
    ran = shell.type(
        "jobs", "reschedule", job_id, "--delay", "2h", "--priority", "low", "--payload", '{"n": 2}'
    )
    assert "(in 2 h)" in ran.out
    job = shell.api.get(f"/v1/jobs/{job_id}").json
    assert (job["priority"], job["payload"]) == ("low", {"n": 2})
    assert "due now: ENQUEUED" in shell.type("jobs", "run-now", job_id).out
    assert "cancelled: CANCELLED" in shell.type("jobs", "cancel", job_id).out
    ran = shell.type("jobs", "run-now", job_id)
    assert ran.code == 4
    assert "hourhand: " in ran.err


# --- by key ---


def test_a_job_is_shown_by_its_key(shell: Shell) -> None:
    job_id = shell.submit(idempotency_key="order-4711", tenant="acme", payload={"n": 1})
    ran = shell.type("jobs", "show", "--key", "order-4711", "--tenant", "acme", "--json")
    assert ran.objects == [shell.api.get(f"/v1/jobs/{job_id}").json]
    ran = shell.type("jobs", "show", "--key", "order-4711")
    assert ran.code == 3
    assert "There is no job under the idempotency key 'order-4711'." in ran.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ([], "give either an ID or --key"),
        (["mine", "--key", "k"], "give either an ID or --key"),
        (["mine", "--tenant", "acme"], "needs --key"),
    ],
)
def test_a_job_is_shown_by_one_name_alone(shell: Shell, typed: list[str], said: str) -> None:
    ran = shell.type("jobs", "show", *typed)
    assert (ran.code, shell.requests) == (2, [])
    assert said in ran.err


# --- logs ---


def log(shell: Shell, job_id: str, message: str, **fields: Any) -> None:
    logs = shell.world.api.logs.logs
    assert isinstance(logs, MemoryJobLogs)
    line = {"job_id": job_id, "level": "INFO", "message": message, **fields}
    logs.add(line, shell.world.clock.now())


def a_job_that_logs(shell: Shell, *lines: str, **fields: Any) -> str:
    job_id = shell.submit()

    def work(job: Job, pulse: Pulse) -> Finished:
        for text in lines:
            log(shell, job_id, text, attempt=job.attempt, **fields)
            shell.world.advance(1)
        return succeed(job, pulse)

    shell.world.deliver(work)
    return job_id


def test_the_lines_of_a_job_are_printed_the_oldest_first(shell: Shell) -> None:
    job_id = a_job_that_logs(shell, "Begun.", "Done.", rows=3, exception="Traceback\n  line 7")
    ran = shell.type("jobs", "logs", job_id, "--utc")
    assert ran.code == 0
    assert ran.out.splitlines() == [
        "2026-01-05 09:00:00.000  INFO    try 1  Begun.  rows=3",
        "Traceback",
        "  line 7",
        "2026-01-05 09:00:01.000  INFO    try 1  Done.  rows=3",
        "Traceback",
        "  line 7",
    ]
    newest = shell.type("jobs", "logs", job_id, "--order", "newest", "--limit", "1")
    assert "Done." in newest.out
    assert "Begun." not in newest.out
    assert "Only the newest 1 lines are shown." in newest.err


def test_lines_as_json_are_those_of_the_api(shell: Shell) -> None:
    job_id = a_job_that_logs(shell, "one", "two", "three")
    ran = shell.type("jobs", "logs", job_id, "--json")
    assert ran.objects == shell.api.get(f"/v1/jobs/{job_id}/logs").json["lines"]
    assert shell.type("jobs", "logs", job_id, "--json", "--limit", "3").err == ""
    assert len(shell.type("jobs", "logs", job_id, "--json", "--limit", "2").objects) == 2


def test_a_job_without_a_log_is_said_to_have_none(shell: Shell) -> None:
    ran = shell.type("jobs", "logs", shell.submit())
    assert (ran.code, ran.out) == (0, "")
    assert "has logged nothing" in ran.err
    assert shell.type("jobs", "logs", "nobody").code == 3


def test_a_followed_log_goes_on_until_the_job_has_ended(shell: Shell) -> None:
    job_id = shell.submit(delay_seconds=5)

    def work(job: Job, pulse: Pulse) -> Finished:
        log(shell, job_id, "same", attempt=1)
        log(shell, job_id, "same", attempt=1)
        shell.world.advance(3)
        log(shell, job_id, "last", attempt=1)
        return succeed(job, pulse)

    shell.clock.behaviour = work
    ran = shell.type("jobs", "logs", job_id, "--follow", "--json")
    assert [line["message"] for line in ran.objects] == ["same", "same", "last"]
    assert shell.type("jobs", "logs", job_id, "--follow", "--order", "newest").code == 2


TRACE = "69200b1c3a1f5c7e9b2d4f6081a3c5e7"
LINK = (
    "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1"
    "#xray:traces/1-69200b1c-3a1f5c7e9b2d4f6081a3c5e7"
)


def test_the_trace_that_a_submitter_brought_is_linked_where_the_region_is_known(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOURHAND_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    own = shell.world.api.submission.submit(
        JobSubmission.parse({"handler": "greet"}), actor="caller", trace_id=TRACE
    ).job.id
    shown = shell.type("jobs", "show", own, "--region", "eu-west-1").out
    assert LINK in shown
    assert LINK in shell.type("jobs", "logs", own, "--region", "eu-west-1").err
    assert "xray" not in shell.type("jobs", "show", own).out
    brought_none = shell.world.submit().id
    assert "xray" not in shell.type("jobs", "show", brought_none, "--region", "eu-west-1").out
