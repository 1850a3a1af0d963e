# ruff: noqa: E501 - fragments of code keep the line breaks that they have
"""Mutants of the tick: what it reads and what it decides."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_ACTIONS = "hourhand.domain.jobs.actions"


_WATERMARK = "hourhand.domain.ticks.watermark"


_TIMINGS = "hourhand.domain.ticks.timings"


_SCHEDULING = "hourhand.services.ticks.tick"


_SWEEP = "hourhand.services.ticks.sweep"


_OPTIONAL = "hourhand.services.optional"


TIMES = (
    Mutant(
        name="a look-ahead of 180 s",
        rule="At 300 s no job is late for a dead leader and a lost tick.",
        patches=(
            Patch(
                _TIMINGS,
                "look_ahead: timedelta = _seconds(300)",
                "look_ahead: timedelta = _seconds(180)",
            ),
        ),
        killers=("time: a leader dies and the next tick is lost",),
    ),
    Mutant(
        name="the bucket of the horizon is not read",
        rule="Every bucket to now + look-ahead.",
        patches=(
            Patch(
                _WATERMARK,
                "range(current, bucket_of(horizon) + 1)",
                "range(current, bucket_of(horizon) - 1)",
            ),
        ),
        killers=("time: a leader dies and the next tick is lost",),
    ),
    Mutant(
        name="a leader's lease longer than a tick",
        rule="The leader's lease, with its margin, is below a tick.",
        patches=(
            Patch(
                _TIMINGS,
                "leader_lease: timedelta = _seconds(30)",
                "leader_lease: timedelta = _seconds(70)",
            ),
        ),
        killers=("leaders: a dead leader is followed by the next tick",),
    ),
    Mutant(
        name="visibility shorter than the lease",
        rule="Visibility lasts longer than the lease, so that a redelivery can claim at once.",
        patches=(
            Patch(
                _TIMINGS,
                "job_lease: timedelta = _seconds(45)",
                "job_lease: timedelta = _seconds(75)",
            ),
        ),
        killers=("time: a worker dies and no scheduler runs",),
    ),
    Mutant(
        name="a new installation looks back at nothing",
        rule="`Timings.first_look_back`: a first good tick may come long after the first job.",
        patches=(
            Patch(
                _TIMINGS,
                "first_look_back: timedelta = timedelta(days=1)",
                "first_look_back: timedelta = timedelta(0)",
            ),
        ),
        killers=("sweep: an installation waits a day for its first tick",),
    ),
)


DECISIONS = (
    Mutant(
        name="a lost message is not missed",
        rule="Dispatch again what was sent and is overdue.",
        patches=(
            Patch(
                _ACTIONS,
                "    return _dispatch_again(job, job.due_at, job.enqueued_at, judgement)",
                "    return Leave()",
            ),
        ),
        killers=("time: a message is lost",),
    ),
    Mutant(
        name="no hard cap on what a backlog explains",
        rule="Sent again always after a hard cap.",
        patches=(
            Patch(
                _ACTIONS,
                'return "waited too long" if waited >= judgement.timings.redispatch_hard_cap else None',
                "return None",
            ),
        ),
        killers=("time: a message is lost behind a backlog",),
    ),
    Mutant(
        name="a backlog explains everything",
        rule="Always once it was sent before the oldest message.",
        patches=(
            Patch(
                _ACTIONS,
                "return self.oldest_sent_at is None or sent_at >= self.oldest_sent_at",
                "return sent_at is not None",
            ),
        ),
        killers=("time: a message older than all others is lost",),
    ),
    Mutant(
        name="a backlog explains nothing",
        rule="Not while the queue's oldest message explains it.",
        patches=(
            Patch(
                _ACTIONS,
                "if view is None or not view.explains(sent_at):",
                "if view is None or view is not None:",
            ),
        ),
        killers=("time: a backlog is not made longer",),
    ),
    Mutant(
        name="the queues are never asked",
        rule="The age of the queue's oldest message.",
        patches=(
            Patch(
                _SWEEP,
                "self.judgement = replace(self.judgement, queues=self.queues.view())",
                "self.queues.view()",
            ),
        ),
        killers=("time: a backlog is not made longer",),
    ),
    Mutant(
        name="no back-off of what is sent again",
        rule="First re-dispatch 60 s after due, and doubling.",
        patches=(
            Patch(
                _ACTIONS,
                "return min(max(timings.redispatch_first, elapsed), timings.redispatch_backoff_cap)",
                "return min(timings.redispatch_first, timings.redispatch_backoff_cap + elapsed)",
            ),
        ),
        killers=("time: messages are lost again and again",),
    ),
    Mutant(
        name="nobody is raised",
        rule="A job that waits too long in `low` goes to `medium`, then `high`.",
        patches=(
            Patch(
                _ACTIONS,
                "if above is not None and aged >= timings.aging_wait * _next_step(job):",
                "if above is not None and now < due_at:",
            ),
        ),
        killers=("time: a low job waits for hours",),
    ),
    Mutant(
        name="raised all the way at once",
        rule="`low` goes to `medium`, *then* `high`: each takes one more wait.",
        patches=(
            Patch(
                _ACTIONS,
                "return order.index(job.queue) - order.index(job.priority) + 1",
                "return 1 + 0 * order.index(job.queue)",
            ),
        ),
        killers=("time: a low job waits for hours",),
    ),
    Mutant(
        name="a debt is not paid",
        rule="Finish what an outcome left half done.",
        patches=(
            Patch(
                _ACTIONS,
                "return Leave() if job.due_at is None else Finish()",
                "return Leave()",
            ),
        ),
        killers=("send the dead letter that is owed / undisturbed",),
    ),
    Mutant(
        name="the sweep expires nothing",
        rule="`expires_at` passed before a start: EXPIRED.",
        patches=(
            Patch(
                _ACTIONS,
                "if job.expires_at is not None and job.expires_at <= now:",
                "if job.expires_at is not None and job.due_at is None:",
            ),
        ),
        killers=("work: an expired job waits without workers",),
    ),
    Mutant(
        name="the sweep recovers nobody",
        rule="Recover a RUNNING job whose lease expired.",
        patches=(
            Patch(
                _ACTIONS,
                "return Recover() if expired else Leave()",
                "return Leave() if expired else Leave()",
            ),
        ),
        killers=("sweep: a worker and its message are lost",),
    ),
    Mutant(
        name="the sweep judges a lease without the margin",
        rule="Clocks may differ by the margin.",
        patches=(
            Patch(
                _ACTIONS,
                "job.lease_until < now - timings.clock_margin",
                "job.lease_until < now",
            ),
        ),
        equivalent="The move that follows names the margin itself (`lease_expired`): it is "
        "refused, and made at the next tick. Without that clause a mutant of its own dies.",
    ),
    Mutant(
        name="payloads are not kept longer",
        rule="`Timings.payload_renewed_below`: the payload of a job that waits must not expire.",
        patches=(
            Patch(
                _ACTIONS,
                "return until is not None and until - runs_at < timings.payload_renewed_below",
                "return until is not None and until < runs_at and timings is None",
            ),
        ),
        killers=("sweep: a job waits longer than its payload is kept",),
    ),
)


READING = (
    Mutant(
        name="only the first page of a shard is read",
        rule="To the last page.",
        patches=(
            Patch(
                _SWEEP,
                "            if page.next is None:\n",
                "            if page.next is None or page.entries:\n",
            ),
        ),
        killers=("sweep: a bucket has many pages",),
    ),
    Mutant(
        name="one odd job ends its page",
        rule="Each job is decided about by itself; what was collected is sent.",
        patches=(
            Patch(
                _SWEEP,
                '            self._tell("No decision could be made about a job.", error, job.id)\n'
                "            return None",
                '            self._tell("No decision could be made about a job.", error, job.id)\n'
                "            raise",
            ),
        ),
        killers=("sweep: an odd job lies among others",),
    ),
    Mutant(
        name="what is optional ends the page",
        rule="The queues' ages may be unknown; then what is missed is sent again.",
        patches=(
            Patch(
                _SWEEP,
                "except Exception as error:  # noqa: BLE001 - the page can do without the view",
                "except Unavailable as error:",
            ),
        ),
        killers=("sweep: what is optional is refused",),
    ),
    Mutant(
        name="an audit that is refused ends the tick",
        rule="An audit without an answer changes nothing.",
        patches=(
            Patch(
                _OPTIONAL,
                "    except Exception as error:  # noqa: BLE001 - the work goes on, whatever it was",
                "    except ConnectionError as error:",
            ),
        ),
        killers=("sweep: what is optional is refused",),
    ),
    Mutant(
        name="a shard that cannot be read counts as empty",
        rule="Shows no entry at all *in any shard in this sweep*.",
        patches=(
            Patch(
                _SWEEP,
                'self._tell("A shard could not be read; the next tick tries again.", error)\n'
                "                return None",
                'self._tell("A shard could not be read; the next tick tries again.", error)\n'
                "                return showed_any",
            ),
        ),
        killers=("sweep: a bucket cannot be read",),
    ),
    Mutant(
        name="a bucket counts as read though a shard is missing",
        rule="Every shard.",
        patches=(
            Patch(
                _SCHEDULING,
                "if len(shown) == counts[bucket] and None not in shown",
                "if shown",
            ),
        ),
        killers=("sweep: a bucket cannot be read",),
    ),
    Mutant(
        name="what was handed over counts as empty",
        rule="Shards that others sweep show what they show.",
        patches=(
            Patch(
                _SCHEDULING,
                "show = sweep.peek(bucket, shard, page)",
                "show = False",
            ),
        ),
        killers=("leaders: nobody sweeps the shards that were handed over",),
    ),
    Mutant(
        name="shards that nobody took are left",
        rule="What is not handed over the leader does itself.",
        patches=(
            Patch(
                "hourhand.services.ticks.shards",
                "if fan_out.invoker.invoke(share, epoch=stint.lease.epoch, tick_at=tick_at):",
                "if fan_out.invoker.invoke(share, epoch=stint.lease.epoch, tick_at=tick_at) or share:",
            ),
        ),
        killers=("leaders: no further invocation can be had",),
    ),
    Mutant(
        name="the trailing re-read is forgotten",
        rule="Plus a trailing re-read for index lag and late writers.",
        patches=(
            Patch(
                _WATERMARK,
                "    read = {*upcoming, *recent, *backlog}",
                "    recent = ()\n    read = {*upcoming, *recent, *backlog}",
            ),
        ),
        killers=("time: a message is lost",),
    ),
    Mutant(
        name="no deep re-read",
        rule="Now and then a deep one of the last day.",
        patches=(
            Patch(
                _WATERMARK,
                "deep=tuple(bucket for bucket in range(start, stop) if bucket not in read),",
                "deep=tuple(bucket for bucket in range(start, stop) if bucket < 0),",
            ),
        ),
        killers=("sweep: a job lies behind the sweep",),
    ),
    Mutant(
        name="the deep re-read stays where it is",
        rule="A deep re-read *of the last day*.",
        patches=(
            Patch(
                _WATERMARK,
                "deep_next=stop if stop < current else deep_first,",
                "deep_next=deep_first,",
            ),
        ),
        killers=("sweep: a job lies behind the sweep",),
    ),
    Mutant(
        name="older open buckets are not read again",
        rule="The bounded set of older buckets still open.",
        patches=(
            Patch(
                _WATERMARK,
                "and now - state.open[bucket].read_at >= reread_interval(now - bucket_end(bucket))",
                "and bucket < 0",
            ),
        ),
        killers=("sweep: an old open bucket loses a message",),
    ),
    Mutant(
        name="all open buckets are read at every tick",
        rule="Re-read less often as they age.",
        patches=(
            Patch(
                _WATERMARK,
                "and now - state.open[bucket].read_at >= reread_interval(now - bucket_end(bucket))",
                "and now >= state.open[bucket].read_at",
            ),
        ),
        killers=("sweep: a backlog of open buckets is not read every minute",),
    ),
)


MUTANTS = (*TIMES, *DECISIONS, *READING)
