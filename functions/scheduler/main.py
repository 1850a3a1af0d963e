"""The scheduler: EventBridge's tick, or shards that a leader handed over; one call, one report."""

from __future__ import annotations
