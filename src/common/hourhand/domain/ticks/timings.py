"""Every default duration of the protocol, in one place, with the reason for its length."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import timedelta

SQS_MAX_DELAY = timedelta(seconds=900)
"""The longest DelaySeconds that SQS takes (SQS API reference, SendMessage)."""

SQS_MAX_VISIBILITY = timedelta(hours=12)
"""The longest visibility timeout that SQS takes (SQS API reference, ChangeMessageVisibility)."""


TICKS_THAT_OUTLAST = 5
"""300 s of look-ahead at a tick of 60 s: see `Timings.look_ahead`."""


def _seconds(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """The protocol's durations. Tests and the demo may shorten them, and say so.

    ``look_ahead``: how far before it is due a job's message is sent. 180 s fails: a leader that
    dies 50 s into its tick, then a lost tick, then 20 s of EventBridge jitter makes jobs 80 s
    late; at 300 s none is.
    ``leader_lease``: with its margin shorter than a tick, so that the next tick can take over.
    ``job_lease`` < ``visibility``: so that a redelivered message can claim at once.
    ``clock_margin``: at least twice the clock skew that is tolerated without correction.
    ``first_look_back``: where a new installation starts to read. Its scheduler may have had its
    first good tick long after its API took the first job.
    ``trail``: a bucket is closed only this long after its end; at least
    2 x skew + stall + index lag.
    ``handler_grace``: how long a job waits for a deploy to bring its handler, before it fails:
    longer than a gradual shift keeps most calls on the old version. Those that CodeDeploy has
    ready made are over by then (canaries, of 30 minutes at most), or past the half (10 % each 10
    minutes), so that of the many looks one finds the new version.
    ``delay_rounding``: SQS takes delays in whole seconds. This is added to a delay before its
    fraction is cut: 0 s rounds down, and the worker waits for the rest inside a billed call;
    0.5 s rounds to nearest; just under 1 s rounds up, and jobs are late by that much (ADR 18).
    """

    tick: timedelta = _seconds(60)
    look_ahead: timedelta = _seconds(300)
    leader_lease: timedelta = _seconds(30)
    job_lease: timedelta = _seconds(45)
    visibility: timedelta = _seconds(60)
    heartbeat: timedelta = _seconds(15)
    clock_margin: timedelta = _seconds(2)
    early_wait: timedelta = _seconds(2)
    redispatch_first: timedelta = _seconds(60)
    redispatch_backoff_cap: timedelta = _seconds(900)
    redispatch_hard_cap: timedelta = _seconds(1800)
    aging_wait: timedelta = _seconds(3600)
    stall_bound: timedelta = _seconds(5)
    index_lag: timedelta = _seconds(45)
    trail: timedelta = _seconds(60)
    skew_widens: timedelta = _seconds(1)
    skew_refuses: timedelta = _seconds(30)
    first_look_back: timedelta = timedelta(days=1)
    deep_reread: timedelta = timedelta(days=1)
    payload_kept: timedelta = timedelta(days=90)
    payload_renewed_below: timedelta = timedelta(days=60)
    control_cache: timedelta = _seconds(30)
    handler_grace: timedelta = _seconds(3600)
    delay_rounding: timedelta = _seconds(0.5)

    @property
    def outlasts_a_lost_tick(self) -> bool:
        """Whether no job is late after a leader that died and a tick that was lost.

        Five ticks of look-ahead are enough; scaled ones may be off by a rounding.
        """
        return round(self.look_ahead / self.tick, 2) >= TICKS_THAT_OUTLAST

    @property
    def confirm_gap(self) -> timedelta:
        """How long before its last look a bucket must have been seen empty to be closed."""
        return self.index_lag + 2 * self.skew_widens

    @property
    def settling(self) -> timedelta:
        """How long after a write every sweep is sure to see it, by any component's clock."""
        return self.confirm_gap + self.stall_bound

    @property
    def precise(self) -> Timings:
        """The same, with delays rounded down: for where no worker's waiting is billed."""
        return replace(self, delay_rounding=timedelta(0))

    def scaled(self, factor: float) -> Timings:
        """All protocol durations multiplied by ``factor``, for tests and demonstrations.

        Days-long retentions stay; so does the stall bound, which a slow machine must not trip, and
        the rounding, which follows from SQS's own unit.
        The trail is never cut below what the others need.
        """
        kept = {
            "stall_bound",
            "deep_reread",
            "payload_kept",
            "payload_renewed_below",
            "delay_rounding",
        }
        scaled = Timings(
            **{
                f.name: getattr(self, f.name) * (1 if f.name in kept else factor)
                for f in fields(self)
            },
        )
        return replace(scaled, trail=max(scaled.trail, scaled.confirm_gap + scaled.stall_bound))

    def shortened(self, factor: float) -> Timings:
        """The same as `scaled`, for a cloud in real time.

        SQS counts delays in whole seconds, so the wait before a claim stays.
        """
        return replace(self.scaled(factor), early_wait=self.early_wait)
