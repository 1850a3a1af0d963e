"""Mutants of who stores, files and sends: submission, filing, dispatch, shards."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_DISPATCH = "hourhand.services.ticks.dispatch"
_MESSAGES = "hourhand.services.jobs.due"
_DUE = "hourhand.services.jobs.due"
_JOB_STORE = "hourhand.memory.job_store"
_SUBMISSION = "hourhand.services.jobs.submission"
_BUCKETS = "hourhand.domain.ticks.buckets"

DISPATCH = (
    Mutant(
        name="mark before send",
        rule="Send, then mark. A death in between must cost a second message, "
        "and make no job late (invariant 6).",
        patches=(
            Patch(
                _DISPATCH,
                "self.pipeline.send(outgoing, lambda told: self._mark_sent(batch, told, ended))",
                "self._mark_sent(batch, dict.fromkeys(range(len(batch))), lambda *_: None)\n"
                "        self.pipeline.send(outgoing, lambda told: ended(len(told), 0))",
            ),
        ),
        killers=("time: a scheduler dies as it dispatches",),
    ),
    Mutant(
        name="a refused entry counts as sent",
        rule="Entries in `Failed[]` are handled one by one.",
        patches=(
            Patch(
                _DISPATCH,
                "            if failure is None:\n                sent.append(item)",
                "            if failure is None or len(batch) > 1:\n"
                "                sent.append(item)",
            ),
        ),
        killers=("time: one entry of a batch is refused",),
    ),
    Mutant(
        name="no mark after a dispatch",
        rule="What was sent is marked, so that it is not sent at every tick.",
        patches=(
            Patch(
                _DISPATCH,
                "                    marks.append(_mark(item, enqueued, now))",
                "                    marks += [_mark(item, enqueued, now)] * item.job.is_sent",
            ),
        ),
        killers=("time: a dispatched job is not sent at every tick",),
    ),
    Mutant(
        name="a delay rounded up",
        rule="ADR 18: where starts shall be precise, `DelaySeconds` is rounded *down*.",
        patches=(
            Patch(
                _MESSAGES,
                "delay_seconds=floor_seconds(delay),",
                "delay_seconds=floor_seconds(delay) + (1 if delay.microseconds else 0),",
            ),
        ),
        killers=("time: jobs due at fractions of a second",),
    ),
    Mutant(
        name="a delay that SQS does not take",
        rule="SQS takes 900 s of delay at most.",
        patches=(
            Patch(
                _MESSAGES,
                "delay = min(message.due_at - now + rounding, SQS_MAX_DELAY)",
                "delay = message.due_at - now + rounding",
            ),
        ),
        equivalent="Nothing is sent earlier than the look-ahead (300 s, 330 s where it is widened) "
        "before it is due. The bound is for timings that somebody makes longer.",
    ),
    Mutant(
        name="a failed send stays announced",
        rule="What overdue or was never sent is sent by the sweep; `enqueued_at` must "
        "not say otherwise.",
        patches=(
            Patch(
                _DUE,
                "                self._take_back(job, failure, actor)",
                "                self.telemetry.count('send_failures')",
            ),
        ),
        killers=("time: the queue refuses a submission",),
    ),
    Mutant(
        name="a job that began is announced again",
        rule="A message is sent only for what waits (`DueJobs.announce`).",
        patches=(
            Patch(
                _DUE,
                "if job.is_sent and job.status.is_waiting]",
                "if job.is_sent]",
            ),
        ),
        equivalent="One message more for a job that runs or ended: hidden or dropped at its claim.",
    ),
)

SUBMISSION = (
    Mutant(
        name="another body under the same key",
        rule="Same key, same effect; with another body a conflict.",
        patches=(
            Patch(_SUBMISSION, "if existing.body_hash != request.body_hash:", "if not existing:"),
        ),
        killers=("people: a submission is repeated",),
    ),
    Mutant(
        name="a put of one's own is taken for another's",
        rule="A failed condition may be one's own write whose answer was lost.",
        patches=(
            Patch(
                _DUE,
                "return current.history[:1] == job.history[:1]",
                "return False",
            ),
        ),
        killers=("people: a put is sent twice",),
    ),
    Mutant(
        name="a payload is kept for as long as its last writer says",
        rule="`JobStore.put_text`: what is kept for one submission never ends sooner for another.",
        patches=(
            Patch(
                _JOB_STORE,
                "if kept is None or kept.keep_until < keep_until:",
                "if kept is None or kept.text == text:",
            ),
        ),
        killers=("people: a submission loses a race for its payload",),
    ),
    Mutant(
        name="a key names no job",
        rule="The job's id is derived from tenant and key.",
        patches=(
            Patch(
                _SUBMISSION,
                "            return self.ids.of_key(request.tenant, request.idempotency_key)",
                "            return self.randomness.job_id(now)",
            ),
        ),
        killers=("people: a submission is repeated",),
    ),
    Mutant(
        name="a submission that stalled is acknowledged as it is",
        rule="Acknowledged only if it took under the stall bound; else its entry is moved first.",
        patches=(
            Patch(
                _DUE,
                "return self._after_write(result, clock_read_at, actor, announces=False)",
                "return result",
            ),
        ),
        killers=("filing: writers stall for minutes",),
    ),
    Mutant(
        name="a repeated submission moves nothing",
        rule="Where the item exists and is not final, its entry is moved first.",
        patches=(
            Patch(_SUBMISSION, "if self.due.is_behind(existing, now):", "if existing is None:"),
        ),
        killers=("filing: a first writer dies stalled",),
    ),
    Mutant(
        name="nothing is sent at submission",
        rule="Every move that makes a job due soon sends its message right after.",
        patches=(
            Patch(
                _DUE,
                "if announces and isinstance(result, Applied):",
                "if not announces and isinstance(result, Applied):",
            ),
        ),
        killers=("submit, due now / undisturbed",),
    ),
)

FILING = (
    Mutant(
        name="filed under a time that is over",
        rule="`due_at` = max(`run_at`, now), so that nothing is filed behind the sweep.",
        patches=(Patch(_BUCKETS, "due_at = max(run_at, now)", "due_at = run_at"),),
        killers=("filing: a time in the past is asked for",),
    ),
    Mutant(
        name="filed in an older bucket",
        rule="Never an older bucket.",
        patches=(
            Patch(
                _DUE,
                "if bucket_of(entry.due_at) >= bucket_of(floor):",
                "if entry.due_at:",
            ),
        ),
        killers=("filing: a workers clock is set back",),
    ),
    Mutant(
        name="writers may stall",
        rule="The stall bound, by the monotonic clock.",
        patches=(
            Patch(
                _DUE,
                "if self.clock.monotonic() - clock_read_at <= bound:",
                "if bound:",
            ),
        ),
        killers=("filing: writers stall for minutes",),
    ),
    Mutant(
        name="a move that stalled stays where it is",
        rule="Under the stall bound, or its entry is moved.",
        patches=(
            Patch(
                _DUE,
                "return self._after_write(result, clock_read_at, actor, announces=announces)",
                "return self._after_write(result, float('inf'), actor, announces=announces)",
            ),
        ),
        killers=("filing: writers stall for minutes",),
    ),
    Mutant(
        name="a stalled writer gives up in silence",
        rule="What was not filed in time is not acknowledged.",
        patches=(
            Patch(
                _DUE,
                'raise Unavailable("This writer stalls; the job is stored, but its time is not '
                'sure.")',
                "return job",
            ),
        ),
        killers=("filing: a writer stalls without end",),
    ),
    Mutant(
        name="a stalled writer files under the time that it read before",
        rule="Its entry is moved to a *current* bucket.",
        patches=(
            Patch(
                _DUE,
                "entry = self._entry(current.id, due_at, now)",
                "entry = self._entry(current.id, due_at, due_at)",
            ),
        ),
        killers=("filing: writers stall for minutes",),
    ),
    Mutant(
        name="due soon is not sent soon",
        rule="Due within the look-ahead is put as ENQUEUED and sent at once.",
        patches=(
            Patch(
                _DUE,
                "return due_at <= now + self.timings.look_ahead",
                "return due_at > now + self.timings.look_ahead",
            ),
        ),
        killers=("time: a job is due between two ticks",),
    ),
    Mutant(
        name="the shard map is never read again",
        rule="`Timings.control_cache`: writers read the map again, so that new shards are used.",
        patches=(
            Patch(
                _DUE,
                "if self._shard_map is None or age > self.timings.control_cache.total_seconds():",
                "if self._shard_map is None or age < 0:",
            ),
        ),
        killers=("filing: the shard map grows and shrinks",),
    ),
)

SHARDS = (
    Mutant(
        name="readers use the newest count",
        rule="Readers use the *largest* count of all versions that cover a bucket.",
        patches=(
            Patch(
                _BUCKETS,
                "return max(covering, default=self.versions[0].count)",
                "return covering[-1] if covering else self.versions[0].count",
            ),
        ),
        killers=("filing: the shard map grows and shrinks",),
    ),
    Mutant(
        name="writers use the oldest count",
        rule="Writers use the newest version that covers a bucket.",
        patches=(
            Patch(
                _BUCKETS,
                "return covering[-1] if covering else self.versions[0].count",
                "return covering[0] if covering else self.versions[0].count",
            ),
        ),
        killers=("filing: the shard map grows and shrinks",),
    ),
    Mutant(
        name="the map changes for buckets under way",
        rule="A version counts from a bucket in the future on.",
        patches=(
            Patch(
                _BUCKETS,
                "if from_bucket <= bucket_of(now):",
                "if from_bucket < 0:",
            ),
        ),
        killers=("filing: a map may change for the future alone",),
    ),
    Mutant(
        name="the map changes from the next bucket on",
        rule="`ShardingService.resize`: from a bucket on that no writer is late for.",
        patches=(
            Patch(
                "hourhand.services.ticks.shards",
                "bucket_of(settled) + 1",
                "bucket_of(now) + 1 + 0 * bucket_of(settled)",
            ),
        ),
        equivalent="A writer that still has the map of before files under a count that also "
        "covers that bucket, and readers use the largest that does. The wait only keeps a bucket "
        "from being filed under two counts, which costs reads.",
    ),
)

MUTANTS = (*DISPATCH, *SUBMISSION, *FILING, *SHARDS)
