"""``hourhand rollback``: where it goes, what it prints, and what holds if a call fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError
from typer.testing import CliRunner, Result

from hourhand.cli.main import app
from hourhand.cli.rollback import moving
from hourhand.memory import START
from tests.unit.cli.doctor.fakes import client_error
from tests.unit.cli.rollback.lambdas import DAY, FUNCTIONS, A, B, C, D, FakeLambda

RUNNER = CliRunner(env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> FakeLambda:
    made = FakeLambda()
    monkeypatch.setattr("hourhand.cli.doctor.asking.open_aws", made.aws)
    return made


def run(*arguments: str) -> Result:
    return RUNNER.invoke(app, ["rollback", *arguments])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def deployed(cloud: FakeLambda) -> FakeLambda:
    for deployment in (A, B, C):
        cloud.deploy(deployment)
    return cloud


def test_it_moves_every_alias_to_the_deployment_before_and_says_so_first(
    deployed: FakeLambda,
) -> None:
    result = run("--yes")
    assert result.exit_code == 0, result.output
    assert deployed.numbers() == [2, 2, 2]
    assert f"moves to deployment {B} (Hourhand 0.1.0" in result.stderr
    assert "  worker: version 3 -> 2" in result.stderr
    assert [line for line in result.stdout.splitlines() if line] == [
        f"Moved {name}: version 3 -> 2." for name in FUNCTIONS
    ]
    assert "The next deployment that changes a function" in result.stderr


def test_given_twice_it_goes_back_once(deployed: FakeLambda) -> None:
    assert run("--yes").exit_code == 0
    again = run("--yes")
    assert again.exit_code == 0
    assert "Nothing to do" in again.stdout
    assert deployed.numbers() == [2, 2, 2]


def test_without_a_yes_nothing_moves(deployed: FakeLambda) -> None:
    result = run()
    assert result.exit_code == 2
    assert "Confirm with --yes" in result.stderr
    assert ("update", "api") not in deployed.calls


@pytest.mark.parametrize(("wanted", "numbers"), [(A, 1), ("AAAA", 1), (B, 2), (C, 3)])
def test_a_deployment_is_named_by_the_beginning_of_its_id(
    deployed: FakeLambda, wanted: str, numbers: int
) -> None:
    assert run("--yes", "--to", wanted).exit_code == 0
    assert deployed.numbers() == [numbers] * 3


def test_it_goes_forward_again_by_name(deployed: FakeLambda) -> None:
    assert run("--yes").exit_code == 0
    assert run("--yes", "--to", C).exit_code == 0
    assert deployed.numbers() == [3, 3, 3]


@pytest.mark.parametrize("wanted", ["eeee", "aaa", ""])
def test_a_name_that_is_of_none_is_refused(deployed: FakeLambda, wanted: str) -> None:
    result = run("--yes", "--to", wanted)
    assert result.exit_code == 3
    assert f"There are: {C}, {B}, {A}." in result.stderr
    assert deployed.numbers() == [3, 3, 3]


def test_with_one_deployment_there_is_nothing_to_go_back_to(cloud: FakeLambda) -> None:
    cloud.deploy(A)
    result = run("--yes")
    assert result.exit_code == 4
    assert "There is no deployment before" in result.stderr


def test_without_any_deployment_it_says_so(cloud: FakeLambda) -> None:
    cloud.deploy(A)
    for name in FUNCTIONS:
        cloud.versions[name][1]["Description"] = "by hand"
    result = run("--yes")
    assert result.exit_code == 4
    assert "No deployment has kept" in result.stderr
    assert "has no earlier deployment" in run("--list").stderr


def test_what_a_deployment_left_half_made_is_no_place_to_go_back_to(cloud: FakeLambda) -> None:
    cloud.deploy(A)
    cloud.deploy(B, ("api",))
    cloud.deploy(C)
    assert run("--yes").exit_code == 0
    assert cloud.numbers() == [1, 1, 1]


def test_the_same_deployment_made_twice_is_one_and_the_newer(cloud: FakeLambda) -> None:
    for deployment in (A, B, A):
        cloud.deploy(deployment)
    assert run("--yes").exit_code == 0
    assert cloud.numbers() == [2, 2, 2]


def test_an_alias_at_a_version_of_no_deployment_wants_a_name(deployed: FakeLambda) -> None:
    deployed.versions["worker"][3]["Description"] = "by hand"
    result = run("--yes")
    assert result.exit_code == 4
    assert "at a version that no complete deployment published" in result.stderr
    assert run("--yes", "--to", A).exit_code == 0
    assert deployed.numbers() == [1, 1, 1]


# --- half done ----------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", FUNCTIONS)
def test_a_call_that_fails_leaves_what_was_moved_and_says_how_to_go_on(
    deployed: FakeLambda, failing: str
) -> None:
    def refuse(name: str) -> None:
        if name == failing:
            raise client_error("AccessDeniedException")

    deployed.before["update"] = refuse
    result = run("--yes")
    done = FUNCTIONS.index(failing)
    assert result.exit_code == 1
    assert deployed.numbers() == [2] * done + [3] * (3 - done)
    assert f"Not moved: {', '.join(FUNCTIONS[done:])}." in result.stderr
    assert "lacks lambda:UpdateAlias" in result.stderr
    assert f"hourhand rollback --stack hourhand-dev --to {B}" in result.stderr
    deployed.before.clear()
    # Plainly again: it ends what was begun, and goes no further back.
    assert run("--yes").exit_code == 0
    assert deployed.numbers() == [2, 2, 2]


def test_an_answer_that_is_lost_after_the_move_is_no_failure(deployed: FakeLambda) -> None:
    def lose(name: str) -> None:
        raise ReadTimeoutError(endpoint_url="https://lambda")

    deployed.after["update"] = lose
    assert run("--yes").exit_code == 0
    assert deployed.numbers() == [2, 2, 2]


def test_a_deployment_that_moves_an_alias_meanwhile_is_not_undone(deployed: FakeLambda) -> None:
    def deploy(name: str) -> None:
        if name == "worker":
            deployed.before.clear()
            deployed.deploy(D)

    deployed.before["update"] = deploy
    result = run("--yes")
    assert result.exit_code == 1
    assert "Not moved: worker. another process moved the alias of worker" in result.stderr
    assert deployed.numbers() == [4, 4, 4]


def test_a_gradual_shift_is_ended(deployed: FakeLambda) -> None:
    assert run("--yes").exit_code == 0
    for alias in deployed.aliases.values():
        alias["RoutingConfig"] = {"AdditionalVersionWeights": {"3": 0.1}}
    assert run("--yes").exit_code == 0
    assert not any(
        a["RoutingConfig"]["AdditionalVersionWeights"] for a in deployed.aliases.values()
    )


def test_while_a_deployment_runs_nothing_is_moved_or_pruned(deployed: FakeLambda) -> None:
    deployed.status = "UPDATE_IN_PROGRESS"
    for arguments in ([], ["--prune"]):
        result = run("--yes", *arguments)
        assert result.exit_code == 4
        assert "is running" in result.stderr
    assert run("--list").exit_code == 0
    assert deployed.numbers() == [3, 3, 3]


def test_what_cannot_be_read_is_a_sentence(deployed: FakeLambda) -> None:
    def refuse(name: str) -> None:
        raise client_error("AccessDeniedException")

    deployed.before["list"] = refuse
    result = run("--yes")
    assert result.exit_code == 1
    assert "lacks lambda:ListVersionsByFunction" in result.stderr


def test_a_stack_that_is_not_there_or_not_ours_is_a_sentence(deployed: FakeLambda) -> None:
    assert run("--stack", "other").exit_code == 3
    del deployed.outputs["WorkerFunction"]
    result = run("--yes")
    assert result.exit_code == 1
    assert "no output WorkerFunction" in result.stderr


def test_only_one_thing_at_a_time(deployed: FakeLambda) -> None:
    assert run("--list", "--prune").exit_code == 2
    assert run("--list", "--to", A).exit_code == 2


# --- listing ------------------------------------------------------------------------------------


def test_the_list_names_each_deployment_and_what_is_live(deployed: FakeLambda) -> None:
    run("--yes")
    rows = [line.split() for line in run("--list", "--utc").stdout.splitlines() if line.strip()]
    assert [row[0] for row in rows[1:]] == [C, B, A]
    assert rows[1][-1] == "newest"
    assert rows[2][-1] == "live"
    assert rows[3][2:] == ["2026-01-05", "09:00:00Z", "1", "1", "1"]


def test_the_list_as_json_says_where_each_alias_is(deployed: FakeLambda) -> None:
    deployed.aliases["api"]["FunctionVersion"] = "1"
    listed = lines(run("--list", "--json"))
    assert [(each["deployment"], each["live"]) for each in listed] == [
        (C, ["scheduler", "worker"]),
        (B, []),
        (A, ["api"]),
    ]
    assert listed[0] == {
        "deployment": C,
        "release": "0.1.0",
        "published_at": (START + 2 * DAY).isoformat(),
        "versions": {"api": 3, "scheduler": 3, "worker": 3},
        "is_newest": True,
        "live": ["scheduler", "worker"],
    }
    assert "live: api" in run("--list").stdout


def test_what_was_done_is_one_object_of_json(deployed: FakeLambda) -> None:
    (done,) = lines(run("--yes", "--json"))
    assert done == {
        "stack": "hourhand-dev",
        "deployment": B,
        "release": "0.1.0",
        "moved": [{"function": name, "from": 3, "to": 2} for name in FUNCTIONS],
        "not_moved": [],
        "reason": None,
    }
    (again,) = lines(run("--yes", "--json"))
    assert (again["deployment"], again["moved"]) == (B, [])


# --- pruning ------------------------------------------------------------------------------------


def kept(cloud: FakeLambda) -> list[list[int]]:
    return [sorted(cloud.versions[name]) for name in FUNCTIONS]


def test_pruning_keeps_the_newest_and_what_is_live(deployed: FakeLambda) -> None:
    deployed.deploy(D)
    assert run("--yes", "--to", A).exit_code == 0
    deployed.clock.advance(3600)
    result = run("--prune", "--keep", "2", "--yes")
    assert result.exit_code == 0, result.output
    assert kept(deployed) == [[1, 3, 4]] * 3
    assert "1 of api, 1 of scheduler, 1 of worker" in result.stdout
    assert deployed.numbers() == [1, 1, 1]


def test_by_default_ten_deployments_stay(cloud: FakeLambda) -> None:
    for number in range(12):
        cloud.deploy(f"{number:012x}")
    assert run("--prune", "--yes").exit_code == 0
    assert kept(cloud) == [list(range(3, 13))] * 3
    (again,) = lines(run("--prune", "--json"))
    assert again == {
        "deleted": {name: [] for name in FUNCTIONS},
        "refused": [],
        "more": 0,
    }


def test_what_somebody_published_by_hand_stays(deployed: FakeLambda) -> None:
    deployed.versions["worker"][1]["Description"] = "by hand"
    assert run("--prune", "--keep", "2", "--yes").exit_code == 0
    assert kept(deployed) == [[2, 3], [2, 3], [1, 2, 3]]


def test_nothing_is_pruned_while_jobs_may_run_on_what_was_live(deployed: FakeLambda) -> None:
    assert run("--yes").exit_code == 0
    deployed.clock.advance(3599)
    result = run("--prune", "--keep", "2", "--yes")
    assert result.exit_code == 4
    assert "within the last hour" in result.stderr
    deployed.clock.advance(1)
    assert run("--prune", "--keep", "2", "--yes").exit_code == 0


def test_nothing_is_pruned_right_after_a_deployment(deployed: FakeLambda) -> None:
    deployed.clock = type(deployed.clock)(START + 2 * DAY)
    assert run("--prune", "--keep", "2", "--yes").exit_code == 4
    assert kept(deployed) == [[1, 2, 3]] * 3


def test_a_version_that_lambda_keeps_is_told_and_the_rest_is_deleted(
    deployed: FakeLambda,
) -> None:
    def refuse(name: str) -> None:
        if name == "api":
            raise client_error("ResourceConflictException", "it is referenced by an alias", 409)

    deployed.before["delete"] = refuse
    result = run("--prune", "--keep", "2", "--yes")
    assert result.exit_code == 1
    assert "Not deleted: hourhand-dev-api:1" in result.stderr
    assert kept(deployed) == [[1, 2, 3], [2, 3], [2, 3]]


def test_pruning_without_the_right_to_ends_at_the_first(deployed: FakeLambda) -> None:
    def refuse(name: str) -> None:
        raise client_error("AccessDeniedException")

    deployed.before["delete"] = refuse
    result = run("--prune", "--keep", "2", "--yes")
    assert result.exit_code == 1
    assert "lacks lambda:DeleteFunction" in result.stderr
    assert [kind for kind, _ in deployed.calls].count("delete") == 1


def test_one_run_deletes_so_many_and_says_that_there_are_more(
    deployed: FakeLambda, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MAX_PRUNED", 1)
    deployed.deploy(D)
    result = run("--prune", "--keep", "2", "--yes")
    assert "3 more can be deleted" in result.stderr
    assert kept(deployed) == [[2, 3, 4]] * 3
