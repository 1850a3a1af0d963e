"""`hourhand schedules preview` of a schedule that there is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NoReturn

import pytest

from hourhand.cli.exits import NOT_FOUND, CommandError
from hourhand.cli.schedules.previewing import found
from hourhand.cli.session import Session
from hourhand.client import NotFound


@pytest.fixture
def session() -> Session:
    """Return a session in which there is no schedule."""

    def get(schedule_id: str) -> NoReturn:
        raise NotFound(f"There is no schedule {schedule_id}.")

    made = Session()
    # The client is cached under its name.
    made.__dict__["client"] = SimpleNamespace(schedules=SimpleNamespace(get=get))
    return made


def test_what_looks_like_an_expression_is_told_its_flag(session: Session) -> None:
    hinted = r"^There is no schedule 0 9 \* \* 1-5\. .* -x '0 9 \* \* 1-5'$"
    with pytest.raises(CommandError, match=hinted) as told:
        found(session, "0 9 * * 1-5")
    assert told.value.exit_code == NOT_FOUND


def test_what_looks_like_an_id_is_not(session: Session) -> None:
    with pytest.raises(NotFound, match=r"^There is no schedule nightly\.$"):
        found(session, "nightly")
