"""What `make prove` explores, and how far; the tests explore less of it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proof.explorer.economy_scenarios import ECONOMICAL
from proof.explorer.leader_scenarios import LED
from proof.explorer.other_scenarios import OTHERS
from proof.explorer.pause_scenarios import PAUSED
from proof.explorer.scenario import Limits
from proof.explorer.scenarios import ALL
from proof.explorer.soon_scenarios import SOON
from proof.explorer.tick_scenarios import TICKED
from proof.explorer.unique_scenarios import KEYED


@dataclass(frozen=True, slots=True)
class Exploration:
    """One scenario under one set of limits. ``must_end``: it is wrong not to see every state."""

    scenario: str
    limits: Limits
    must_end: bool = False


SMALL = (*LED, *TICKED, *SOON, *PAUSED, *OTHERS)
"""Those that show one rule each, most of them with a look of their own at what came of it."""

LONGER = frozenset(
    {
        *("late-death", "late-and-hidden", "stalls", "unreadable", "visits-skipped", "called"),
        *("economy", "economy-lost"),
    }
)
"""Those that take some seconds or more, and are left to `make prove`."""

FAST: tuple[Exploration, ...] = (
    Exploration("one-job", Limits(crashes=1, expiries=1)),
    *(
        Exploration(name, ALL[name].limits)
        for name in (
            *("cancel", "ahead", "batch", "change", "key", "fan-out", "messages-alone"),
            *("visits", "visits-quota", "paused", "replaced", "withdrawn", "overlap-skip"),
            *("deleted", "adopted", "pause-on-failure", "full-stopped"),
            *("full-left", "full-handed-back", "full-lost"),
            *("full-waiting", "full-missed", "full-expired", "stopped", "stopped-and-lost"),
            *("stopped-twice", "kept-back", "redriven-twice", "redriven-success"),
            *("key-taken", "key-anew", "shards-shrink"),
            *("discarded-twice", "copied-discard", "full-discarded"),
            *("shards-warm", "fan-out-refused", "slot-shards", "waiter-stray"),
            *("compensation", "compensation-redrive", "compensation-unkept"),
            *("compensation-fails", "compensation-new-keys", "compensation-fresh"),
            *(each.name for each in KEYED),
            *(each.name for each in (*ECONOMICAL, *SMALL) if each.name not in LONGER),
        )
    ),
)
"""In the ordinary tests."""

MOST_STATES = 600_000
"""Of a scenario that is not explored to its end: half a minute of one core."""

LARGE = frozenset(
    {
        *("messages", "dead", "last-attempt", "expires", "put-off", "aging", "missed", "skewed"),
        *("watermark-retry", "shards", "visits-stalled", "late-and-hidden"),
        *("slot-change", "slot-cancel", "slot-lowered", "slot-retry-dup", "slot-seats"),
        "slot-replace",
    }
)
"""Those with more states than that; every other one must be explored to its end."""

WALKED = frozenset(
    name
    for name, scenario in ALL.items()
    if scenario.sweeps and scenario.punctual is None and all(scenario is not each for each in SMALL)
)
"""Where any number of any faults may happen: what the others expect holds within their limits."""

RUNS: tuple[Exploration, ...] = (
    Exploration("one-job", Limits(crashes=1, expiries=1), must_end=True),
    Exploration("one-job", Limits(crashes=1, expiries=2, only_leases=True), must_end=True),
    # With time that stops at every instant that matters: over ten million states, a part of them.
    Exploration("one-job", Limits(crashes=1, expiries=2, max_states=2_000_000)),
    *(
        Exploration(
            name, replace(scenario.limits, max_states=MOST_STATES), must_end=name not in LARGE
        )
        for name, scenario in ALL.items()
        if name != "one-job"
    ),
)
"""In `make prove`."""
