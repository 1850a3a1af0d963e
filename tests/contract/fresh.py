"""Names and days that no other test uses: the tables are shared, and their indexes too."""

from __future__ import annotations

import itertools
from datetime import datetime, timedelta

from hourhand.memory import START

_NUMBERS = itertools.count(1)


def new_id() -> str:
    return f"job-{next(_NUMBERS)}"


def new_day() -> datetime:
    return START + next(_NUMBERS) * timedelta(days=2)
