"""``hourhand jobs submit --file``: any number of lines, each one's fate told, none sent twice."""

from __future__ import annotations

import gc
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from hourhand.cli.jobs.job_file import FileLine
from hourhand.cli.output.progress import Meter
from hourhand.client import Job, Submitted
from hourhand.client._operations._batches import Sending
from tests.functions.cli_rig import Ran, Shell
from tests.world.world import World

BATCH_JOBS = 50
"""A tenth of what the API takes, in a tenth of the time: the rules of a batch are the same."""

LINES = 70
"""More than a batch."""

MANY = 1500


@pytest.fixture
def shell(world: World, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setattr("hourhand.client._operations._many.MAX_BATCH_JOBS", BATCH_JOBS)
    return Shell(world, monkeypatch)


@pytest.fixture
def jobs_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "jobs.ndjson"
    write(file, [line(number) for number in range(LINES)])
    return file


def line(number: int) -> dict[str, Any]:
    return {"handler": "greet", "payload": {"n": number}, "delay_seconds": 3600}


def write(file: Path, lines: list[Any]) -> None:
    file.write_text("".join((x if isinstance(x, str) else json.dumps(x)) + "\n" for x in lines))


def submit(shell: Shell, file: Path | str, *more: str, **how: Any) -> Ran:
    return shell.type("jobs", "submit", "--file", str(file), *more, **how)


def payloads(shell: Shell) -> list[int]:
    texts = (job.payload.text for job in shell.world.store.jobs().values())
    return sorted(json.loads(text or "null")["n"] for text in texts)


def record_of(file: Path) -> Path:
    return file.with_name(file.name + ".hourhand-run")


def failures_of(file: Path) -> list[dict[str, Any]]:
    lines = file.with_name(file.name + ".failed").read_text().splitlines()
    return [json.loads(text) for text in lines]


class Dying:
    """Answers so many requests, then does what a test wants of the next ones."""

    def __init__(self, shell: Shell, answered: int, then: Callable[[httpx.Request], Any]) -> None:
        self.shell, self.left, self.then = shell, answered, then

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.left:
            self.left -= 1
            return self.shell.answer_as_api(request)
        response: httpx.Response = self.then(request)
        return response


def refuse_connection(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("Connection refused", request=request)


# --- all goes well ---


def test_every_line_is_a_job_and_nothing_is_left_behind(shell: Shell, jobs_file: Path) -> None:
    ran = submit(shell, jobs_file)
    assert ran.code == 0
    assert ran.out.startswith("70 jobs accepted, 0 rejected, in ")
    assert payloads(shell) == list(range(LINES))
    assert list(jobs_file.parent.iterdir()) == [jobs_file]


def test_lines_may_come_from_stdin(shell: Shell, jobs_file: Path) -> None:
    ran = submit(shell, "-", stdin=jobs_file.read_text())
    assert ran.code == 0
    assert payloads(shell) == list(range(LINES))


def test_lines_may_come_from_a_named_pipe(shell: Shell, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: write(pipe, [{"handler": "greet"}]))
    writer.start()
    ran = submit(shell, pipe)
    writer.join()
    assert (ran.code, len(shell.world.store.jobs())) == (0, 1)
    assert list(tmp_path.iterdir()) == [pipe]


def test_flags_are_for_lines_that_lack_the_field(shell: Shell, jobs_file: Path) -> None:
    write(jobs_file, [{"payload": 1}, {"handler": "report", "priority": "high"}])
    assert submit(shell, jobs_file, "--priority", "low", "--json", "greet").code == 0
    found = {job.handler: job.priority for job in shell.world.store.jobs().values()}
    assert found == {"greet": "low", "report": "high"}


def test_as_json_each_accepted_job_is_a_line_and_the_summary_on_stderr(
    shell: Shell, jobs_file: Path
) -> None:
    write(jobs_file, [{"handler": "greet", "id": "a"}, {"handler": "greet", "id": "b"}])
    ran = submit(shell, jobs_file, "--json")
    assert [job["id"] for job in ran.objects] == ["a", "b"]
    assert "2 jobs accepted" in ran.err


def test_on_a_terminal_a_bar_tells_how_far_it_is(shell: Shell, jobs_file: Path) -> None:
    ran = submit(shell, jobs_file, is_terminal=True)
    assert "━" in ran.err
    assert "70 jobs, " in ran.err


def test_the_same_file_given_again_is_new_jobs(shell: Shell, jobs_file: Path) -> None:
    submit(shell, jobs_file)
    submit(shell, jobs_file)
    assert len(shell.world.store.jobs()) == 2 * LINES


def test_however_long_the_file_two_batches_of_it_are_in_memory(
    shell: Shell, tmp_path: Path
) -> None:
    many = tmp_path / "many"
    write(many, [{"handler": "greet", "payload": "x"}] * (8 * BATCH_JOBS))
    job = shell.api.get(f"/v1/jobs/{shell.submit()}").json
    held: list[Counter[type]] = []

    def accept(request: httpx.Request) -> httpx.Response:
        shell.requests.clear()
        # What no longer counts is gone whenever Python collects its garbage, so that happens now.
        gc.collect()
        held.append(Counter(map(type, gc.get_objects())))
        jobs = json.loads(request.content)["jobs"]
        return httpx.Response(200, json={"results": [{"job": {**job, "id": "x"}} for _ in jobs]})

    shell.answer = accept
    assert submit(shell, many, "--parallel", "1").code == 0
    assert len(held) == 8
    # One batch is under way while the next is gathered; in hand are the line that did not fit into
    # it, and the last one that was told of.
    for kind in (FileLine, Sending, Submitted, Job):
        most = max(count[kind] for count in held)
        assert most <= 2 * BATCH_JOBS + 2, kind
    assert max(count[FileLine] for count in held) >= BATCH_JOBS


# --- lines that are refused ---


def test_lines_that_are_refused_stop_no_other_and_are_kept_with_their_reason(
    shell: Shell, jobs_file: Path
) -> None:
    write(
        jobs_file,
        [
            {"handler": "greet"},
            {"handler": "nobody", "payload": 1},
            "no json \x1b[2J",
            {"handler": "greet", "prio": 1},
            "",
            {"handler": "greet"},
        ],
    )
    ran = submit(shell, jobs_file)
    assert ran.code == 1
    assert ran.out.startswith("2 jobs accepted, 3 rejected")
    assert "\x1b" not in ran.err
    failures = sorted(failures_of(jobs_file), key=lambda failure: failure["line"])
    assert [failure["line"] for failure in failures] == [2, 3, 4]
    assert failures[0]["job"]["handler"] == "nobody"
    assert "Registered: greet, report" in failures[0]["reason"]
    assert (failures[1]["text"], failures[1].get("job")) == ("no json \x1b[2J", None)
    assert "prio" in failures[2]["reason"]
    assert not record_of(jobs_file).exists()


def test_a_file_of_failures_is_submitted_as_it_is_once_it_is_mended(
    shell: Shell, jobs_file: Path
) -> None:
    write(jobs_file, [{"handler": "gret", "payload": {"n": 1}}])
    submit(shell, jobs_file)
    failed = jobs_file.with_name("jobs.ndjson.failed")
    failed.write_text(failed.read_text().replace("gret", "greet"))
    assert submit(shell, failed).code == 0
    assert payloads(shell) == [1]


def test_failures_go_where_they_are_asked_for(shell: Shell, jobs_file: Path) -> None:
    write(jobs_file, ["[]"])
    assert submit(shell, jobs_file, "--failed", "bad.ndjson").code == 1
    assert json.loads(Path("bad.ndjson").read_text())["line"] == 1


def test_the_file_of_jobs_is_not_overwritten_by_its_failures(shell: Shell, jobs_file: Path) -> None:
    write(jobs_file, ["[]"])
    assert submit(shell, jobs_file, "--failed", "./jobs.ndjson").code == 2
    assert jobs_file.read_text() == "[]\n"
    assert not record_of(jobs_file).exists()


def test_a_file_without_a_single_job_takes_no_memory_and_says_so(
    shell: Shell, jobs_file: Path
) -> None:
    jobs_file.write_text("handler,payload\n" * MANY)
    ran = submit(shell, jobs_file)
    assert ran.code == 1
    assert f"0 jobs accepted, {MANY:,} rejected" in ran.out
    assert ran.err.count("is not valid JSON") == 10
    assert shell.requests == []


@pytest.mark.parametrize("flag", [["--id", "x"], ["--idempotency-key", "x"]])
def test_a_name_of_one_job_is_not_given_to_many(
    shell: Shell, jobs_file: Path, flag: list[str]
) -> None:
    ran = submit(shell, jobs_file, *flag)
    assert (ran.code, shell.requests) == (2, [])


def test_a_file_that_is_not_there_is_wrong_usage(shell: Shell, tmp_path: Path) -> None:
    ran = submit(shell, tmp_path / "none.ndjson")
    assert ran.code == 2
    assert "cannot be read" in ran.err


# --- it breaks off ---


def test_an_api_that_is_gone_stops_it_and_the_same_command_goes_on(
    shell: Shell, jobs_file: Path
) -> None:
    shell.answer = Dying(shell, 1, refuse_connection)
    ran = submit(shell, jobs_file, "--parallel", "1")
    assert ran.code == 5
    assert "50 jobs accepted" in ran.out
    assert "Run the same command again to continue." in ran.err
    assert json.loads(record_of(jobs_file).read_text())["lines"] == 50
    shell.answer = shell.answer_as_api
    ran = submit(shell, jobs_file)
    assert ran.code == 0
    assert "Continuing the interrupted submission: 50 lines are done." in ran.err
    assert "70 jobs accepted" in ran.out
    assert payloads(shell) == list(range(LINES))
    assert not record_of(jobs_file).exists()


def test_where_nothing_was_begun_nothing_is_left_behind(shell: Shell, jobs_file: Path) -> None:
    shell.answer = refuse_connection
    assert submit(shell, jobs_file).code == 5
    assert list(jobs_file.parent.iterdir()) == [jobs_file]


def test_lost_answers_never_submit_a_line_twice(shell: Shell, jobs_file: Path) -> None:
    """Every answer of the first run is lost, though the API did what it was asked."""

    def lose(request: httpx.Request) -> httpx.Response:
        shell.answer_as_api(request)
        raise httpx.ReadError("the connection broke", request=request)

    shell.answer = lose
    assert submit(shell, jobs_file).code == 5
    assert len(shell.world.store.jobs()) > 0
    shell.answer = shell.answer_as_api
    assert submit(shell, jobs_file).code == 0
    assert payloads(shell) == list(range(LINES))


def test_a_process_that_is_killed_goes_on_without_a_line_lost_or_sent_twice(
    shell: Shell, jobs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies at once: nothing is written that was not written before."""

    class Killed(BaseException):
        pass

    def die(self: Any, *_: Any) -> None:
        raise Killed

    shell.answer = Dying(shell, 1, refuse_connection)
    with monkeypatch.context() as patch:
        patch.setattr("hourhand.cli.jobs.file_submission._Sending._leave_open", die)
        with pytest.raises(Killed):
            submit(shell, jobs_file, "--parallel", "1")
    assert record_of(jobs_file).exists()
    shell.answer = shell.answer_as_api
    assert submit(shell, jobs_file).code == 0
    assert payloads(shell) == list(range(LINES))


def test_ctrl_c_tells_what_is_known_and_the_same_command_goes_on(
    shell: Shell, jobs_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(self: Meter, count: int, failed: int, position: float) -> None:
        if count == 55:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Meter, "show", interrupt)
        ran = submit(shell, jobs_file)
    assert ran.code == 130
    accepted = len(shell.world.store.jobs())
    assert f"{accepted:,} jobs accepted" in ran.out
    went_on = submit(shell, jobs_file)
    assert went_on.code == 0
    assert f"{LINES:,} jobs accepted, 0 rejected" in went_on.out
    assert payloads(shell) == list(range(LINES))


@pytest.mark.parametrize("moment", [1, 25, 55, 68])
def test_a_run_that_goes_on_counts_and_keeps_each_refused_line_once(
    shell: Shell, jobs_file: Path, monkeypatch: pytest.MonkeyPatch, moment: int
) -> None:
    refused = {0, 1, 30, 49, 50, 65, LINES - 1}
    texts = [
        # Odd ones are no job at all, even ones are refused by the API.
        ("{" if number % 2 else json.dumps({"handler": "unknown"}))
        if number in refused
        else json.dumps(line(number))
        for number in range(LINES)
    ]
    jobs_file.write_text("\n".join(texts))

    def interrupt(self: Meter, count: int, failed: int, position: float) -> None:
        if count == moment:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Meter, "show", interrupt)
        assert submit(shell, jobs_file).code == 130
    went_on = submit(shell, jobs_file)

    assert f"{LINES - len(refused):,} jobs accepted, {len(refused)} rejected" in went_on.out
    kept = Path(f"{jobs_file}.failed").read_text().splitlines()
    assert sorted(json.loads(text)["line"] - 1 for text in kept) == sorted(refused)
    assert payloads(shell) == sorted(set(range(LINES)) - refused)


def test_ctrl_c_before_the_first_line_of_stdin_claims_nothing(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(source: object) -> Iterator[FileLine]:
        yield from ()
        raise KeyboardInterrupt

    monkeypatch.setattr("hourhand.cli.jobs.file_submission.read_lines", interrupt)
    ran = submit(shell, "-", stdin="")
    assert ran.code == 130
    assert "The submission is incomplete. 0 lines were read.\n" in ran.err


def test_what_stdin_held_and_is_not_known_to_be_submitted_is_kept(
    shell: Shell, jobs_file: Path
) -> None:
    shell.answer = Dying(shell, 1, refuse_connection)
    ran = submit(shell, "-", "--parallel", "1", stdin=jobs_file.read_text())
    assert ran.code == 5
    kept = [json.loads(text) for text in Path("failed.ndjson").read_text().splitlines()]
    assert kept[0]["line"] == 51
    assert f"{len(kept):,} of them may not be submitted" in ran.err
    shell.answer = shell.answer_as_api
    assert submit(shell, "failed.ndjson").code == 0
    numbers = payloads(shell)
    assert numbers == list(range(len(numbers)))


def test_a_job_of_a_throttled_batch_is_shown_with_its_fate_and_the_id_for_a_repeat(
    shell: Shell, jobs_file: Path
) -> None:
    def throttled(request: httpx.Request) -> httpx.Response:
        error = {"status": 503, "type": "urn:hourhand:unavailable", "detail": "Wait."}
        known = {f"j{n}": stored for n, stored in enumerate([True, False, None])}
        jobs = json.loads(request.content)["jobs"]
        results = [
            {"error": error, "id": job["id"], "stored": known.get(job.get("id"))} for job in jobs
        ]
        return httpx.Response(207, json={"results": results})

    write(jobs_file, [{"handler": "greet", "id": f"j{n}"} for n in range(12)])
    shell.answer = throttled
    ran = submit(shell, "-", stdin=jobs_file.read_text())
    assert ran.code == 5
    fates = [("j0", "yes"), ("j1", "no"), ("j2", "unknown")]
    reasons = [f"Wait. (stored: {stored}; safe to repeat as {job_id})" for job_id, stored in fates]
    for number, reason in enumerate(reasons, start=1):
        assert f"line {number}: {reason}\n" in ran.err
    assert ran.err.count("safe to repeat") == 10
    kept = [json.loads(text)["reason"] for text in Path("failed.ndjson").read_text().splitlines()]
    assert (kept[:3], len(kept)) == (reasons, 12)


def test_a_caller_who_may_not_submit_is_told_once(shell: Shell, jobs_file: Path) -> None:
    shell.answer = lambda request: httpx.Response(403, json={"message": "Forbidden"})
    ran = submit(shell, jobs_file)
    assert ran.code == 6
    assert ran.err.count("Forbidden") == 1


def test_a_changed_file_after_a_break_is_not_submitted(shell: Shell, jobs_file: Path) -> None:
    shell.answer = Dying(shell, 1, refuse_connection)
    submit(shell, jobs_file, "--parallel", "1")
    shell.answer = shell.answer_as_api
    with jobs_file.open("a") as file:
        file.write(json.dumps(line(LINES)) + "\n")
    ran = submit(shell, jobs_file)
    assert ran.code == 2
    assert "was interrupted after 50 lines" in ran.err
    assert len(shell.world.store.jobs()) == 50
