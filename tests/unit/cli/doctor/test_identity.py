from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.cli.doctor.findings import NotSeen, Status
from hourhand.cli.doctor.identity import credentials, judge_clock, skew_of
from hourhand.domain.ticks.clock_skew import Skew
from hourhand.memory import START, MemoryClock
from tests.unit.cli.doctor.fakes import client_error, fake_aws, statuses

SECOND = timedelta(seconds=1)


def test_who_asks_is_told_with_the_region() -> None:
    aws = fake_aws({"sts.get_caller_identity": {"Arn": "arn:aws:iam::1:user/ada"}})
    (finding,) = credentials(aws)
    assert finding.seen == "arn:aws:iam::1:user/ada in eu-central-1"


def test_credentials_that_ran_out_are_told_and_still_show_the_clock() -> None:
    # AWS's Date says 09:00:00; this machine believes it is 20 minutes later.
    clock = MemoryClock(START + timedelta(minutes=20))
    aws = fake_aws({"sts.get_caller_identity": client_error("SignatureDoesNotMatch")}, clock)
    with pytest.raises(NotSeen) as raised:
        list(credentials(aws))
    finding = raised.value.of("credentials")
    assert finding.status is Status.FAILED
    assert "renew them" in finding.fix
    assert statuses([judge_clock(skew_of(aws))]) == [Status.FAILED]


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (-0.2, 0.9, Status.OK),
        (0.9, 1.9, Status.OK),
        (1.2, 2.2, Status.WARNING),
        (-3.0, -2.0, Status.WARNING),
        (301, 302, Status.FAILED),
        (-302, -301, Status.FAILED),
    ],
)
def test_a_clock_is_off_only_beyond_doubt(low: float, high: float, status: Status) -> None:
    assert statuses([judge_clock(Skew(low * SECOND, high * SECOND))]) == [status]


def test_without_an_answer_nothing_is_said_against_the_clock() -> None:
    assert statuses([judge_clock(skew_of(fake_aws({})))]) == [Status.SKIPPED]
