"""The small parts: contexts, pauses, clocks, the environment, where functions lie."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from hourhand.domain.errors import NotFound
from hourhand.domain.ticks.timings import SQS_MAX_VISIBILITY, Timings
from hourhand.local.entry_points import (
    LocalContext,
    examples_path,
    functions_folder,
    load_entry_point,
)
from hourhand.local.environment import (
    allow_current_folder,
    cloud_environment,
    function_environment,
    replaced_environment,
)
from hourhand.local.event_source import Pause
from hourhand.local.scaled_clock import ScaledClock, stretched
from hourhand.settings import Settings, read_settings

START = datetime(2026, 1, 5, tzinfo=UTC)


class Hands:
    """A monotonic clock that is moved by hand, or by sleeping."""

    def __init__(self) -> None:
        self.at = 100.0

    def read(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += seconds


# --- contexts and pauses ---


def test_a_context_counts_its_time_down_to_nothing() -> None:
    hands = Hands()
    context = LocalContext(
        function_name="worker", aws_request_id="r-1", limit_seconds=10, monotonic=hands.read
    )
    assert context.get_remaining_time_in_millis() == 10_000
    hands.sleep(9.5)
    assert context.get_remaining_time_in_millis() == 500
    hands.sleep(10)
    assert context.get_remaining_time_in_millis() == 0
    assert context.invoked_function_arn.endswith(":function:worker")


def test_pauses_grow_to_a_bound_and_start_again_after_work() -> None:
    pause = Pause(shortest_seconds=0.1, longest_seconds=0.3)
    assert [pytest.approx(0.1), pytest.approx(0.15)] == [pause.next(), pause.next()]
    assert max(pause.next() for _ in range(10)) == 0.3
    pause.reset()
    assert pause.next() == 0.1


# --- the scaled clock ---


def test_a_scaled_clock_lets_a_minute_pass_in_a_second() -> None:
    hands = Hands()
    clock = ScaledClock(START, 60, monotonic=hands.read, sleep=hands.sleep)
    hands.sleep(1)
    assert clock.now() == START + timedelta(minutes=1)
    clock.sleep(30)
    assert clock.monotonic() == pytest.approx(90)
    clock.sleep(-1)
    assert clock.monotonic() == pytest.approx(90)


def test_a_scaled_clock_can_be_corrected() -> None:
    hands = Hands()
    clock = ScaledClock(START, 1, monotonic=hands.read, sleep=hands.sleep)
    clock.correct(timedelta(seconds=-3))
    clock.correct(timedelta(seconds=1))
    assert clock.now() == START - timedelta(seconds=2)
    assert clock.monotonic() == 0


def test_leases_last_as_long_in_real_time_whatever_the_speed() -> None:
    timings = stretched(Timings(), 60)
    assert timings.job_lease == 60 * Timings().job_lease
    assert timings.stall_bound == 60 * Timings().stall_bound
    assert timings.trail >= timings.confirm_gap + timings.stall_bound
    assert timings.look_ahead == Timings().look_ahead


def test_stretched_timings_stay_within_what_sqs_takes() -> None:
    assert stretched(Timings(), 3600).visibility == SQS_MAX_VISIBILITY


def test_a_slow_clock_shortens_no_lease() -> None:
    assert stretched(Timings(), 0.5).job_lease == Timings().job_lease


# --- the environment ---


def test_no_real_account_is_left_in_the_environment() -> None:
    own = {"AWS_PROFILE": "production", "AWS_ENDPOINT_URL_SQS": "https://x", "PATH": "/bin"}
    environment = cloud_environment(own, "http://127.0.0.1:1", keeps_credentials=False)
    assert "AWS_PROFILE" not in environment
    assert "AWS_ENDPOINT_URL_SQS" not in environment
    assert environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert environment["AWS_ACCESS_KEY_ID"] == "local"
    assert environment["AWS_CONFIG_FILE"] == os.devnull
    assert environment["PATH"] == "/bin"


def test_an_endpoint_of_the_users_own_is_given_their_credentials() -> None:
    own = {"AWS_ACCESS_KEY_ID": "mine", "AWS_PROFILE": "emulator"}
    environment = cloud_environment(own, "http://127.0.0.1:1", keeps_credentials=True)
    assert environment["AWS_ACCESS_KEY_ID"] == "mine"
    assert environment["AWS_PROFILE"] == "emulator"
    assert "AWS_CONFIG_FILE" not in environment
    assert environment["AWS_REGION"]


def test_a_proxy_does_not_get_between_us_and_loopback() -> None:
    environment = cloud_environment(
        {"NO_PROXY": "intranet"}, "http://127.0.0.1:1", keeps_credentials=False
    )
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost,::1"
    assert environment["no_proxy"] == "127.0.0.1,localhost,::1"


def test_functions_find_their_settings_and_the_given_path_first() -> None:
    settings = Settings(jobs_table="jobs", timings=Timings().scaled(0.5))
    environment = function_environment({"PYTHONPATH": "/mine"}, settings, path="/examples")
    assert environment["PYTHONPATH"] == os.pathsep.join(["/examples", "/mine"])
    assert read_settings(environment, ()).jobs_table == "jobs"
    assert read_settings(environment, ()).timings == settings.timings
    assert "PYTHONPATH" not in function_environment({}, settings)


def test_a_replaced_environment_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOURHAND_TEST_OWN", "mine")
    before = dict(os.environ)
    with replaced_environment({"ONLY": "this"}):
        assert dict(os.environ) == {"ONLY": "this"}
    assert dict(os.environ) == before


def test_the_current_folder_comes_behind_what_pythonpath_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["/first", "/second"]))
    monkeypatch.setattr(sys, "path", ["/first", "/second", "/library"])
    allow_current_folder()
    assert sys.path == ["/first", "/second", str(tmp_path), "/library"]


# --- where functions lie ---


def test_a_checkout_and_a_wheel_have_the_functions_in_different_places(tmp_path: Path) -> None:
    package = tmp_path / "site" / "a" / "hourhand"
    (tmp_path / "functions").mkdir()
    assert functions_folder(package) == tmp_path / "functions"
    (package / "_functions").mkdir(parents=True)
    assert functions_folder(package) == package / "_functions"


def test_examples_are_found_by_the_folder_above_them(tmp_path: Path) -> None:
    package = tmp_path / "site" / "a" / "hourhand"
    (package / "_examples" / "examples").mkdir(parents=True)
    assert examples_path(package) == package / "_examples"


def test_an_installation_without_functions_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="_functions"):
        functions_folder(tmp_path / "a" / "b" / "hourhand")


def test_a_function_that_does_not_exist_is_told() -> None:
    with pytest.raises(NotFound, match="no_such"):
        load_entry_point("no_such")


@pytest.mark.parametrize("function", ["api", "scheduler", "worker"])
def test_every_function_is_loaded_without_an_environment(function: str) -> None:
    assert callable(load_entry_point(function))
