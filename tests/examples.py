"""How many examples a property is tried with: few all day, many in ``make check``."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
FEW = 25

# Bounded by the number of examples, never by the clock: a shared or slow machine is no fault of
# ours, and pytest's own timeout ends what hangs.
_UNHURRIED: dict[str, Any] = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=FEW, **_UNHURRIED)
settings.register_profile("ci", print_blob=True, **_UNHURRIED)


def examples(number: int, *, few: int = FEW, **others: Any) -> settings:
    """Return ``number`` examples for a property; under the profile ``dev``, a ``few``."""
    return settings(max_examples=number if PROFILE == "ci" else min(number, few), **others)
