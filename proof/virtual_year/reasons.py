"""Whether the reason that is told for a nominal time without a job can be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from proof.virtual_year.books import Books
from proof.virtual_year.in_force import Nominal, Pause
from proof.virtual_year.nominal_times import Excluded, FireTable, is_excluded
from proof.virtual_year.schedule_mix import join

GRACE = timedelta(seconds=60)
"""A nominal time decided later than this was missed."""

CALENDAR_SPREAD = timedelta(minutes=12)
"""Around a nominal time any content of a calendar counts that held then: look-ahead and walk."""

MAX_NEIGHBOURS = 2000
"""How far back the one is looked for that the policy ``earliest`` ran."""


@dataclass(frozen=True)
class Reasons:
    """The judge of reasons."""

    books: Books
    table: FireTable

    def misfit(
        self, reason: str, index: int, nominals: Sequence[Nominal], pauses: Sequence[Pause]
    ) -> str | None:
        """Say why the reason of ``nominals[index]`` cannot be true, if it cannot."""
        nominal = nominals[index]
        if nominal.decided_at is None:
            return "no write decided it"
        match reason:
            case "excluded":
                may_be = _was_cut_off(nominal) or self.may_be_excluded(nominal, wanted=True)
                return None if may_be else "it was not"
            case "window":
                return None if _is_too_old(nominal) else "it was within the window"
            case "replaced" | "deleted":
                # So is what fell into a pause that was over, if nobody dealt with it by then.
                return None if _was_cut_off(nominal) else "its definition was in force"
            case "paused" | "misfire":
                # What fell into a pause longer than the window was given up without the policy.
                # And what fell into one and only an edited rule had is not "replaced".
                is_given_up = reason == "paused" and (_is_too_old(nominal) or _was_cut_off(nominal))
                return _misfit_of_missed(reason, nominal, pauses) or (
                    None if is_given_up else _misfit_of_policy(index, nominals)
                )
        return "it is no reason of a journal"

    def may_be_excluded(self, nominal: Nominal, *, wanted: bool) -> bool:
        """Whether by any content of its calendars around then it was excluded, or was not."""
        beat = nominal.span.beat
        contents = [beat.excluded]
        until = max(nominal.decided_at or nominal.at, nominal.at) + CALENDAR_SPREAD
        for name in beat.calendars:
            held = self._contents(name, nominal.at - CALENDAR_SPREAD, until)
            contents = [join(one, more) for one in contents for more in held]
        return any(
            is_excluded(nominal.at, one, beat.clockwork, self.table) is wanted for one in contents
        )

    def _contents(self, name: str, after: datetime, until: datetime) -> list[Excluded]:
        known = self.books.calendars[name]
        last = max((n for n, (at, _) in enumerate(known) if at <= after), default=0)
        return [content for at, content in known[last:] if at <= until] or [known[0][1]]


def _is_too_old(nominal: Nominal) -> bool:
    window = timedelta(seconds=nominal.ruling.definition.misfire.window_seconds)
    return nominal.decided_at is not None and nominal.at < nominal.decided_at - window


def _was_cut_off(nominal: Nominal) -> bool:
    """Whether it was decided when its definition had ended."""
    return nominal.decided_at is not None and nominal.decided_at >= nominal.span.end


def _misfit_of_missed(reason: str, nominal: Nominal, pauses: Sequence[Pause]) -> str | None:
    assert nominal.decided_at is not None
    was_paused = any(pause.start < nominal.at <= pause.end for pause in pauses)
    if reason == "paused":
        return None if was_paused else "it was not paused then"
    # Undecided as a pause began, it is dealt with as missed once the pause is over.
    over = (pause.end for pause in pauses if pause.end <= nominal.decided_at)
    if nominal.at > max([nominal.decided_at - GRACE, *over]):
        return "it was not late"
    return "it was paused then" if was_paused else None


def _misfit_of_policy(index: int, nominals: Sequence[Nominal]) -> str | None:
    """Whether the policy skips it: for a later missed one, for an earlier one, or always."""
    nominal = nominals[index]
    assert nominal.decided_at is not None
    match nominal.ruling.definition.misfire.policy.value:
        case "all":
            return "nothing is skipped under the policy all"
        case "latest":
            untaken = (["excluded"], ["replaced"])
            later = next((n for n in nominals[index + 1 :] if n.reasons not in untaken), None)
            if later is None or later.ruling is not nominal.ruling or later.at > nominal.decided_at:
                return "there was no later one"
        case "earliest":
            if not any(n.jobs for n in nominals[max(0, index - MAX_NEIGHBOURS) : index]):
                return "there was no earlier one"
    return None
