"""Time zones, from the pinned package ``tzdata`` alone: every function knows the same rules."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from hourhand.domain.schedules.rule import BadExpression

_MAX_NAME_LENGTH = 64
_MAX_SUGGESTIONS = 3


@cache
def zone_names() -> frozenset[str]:
    """Return every name that the time zone database knows."""
    return frozenset(files("tzdata").joinpath("zones").read_text("utf-8").split())


def zone_named(name: str) -> ZoneInfo:
    """Return the zone of that IANA name.

    Raises `BadExpression` with the closest names where there is none. Only names on the
    database's own list are ever made into a path.
    """
    if len(name) > _MAX_NAME_LENGTH or name not in zone_names():
        raise BadExpression(_unknown(name[:_MAX_NAME_LENGTH]))
    return _load(name)


@cache  # Bounded by the list of names.
def _load(name: str) -> ZoneInfo:
    with files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as file:
        return ZoneInfo.from_file(file, key=name)


def _unknown(name: str) -> str:
    by_folded = {known.casefold(): known for known in sorted(zone_names())}
    by_city = {folded.rpartition("/")[2]: known for folded, known in by_folded.items()}
    wanted = name.strip().replace(" ", "_").casefold()
    close = [by_folded[wanted]] if wanted in by_folded else []
    for index in (by_folded, by_city):
        close += [index[key] for key in get_close_matches(wanted, index, _MAX_SUGGESTIONS, 0.75)]
    names = list(dict.fromkeys(close))[:_MAX_SUGGESTIONS]
    hint = f" Did you mean {' or '.join(names)}?" if names else ""
    return f"There is no time zone {name!r}: use an IANA name such as Europe/Berlin.{hint}"
