"""The demo itself, smaller and quicker: it must do all that it says, and judge it right."""

from __future__ import annotations

from hourhand.local.cloud import LocalCloud
from hourhand.local.demo.plan import Step
from hourhand.local.demo.run import Demo, DemoOptions, Progress
from hourhand.local.demo.verdict import Group
from hourhand.local.news import News


class Notes:
    """A screen that keeps what it is shown."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.progress: list[Progress] = []

    def started(self, cloud: LocalCloud, plan: list[Step]) -> None:
        self.said.append(f"started {cloud.url} with {len(plan)} steps")

    def say(self, seconds: float, text: str) -> None:
        self.said.append(text)

    def heard(self, news: News) -> None:
        pass

    def show(self, progress: Progress) -> None:
        self.progress.append(progress)


def test_whatever_is_done_to_the_system_every_job_ends_as_it_should() -> None:
    notes = Notes()
    outcome = Demo(DemoOptions(jobs=80, workers=2, pace=2.5), notes).run()
    verdict = outcome.verdict
    assert verdict.problems == ()
    ran = sum(tally.ran for tally in verdict.schedules)
    assert sum(verdict.by_status.values()) == 80 + ran
    assert verdict.by_status["DEAD"] == 2
    assert verdict.by_status["CANCELLED"] == 1
    assert verdict.dead_letters == 2
    # What was done is seen: messages were lost and found, and jobs came due without a leader.
    assert verdict.lateness[Group.PURGED].jobs >= 1
    assert verdict.dispatched_again >= 1
    assert verdict.leaderless.jobs >= 1
    assert outcome.hand_off_seconds is not None
    assert any("killed the leader in mid-tick" in text for text in notes.said)
    # The schedules fired all the while, and each of their times came once.
    assert len(verdict.schedules) == 2
    assert all(tally.ran == tally.expected >= 2 for tally in verdict.schedules)
    assert outcome.clock_change.problems == ()
    assert outcome.problems == ()
    assert any("purged all three queues" in text for text in notes.said)
    assert notes.progress[-1].submitted == notes.progress[-1].planned == 80
