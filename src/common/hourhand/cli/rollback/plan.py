"""What a rollback moves and what pruning deletes, decided from what Lambda lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.cli.exits import NOT_FOUND, REFUSED, CommandError
from hourhand.cli.versions import FUNCTIONS, Installed, Published

LEAST_ID_LENGTH = 4
"""So many digits of a deployment's id are enough to name it, if no other begins with them."""

SETTLES_WITHIN = timedelta(hours=1)
"""Until so long after an alias moved nothing is pruned: a job of up to 14 minutes may still run
on the version that it left, with a margin for a clock that is off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Transition:
    """One alias to move: ``revision`` is what it was when it was looked at."""

    function: str
    old: int
    new: int
    revision: str


def target_of(installed: Installed, wanted: str | None) -> Published:
    """Return which deployment to move to; raise `CommandError` where there is none.

    ``wanted`` is the beginning of its id. Without it, the deployment before the newest one is
    meant, so that the same command given twice moves back once. If some aliases were already moved
    further back, it is the oldest of those that an alias is at, so that it ends what was begun.
    """
    published = installed.published
    if wanted is not None:
        return _named(published, wanted)
    if not published:
        raise CommandError(
            "No deployment has kept a version of each function. Deploy the version that you want.",
            REFUSED,
        )
    live = installed.live
    unknown = [name for name in FUNCTIONS if live[name] is None]
    if unknown:
        raise CommandError(
            f"The alias of {_listed(unknown)} is at a version that no complete deployment "
            "published. Choose a deployment with --to; --list shows them.",
            REFUSED,
        )
    oldest = max(published.index(at) for at in live.values() if at is not None)
    if oldest > 0:
        return published[oldest]
    if len(published) == 1:
        raise CommandError(
            f"There is no deployment before {published[0].deployment}. Deploy the version that you "
            "want.",
            REFUSED,
        )
    return published[1]


def moves_to(target: Published, installed: Installed) -> list[Transition]:
    """Return the aliases that are not there yet, in the order in which they move."""
    return [
        Transition(
            function=name,
            old=installed.aliases[name].number,
            new=target.numbers[name],
            revision=installed.aliases[name].revision,
        )
        for name in FUNCTIONS
        if installed.aliases[name].number != target.numbers[name]
        or installed.aliases[name].is_split
    ]


def to_prune(installed: Installed, keep: int, now: datetime) -> Mapping[str, Sequence[int]]:
    """Return the numbers of the versions to delete, oldest first, by function.

    The ``keep`` newest deployments stay, and what an alias is at. Raises `CommandError` within
    `SETTLES_WITHIN` of a move.
    """
    published = installed.published
    moved = [alias.rolled_back_at for alias in installed.aliases.values()]
    last = max(
        [each.at for each in published] + [at for at in moved if at is not None], default=now
    )
    if published and now - last < SETTLES_WITHIN:
        raise CommandError(
            "A deployment or a rollback moved the aliases within the last hour, so jobs may still "
            "run on earlier versions. Prune before a deployment, or an hour after it.",
            REFUSED,
        )
    kept = {
        name: {each.numbers[name] for each in published[:keep]} | {installed.aliases[name].number}
        for name in FUNCTIONS
    }
    return {
        name: sorted(
            version.number
            for version in installed.versions[name]
            # What is newer is a deployment that is not complete yet.
            if version.number not in kept[name] and version.number < max(kept[name])
        )
        for name in FUNCTIONS
    }


def _named(published: Sequence[Published], wanted: str) -> Published:
    found = [each for each in published if each.deployment.startswith(wanted.lower())]
    if len(wanted) < LEAST_ID_LENGTH or len(found) != 1:
        known = _listed([each.deployment for each in published]) or "none"
        raise CommandError(
            f"{wanted!r} does not identify one deployment. There are: {known}.",
            NOT_FOUND,
        )
    return found[0]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
