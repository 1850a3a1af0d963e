"""Every scenario that there is."""

from __future__ import annotations

from proof.explorer.economy_scenarios import ECONOMICAL
from proof.explorer.family_scenarios import FAMILIES
from proof.explorer.graph_scenarios import GRAPHS
from proof.explorer.job_scenarios import JOBS
from proof.explorer.leader_scenarios import LED
from proof.explorer.other_scenarios import OTHERS
from proof.explorer.pause_scenarios import PAUSED
from proof.explorer.rate_scenarios import RATES
from proof.explorer.record_scenarios import RECORDED
from proof.explorer.run_scenarios import DURABLE
from proof.explorer.schedule_scenarios import SCHEDULED
from proof.explorer.shard_scenarios import SHARDED
from proof.explorer.slot_scenarios import SLOTS
from proof.explorer.soon_scenarios import SOON
from proof.explorer.tick_scenarios import TICKED
from proof.explorer.unique_scenarios import KEYED
from proof.explorer.waiter_scenarios import WAITERS

_ALL = (
    *(*JOBS, *RECORDED, *SHARDED, *LED, *TICKED, *ECONOMICAL, *SOON),
    *(*PAUSED, *OTHERS, *SCHEDULED, *SLOTS, *WAITERS, *RATES, *KEYED, *DURABLE, *FAMILIES, *GRAPHS),
)

ALL = {each.name: each for each in _ALL}
"""By name."""
