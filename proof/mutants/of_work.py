# ruff: noqa: E501 - fragments of code keep the line breaks that they have
"""Mutants of an attempt: its message, its claim, its heartbeats, its outcome."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_EXECUTION = "hourhand.services.jobs.execution"


_ATTEMPT = "hourhand.services.jobs.attempt"


_MOVE = "hourhand.domain.jobs.transitions._transition"


_WORKING = "hourhand.domain.jobs.transitions._attempt"


_OPERATING = "hourhand.domain.jobs.transitions._operations"


MESSAGES = (
    Mutant(
        name="who lost its job deletes the message",
        rule="A message of a job that another owns is that owner's crash recovery.",
        patches=(
            Patch(
                _EXECUTION,
                "return Disposition.DONE if is_ours else Disposition.KEEP",
                "return Disposition.DONE",
            ),
        ),
        killers=("work: a worker loses its job to one who dies",),
    ),
    Mutant(
        name="a refused message is deleted",
        rule="A message refused because a live lease exists is not deleted but hidden "
        "until that lease's end: it is the crash recovery.",
        patches=(
            Patch(
                _EXECUTION,
                "return self._keep_for(delivery, lease_until + margin - now)",
                "return Disposition.DONE",
            ),
        ),
        killers=("time: a message meets its live owner who then dies",),
    ),
    Mutant(
        name="a refused message comes back every second",
        rule="Hidden until that lease's end.",
        patches=(
            Patch(
                _EXECUTION,
                "return self._keep_for(delivery, lease_until + margin - now)",
                "return self._keep_for(delivery, timedelta(seconds=1))",
            ),
        ),
        killers=("time: a message meets its live owner who then dies",),
    ),
    Mutant(
        name="a stale message goes round and round",
        rule="A message of an older generation is dropped.",
        patches=(
            Patch(
                _EXECUTION,
                "if job is None or job.status.is_final or job.generation > message.generation:",
                "if job is None or job.status.is_final:",
            ),
        ),
        killers=("work: workers meet stale messages",),
    ),
    Mutant(
        name="visibility is left as the queue has it",
        rule="Set visibility short (60 s).",
        patches=(
            Patch(
                _EXECUTION,
                "        self._hide(delivery, self.tools.timings.visibility)\n",
                "",
            ),
        ),
        killers=("time: a worker dies and no scheduler runs",),
    ),
    Mutant(
        name="nobody waits out the fraction",
        rule="Up to 2 s early, wait out the rest.",
        patches=(Patch(_EXECUTION, "        self._wait_until(message.due_at)\n", ""),),
        killers=("time: jobs due at fractions of a second",),
    ),
    Mutant(
        name="claimed before the fraction is waited out",
        rule="Wait out the rest *before* claiming; never started before `run_at`.",
        patches=(
            Patch(_EXECUTION, "        self._wait_until(message.due_at)\n", ""),
            Patch(
                _EXECUTION,
                "wait=timedelta(0),",
                "wait=tools.timings.early_wait,",
            ),
        ),
        killers=("time: jobs due at fractions of a second",),
    ),
    Mutant(
        name="an early message is hidden for a second too long",
        rule="If earlier, set visibility to the rest: rounded down.",
        patches=(
            Patch(
                _EXECUTION,
                "timedelta(seconds=floor_seconds(early))",
                "timedelta(seconds=floor_seconds(early) + 1)",
            ),
        ),
        killers=("time: a message comes early",),
    ),
)


ATTEMPTS = (
    Mutant(
        name="a single refusal costs the attempt",
        rule="`Retries`: an attempt that gave up at once would be lost.",
        patches=(
            Patch("hourhand.services.retrying_ports", "\nMAX_TRIES = 5\n", "\nMAX_TRIES = 1\n"),
        ),
        killers=("succeed / a refusal, at no cost",),
    ),
    Mutant(
        name="a claim of one's own is not known again",
        rule="If the `claim_id` is mine, it succeeded.",
        patches=(
            Patch(
                _MOVE,
                "return job.status is JobStatus.RUNNING and job.claim_id == self.claim_id",
                "return False",
            ),
        ),
        killers=("succeed / a lost answer, at no cost",),
    ),
    Mutant(
        name="an outcome of one's own is not known again",
        rule="A failed condition may be one's own write whose answer was lost.",
        patches=(
            Patch(
                _MOVE,
                "if not self.events or self.events[-1] not in job.history:",
                "if self.events or self.events[-1] not in job.history:",
            ),
        ),
        killers=("time: the answer to a failure is lost",),
    ),
    Mutant(
        name="any write is taken for one's own",
        rule="Recognised by what only this very write can have left behind.",
        patches=(
            Patch(
                _MOVE,
                "return job.status is JobStatus.RUNNING and job.claim_id == self.claim_id",
                "return job.status is JobStatus.RUNNING",
            ),
        ),
        killers=("time: a message meets its live owner who then dies",),
    ),
    Mutant(
        name="a token that does not rise",
        rule="Token+1. Only the holder of the current token commits.",
        patches=(
            Patch(
                _WORKING,
                'increments={"token": 1, "attempt": 1},\n        claim_id=claim_id,',
                'increments={"attempt": 1},\n        claim_id=claim_id,',
            ),
        ),
        killers=("work: a zombie beats",),
    ),
    Mutant(
        name="the handler starts without a look at the lease",
        rule="Two handlers overlap only where a process was paused past its "
        "lease: not if it can tell.",
        patches=(
            Patch(
                _EXECUTION,
                "if not attempt.is_fit_to_start():",
                "if attempt.job.token < 1:",
            ),
        ),
        killers=("work: the look before the start takes long",),
    ),
    Mutant(
        name="a handler begins that cannot end",
        rule="`can_end_in_time`: a handler ends, and is committed, within the function's time.",
        patches=(
            Patch(
                _EXECUTION,
                "return remaining_seconds >= job.timeout_seconds + END_RESERVE_SECONDS",
                "return remaining_seconds + job.timeout_seconds >= END_RESERVE_SECONDS",
            ),
        ),
        killers=("work: little time is left",),
    ),
    Mutant(
        name="a zombie is told that it lives",
        rule="A zombie's heartbeat tells it so.",
        patches=(
            Patch(
                _ATTEMPT,
                'if isinstance(result, Refused):\n                return "lost"\n            self.job',
                'if isinstance(result, Refused):\n                return "alive"\n            '
                "self.job",
            ),
        ),
        killers=("work: a zombie beats",),
    ),
    Mutant(
        name="whoever cannot beat goes on for ever",
        rule="Only who has a lease is an owner.",
        patches=(
            Patch(
                _ATTEMPT,
                'return "alive" if has_lease else "lost"',
                'return "alive" if has_lease or now else "lost"',
            ),
        ),
        killers=("work: heartbeats have no answer",),
    ),
    Mutant(
        name="a heartbeat does not keep the message",
        rule="Extends the SQS visibility timeout and the lease.",
        patches=(
            Patch(
                _ATTEMPT,
                "            self.tools.queues.hide(self.delivery, ceil_seconds(self.tools.timings"
                ".visibility))\n",
                "",
            ),
        ),
        killers=("work: a handler runs for minutes",),
    ),
    Mutant(
        name="a heartbeat does not extend the lease",
        rule="Extends the SQS visibility timeout and the lease.",
        patches=(
            Patch(
                _ATTEMPT,
                "lease_until = max(now + self.tools.timings.job_lease, self.job.lease_until or now)",
                "lease_until = self.job.lease_until or now",
            ),
        ),
        killers=("work: a handler runs for minutes",),
    ),
    Mutant(
        name="a handler is not told to stop",
        rule="The next heartbeat tells the handler.",
        patches=(
            Patch(
                _ATTEMPT,
                'return "alive" if self.job.cancel_requested_at is None else "cancelled"',
                'return "alive" if self.job.id else "cancelled"',
            ),
        ),
        killers=("work: a handler is told to stop",),
    ),
    Mutant(
        name="a retry is not sent",
        rule="Every move that makes a job due soon sends its own message.",
        patches=(
            Patch(
                _ATTEMPT,
                "tools.due.move(job, delay, build, self.worker)",
                "tools.due.move(job, delay, build, self.worker, announces=False)",
            ),
        ),
        killers=("fail, then succeed / undisturbed",),
    ),
    Mutant(
        name="a failure of a job that was asked to stop is dropped",
        rule="(else CANCELLED under the same token).",
        patches=(
            Patch(
                _ATTEMPT,
                "return asked and self._end_cancelled(reason, finished)",
                "return asked and reason is None",
            ),
        ),
        killers=("work: a handler is told to stop",),
    ),
    Mutant(
        name="a snooze uses an attempt up",
        rule="`retry_later`: a snooze does not use the attempt up.",
        patches=(
            Patch(
                _WORKING,
                'increments={"attempt": -1} if outcome is Outcome.SNOOZED else {},',
                "increments={},",
            ),
        ),
        killers=("work: a job snoozes many times",),
    ),
    Mutant(
        name="one attempt too many",
        rule="DEAD when its attempts are used up.",
        patches=(
            Patch(
                _ATTEMPT,
                "if error.retryable and job.attempt < job.retry.max_attempts:",
                "if error.retryable and job.attempt <= job.retry.max_attempts:",
            ),
        ),
        killers=("work: a job fails until its attempts are used up",),
    ),
    Mutant(
        name="an error that no retry heals is retried",
        rule="DEAD for `NotRetryable`.",
        patches=(
            Patch(
                _ATTEMPT,
                "if error.retryable and job.attempt < job.retry.max_attempts:",
                "if job.attempt < job.retry.max_attempts:",
            ),
        ),
        killers=("work: an error that no retry heals",),
    ),
    Mutant(
        name="a job that is handed back starts at once",
        rule="`HAND_BACK_DELAY`: until then its handler still runs.",
        patches=(
            Patch(
                _ATTEMPT,
                "move(self.job, HAND_BACK_DELAY, build, self.worker)",
                "move(self.job, timedelta(0), build, self.worker)",
            ),
        ),
        killers=("work: a process ends for another job",),
    ),
    Mutant(
        name="the retry of a handler that still runs starts at once",
        rule="`HAND_BACK_DELAY`: until then its handler still runs.",
        patches=(
            Patch(_ATTEMPT, "delay = max(delay, HAND_BACK_DELAY)", "delay = max(delay, delay)"),
        ),
        killers=("late: a queue is slow as a stuck process ends",),
    ),
    Mutant(
        name="a retry is due before its process has ended",
        rule="ADR 22: the process is ended by its timer before another attempt is due.",
        patches=(
            Patch(
                _ATTEMPT,
                "HAND_BACK_DELAY = timedelta(seconds=10)",
                "HAND_BACK_DELAY = timedelta(seconds=2)",
            ),
        ),
        killers=("late: a queue is slow as a stuck process ends",),
    ),
    Mutant(
        name="a process ends after the retry of its stuck job is due",
        rule="ADR 22: the process is ended by its timer before another attempt is due.",
        patches=(
            Patch(
                "hourhand.worker._tools",
                "process_end: float = 8.0",
                "process_end: float = 30.0",
            ),
        ),
        killers=("late: a queue is slow as a stuck process ends",),
    ),
    Mutant(
        name="what waits is called while a handler still runs",
        rule="A handler that would not stop never overlaps what follows it.",
        patches=(Patch(_ATTEMPT, "if not finished.still_runs:", "if finished is not None:"),),
        killers=("late: a job dies whose handler still runs",),
    ),
    Mutant(
        name="a job that must not run again is handed back",
        rule="The policy `on_lost: dead`.",
        patches=(
            Patch(
                _EXECUTION,
                "if attempt is None or attempt.job.on_lost is OnLost.DEAD:",
                "if attempt is None:",
            ),
        ),
        killers=("work: a process ends for another job",),
    ),
    Mutant(
        name="a retry keeps its generation",
        rule="Rises on each retry and snooze.",
        patches=(
            Patch(
                _WORKING,
                '            **renewed,\n            "generation": job.generation + 1,',
                '            **renewed,\n            "generation": job.generation,',
            ),
        ),
        killers=("fail, then succeed / it is paused past its lease",),
    ),
    Mutant(
        name="a change keeps its generation",
        rule="Rises on each reschedule, change of priority or payload.",
        patches=(
            Patch(
                _OPERATING,
                '            **sets,\n            "generation": job.generation + 1,',
                '            **sets,\n            "generation": job.generation,',
            ),
        ),
        killers=("put a job forward / put off",),
    ),
    Mutant(
        name="a job that was put off counts as sent",
        rule="That write sets `enqueued_at`, so that the sweep sends what was not sent.",
        patches=(
            Patch(
                _OPERATING,
                '            "enqueued_at": now if sends_now else None,\n        },\n        '
                "entry=entry,\n    )\n    event = make_event(job, kind, now, status, actor, reason)",
                '            "enqueued_at": now,\n        },\n        '
                "entry=entry,\n    )\n    event = make_event(job, kind, now, status, actor, reason)",
            ),
        ),
        equivalent="Who writes that a message is sent sends it: it goes out at once, with as long "
        "a delay as SQS takes, and a worker hides it for the rest. The job is not late for it.",
    ),
)


MUTANTS = (*MESSAGES, *ATTEMPTS)
