"""Mutants of the watermark, of clocks, and of who leads."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_CONTROL = "hourhand.memory.control_store"
_LEASES = "hourhand.domain.ticks.leases"
_LEADERSHIP = "hourhand.services.ticks.leadership"
_RESWEEP = "hourhand.domain.ticks.resweep"
_SCHEDULING = "hourhand.services.ticks.tick"
_SKEW_AUDIT = "hourhand.services.ticks.clock_audit"
_SWEEP = "hourhand.services.ticks.sweep"
_TIMINGS = "hourhand.domain.ticks.timings"
_WATERMARK = "hourhand.domain.ticks.watermark"

WATERMARK = (
    Mutant(
        name="the watermark passes an open bucket",
        rule="Shows no entry at all, or joins the open set in that write.",
        patches=(
            Patch(
                _WATERMARK,
                "        if seen[bucket] and not _open(bucket, now, opened):\n            break\n"
                "        bucket += 1",
                "        bucket += 1",
            ),
            Patch(
                _WATERMARK,
                "        if seen[low] and not _open(low, now, opened):\n            break\n"
                "        low += 1",
                "        low += 1",
            ),
        ),
        killers=("sweep: stuck jobs stay in sight",),
    ),
    Mutant(
        name="the sweep sees no bucket as full",
        rule="Shows no entry at all.",
        patches=(Patch(_SCHEDULING, "bucket: True in shown", "bucket: False in shown"),),
        killers=("sweep: stuck jobs stay in sight",),
    ),
    Mutant(
        name="no trail",
        rule="Every bucket before b ended more than TRAIL ago.",
        patches=(
            Patch(
                _TIMINGS,
                "trail: timedelta = _seconds(60)",
                "trail: timedelta = _seconds(0)",
            ),
        ),
        killers=("sweep: a writer is late and the index lags",),
    ),
    Mutant(
        name="one look is enough",
        rule="And showed none at least lag + 2 x skew before.",
        patches=(
            Patch(
                _WATERMARK,
                "if now - state.candidate_at < timings.confirm_gap:",
                "if timings.confirm_gap < timings.index_lag:",
            ),
        ),
        killers=("sweep: an index lags longer than is stated",),
    ),
    Mutant(
        name="a candidate that was never looked at",
        rule="Shown empty twice; a bucket joins the candidate by a look.",
        patches=(
            Patch(
                _WATERMARK,
                "    while bucket < limit and bucket in seen:\n"
                "        if seen[bucket] and not _open(bucket, now, opened):",
                "    while bucket < limit:\n"
                "        if seen.get(bucket, False) and not _open(bucket, now, opened):",
            ),
            Patch(
                _WATERMARK,
                "        if low not in seen:\n            break\n        if seen[low] and",
                "        if seen.get(low, False) and",
            ),
        ),
        killers=("sweep: a bucket cannot be read",),
    ),
    Mutant(
        name="an open bucket leaves while it shows entries",
        rule="Leaves the open set by the same test.",
        patches=(
            Patch(
                _WATERMARK,
                "        elif seen[bucket]:\n            opened[bucket] = OpenBucket(now)\n",
                "        elif seen[bucket]:\n            pass\n",
            ),
        ),
        killers=("sweep: stuck jobs stay in sight",),
    ),
    Mutant(
        name="an open bucket leaves when it was not read",
        rule="Leaves the open set by the same test.",
        patches=(
            Patch(
                _WATERMARK,
                "        if bucket not in seen:\n            opened[bucket] = was\n",
                "        if bucket not in seen:\n            pass\n",
            ),
        ),
        killers=("sweep: stuck jobs stay in sight",),
    ),
    Mutant(
        name="an open bucket leaves at its first empty look",
        rule="Leaves the open set by the same test, two looks.",
        patches=(
            Patch(
                _WATERMARK,
                "            opened[bucket] = OpenBucket(now, read_until)\n",
                "            pass\n",
            ),
        ),
        equivalent="A bucket in the open set ended more than a trail ago: by then whatever a "
        "writer filed in it within the stall bound shows (the trail covers stall, lag and twice "
        "the skew), and nothing enters a bucket that is over. The second look is a second line "
        "for an index that lags longer than is stated.",
    ),
    Mutant(
        name="open buckets are never closed",
        rule="Leaves the open set once it is empty.",
        patches=(
            Patch(
                _WATERMARK,
                "        elif now - was.empty_since < timings.confirm_gap or bucket >= state.low:",
                "        elif was.empty_since:",
            ),
        ),
        killers=("sweep: open buckets are closed once they are empty",),
    ),
    Mutant(
        name="an outage is not made good in one sweep",
        rule="An outage of a week is simply a longer sweep.",
        patches=(
            Patch(
                _WATERMARK,
                "backlog = tuple(range(state.low, backlog_end))",
                "backlog = tuple(range(max(state.low, backlog_end - 5), backlog_end))",
            ),
        ),
        killers=("sweep: an installation waits a day for its first tick",),
    ),
    Mutant(
        name="a leader overwrites the watermark of its successor",
        rule="Written only over the record that was read.",
        patches=(
            Patch(
                _CONTROL,
                "            if self._watermark != previous:\n                return False\n",
                "",
            ),
            Patch(
                _CONTROL,
                "            if previous is not None and falls(previous, state):\n"
                "                return False\n",
                "",
            ),
        ),
        killers=("leaders: two leaders write the watermark",),
    ),
    Mutant(
        name="a watermark under a map of yesterday",
        rule="Shard map version = :v.",
        patches=(
            Patch(
                "hourhand.services.ticks.watermark",
                "moved = replace(moved, shard_map_version=shard_map_version)",
                "moved = replace(\n"
                "            moved, shard_map_version=self.control.read_shard_map().version\n"
                "        )",
            ),
        ),
        killers=("filing: the map changes while a leader sweeps",),
    ),
)


CLOCKS = (
    Mutant(
        name="a clock of which nothing is known closes buckets",
        rule="Never while the skew is beyond its threshold.",
        patches=(
            Patch(
                _SKEW_AUDIT,
                "return self.skew is not None and self.verdict is SkewVerdict.FINE",
                "return self.verdict is SkewVerdict.FINE",
            ),
        ),
        killers=("leaders: a fast leader cannot ask for the time",),
    ),
    Mutant(
        name="a clock that is off closes buckets",
        rule="Never while the skew is beyond its threshold.",
        patches=(
            Patch(
                _SKEW_AUDIT,
                "return self.skew is not None and self.verdict is SkewVerdict.FINE",
                "return self.skew is not None",
            ),
        ),
        killers=("leaders: a leader whose clock is off",),
    ),
    Mutant(
        name="the windows are not widened",
        rule="Beyond a threshold widen the windows.",
        patches=(
            Patch(
                _SCHEDULING,
                "audit.size if audit.verdict is SkewVerdict.WIDEN else timedelta(0)",
                "timedelta(0)",
            ),
        ),
        killers=("leaders: a leader whose clock is off",),
    ),
    Mutant(
        name="whoever's clock is far off leads",
        rule="Then refuse to lead.",
        patches=(
            Patch(
                "hourhand.domain.ticks.clock_skew",
                "        return SkewVerdict.REFUSE\n",
                "        return SkewVerdict.WIDEN\n",
            ),
        ),
        killers=("leaders: a leader whose clock is off",),
    ),
)


LEADERS = (
    Mutant(
        name="a lease is taken without the margin",
        rule="Acquire what expired *by m*.",
        patches=(
            Patch(
                _LEADERSHIP, "margin=self.timings.clock_margin,", "margin=0 * self.timings.tick,"
            ),
        ),
        killers=("leaders: a leaders clock is behind",),
    ),
    Mutant(
        name="a lease is taken from whoever holds it",
        rule="Acquire: none, expired by m, or mine.",
        patches=(Patch(_LEASES, "return is_expired or is_too_long", "return True or is_too_long"),),
        killers=("leaders: two ticks at once",),
    ),
    Mutant(
        name="a lease that no right clock made is waited for",
        rule="ADR 14: a lease that lasts longer than one's own would, by the margin, may be taken.",
        patches=(Patch(_LEASES, "return is_expired or is_too_long", "return is_expired"),),
        killers=("leaders: a leader dies whose clock had run ahead",),
    ),
    Mutant(
        name="a lease is renewed by whoever had it",
        rule="Renew and release: holder and epoch mine.",
        patches=(
            Patch(
                _CONTROL,
                "return (tenure.lease.holder, tenure.lease.epoch) == (lease.holder, lease.epoch)",
                "return tenure.lease.name == lease.name",
            ),
        ),
        killers=("leaders: a leader that lost its lease goes on",),
    ),
    Mutant(
        name="a leader never looks whether it leads",
        rule="Renewed between pages; a leader that lost it stops.",
        patches=(
            Patch(
                _LEADERSHIP,
                "if lease.until - now > self.timings.leader_lease * 2 / 3:",
                "if lease.until or now:",
            ),
        ),
        killers=("leaders: a leader that lost its lease goes on",),
    ),
    Mutant(
        name="a lease is not given up",
        rule="`Leadership.release`: so that the next tick need not wait for its end.",
        patches=(
            Patch(
                _LEADERSHIP,
                "        self.control.release_lease(lease)\n",
                "",
            ),
        ),
        killers=("leaders: a leader ends and another comes at once",),
    ),
    Mutant(
        name="who lost its lease gives it up",
        rule="`SchedulingService.tick`: a leader that lost its lease leaves it alone.",
        patches=(
            Patch(
                _SCHEDULING,
                "            if not stint.is_lost:\n                self.leadership.release"
                "(stint.lease)\n\n    def sweep_shards",
                "            self.leadership.release(stint.lease)\n\n    def sweep_shards",
            ),
        ),
        equivalent="The release names holder and epoch, and is refused: one request for nothing.",
    ),
    Mutant(
        name="shards are swept without a lease",
        rule="Each shard is guarded by its own lease.",
        patches=(
            Patch(
                _SCHEDULING,
                "lease = self.leadership.acquire(shard_lease_name(shard), invocation_id)",
                "lease = self.leadership.acquire(\n"
                "                shard_lease_name(shard) + invocation_id, invocation_id\n"
                "            )",
            ),
        ),
        killers=("leaders: two invocations sweep one shard",),
    ),
)

_RESWEPT = "sweep: jobs are back below the watermark"

RESWEEPS = (
    Mutant(
        name="a resweep lowers nothing",
        rule="ADR 20: from a resweep's time on every bucket is read again.",
        patches=(Patch(_RESWEEP, "low=min(state.low, since)", "low=state.low"),),
        killers=(_RESWEPT,),
    ),
    Mutant(
        name="a resweep trusts a look of before",
        rule="ADR 20: a bucket is closed once it was seen empty twice after the request.",
        patches=(
            Patch(
                _RESWEEP,
                "        candidate=None,\n        candidate_at=None,\n        open",
                "        open",
            ),
        ),
        killers=("sweep: the index shows late what is back below the watermark",),
    ),
    Mutant(
        name="a resweep begins anew at each tick",
        rule="ADR 20: a request is taken up once, so that the resweep ends.",
        patches=(
            Patch(
                _RESWEEP,
                "    if request is None or not is_pending(request, state):\n        return state",
                "    if request is None:\n        return state",
            ),
        ),
        killers=(_RESWEPT,),
    ),
    Mutant(
        name="a resweep hides what became older meanwhile",
        rule="ADR 20: current buckets come first, also those that are older than the last minutes.",
        patches=(
            Patch(
                _WATERMARK,
                "backlog = (*newer, *(bucket for bucket in backlog if bucket < "
                "state.resweeps_until))",
                "backlog = (*newer[:0], *backlog)",
            ),
        ),
        killers=("sweep: a job is lost while a long resweep is under way",),
    ),
    Mutant(
        name="the first pages are taken for the whole of a bucket",
        rule="Every shard is read to its last page, however it was begun.",
        patches=(
            Patch(
                _SWEEP,
                "page = first if number == 0 else None",
                "page = first and IndexPage(first.entries)",
            ),
        ),
        killers=("sweep: an older bucket has many pages",),
    ),
    Mutant(
        name="first pages go to the wrong buckets",
        rule="`JobStore.read_buckets`: in the order of the places.",
        patches=(
            Patch(
                _SWEEP,
                "found = zip(places, pages, strict=True)",
                "found = zip(places, pages[::-1], strict=True)",
            ),
        ),
        killers=("sweep: an older bucket has many pages",),
    ),
)

MUTANTS = (*WATERMARK, *CLOCKS, *LEADERS, *RESWEEPS)
