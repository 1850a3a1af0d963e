"""Mutants of how a job ends and goes on: recovery, letters, people, keys."""

from __future__ import annotations

from proof.mutants.mutant import Mutant, Patch

_KEY_STORE = "hourhand.memory.idempotency_store"
_JOB_STORE = "hourhand.memory.job_store"
_OPERATING = "hourhand.domain.jobs.transitions._operations"
_REPAIRING = "hourhand.domain.jobs.transitions._recovery"
_WORKING = "hourhand.domain.jobs.transitions._attempt"
_PARTS = "hourhand.domain.jobs.transitions._parts"
_KEYS = "hourhand.services.jobs.idempotency"
_OPERATIONS = "hourhand.services.jobs.operations"
_RECOVERY = "hourhand.services.jobs.recovery"
_ATTEMPT = "hourhand.services.jobs.attempt"

RECOVERY = (
    Mutant(
        name="a recovery that names no lease",
        rule="`lease_until` = :seen (judged < :now - m).",
        patches=(
            Patch(
                _PARTS,
                '        "lease_as_read": Is("lease_until", job.lease_until),\n'
                '        "lease_expired": Below("lease_until", now - margin),\n',
                "",
            ),
        ),
        killers=("work: an owner beats as it is taken for lost",),
    ),
    Mutant(
        name="a lost job runs again against its policy",
        rule="Lost with `on_lost: dead` is DEAD.",
        patches=(
            Patch(
                _REPAIRING,
                "if job.on_lost is OnLost.RETRY and job.attempt < job.retry.max_attempts:",
                "if job.attempt < job.retry.max_attempts:",
            ),
        ),
        killers=("recover a job that must not be run again / undisturbed",),
    ),
    Mutant(
        name="a recovered job is not sent",
        rule="Every move that makes a job due soon sends its own message.",
        patches=(
            Patch(
                _RECOVERY,
                "self.due.move(job, AT_ONCE, build, actor)",
                "self.due.move(job, AT_ONCE, build, actor, announces=False)",
            ),
        ),
        killers=("recover a lost attempt / undisturbed",),
    ),
    Mutant(
        name="a recovered job keeps its generation",
        rule="Rises on each retry.",
        patches=(
            Patch(
                _REPAIRING,
                '                **gone,\n                "generation": job.generation + 1,',
                '                **gone,\n                "generation": job.generation,',
            ),
        ),
        killers=("recover a lost attempt / it is paused past its lease",),
    ),
    Mutant(
        name="the entry goes before the letter",
        rule="The entry goes only after the DLQ send is acknowledged.",
        patches=(
            Patch(
                _RECOVERY,
                "                self._send_dead_letter(details)\n            case",
                "                pass\n            case",
            ),
            Patch(
                _RECOVERY,
                "        result = self.jobs.transition(finish(job))\n",
                "        result = self.jobs.transition(finish(job))\n"
                "        if OutboxTask.SEND_DEAD_LETTER in tasks:\n"
                "            self._send_dead_letter(details)\n",
            ),
        ),
        killers=("people: a dead letter is owed and everything dies",),
    ),
    Mutant(
        name="a job dies and its entry goes",
        rule="Or DEAD, entry kept.",
        patches=(
            Patch(
                _WORKING,
                "sets={**cleared(*LEASE_FIELDS), **final_times(job, now, JobStatus.DEAD)},\n",
                "sets={**cleared(*LEASE_FIELDS), **final_times(job, now, JobStatus.DEAD)},\n"
                "        leaves_index=True,\n",
            ),
        ),
        killers=("fail for good / undisturbed",),
    ),
    Mutant(
        name="a lost job dies and its entry goes",
        rule="Else DEAD, entry kept.",
        patches=(
            Patch(
                _REPAIRING,
                "sets={**gone, **final_times(job, now, JobStatus.DEAD)},\n",
                "sets={**gone, **final_times(job, now, JobStatus.DEAD)},\n"
                "        leaves_index=True,\n",
            ),
        ),
        killers=("recover a lost attempt that was the last / undisturbed",),
    ),
    Mutant(
        name="the debt of an object is forgotten",
        rule="S3 expires only objects marked finished; an entry stays for what is owed.",
        patches=(
            Patch(
                "hourhand.domain.jobs.outbox",
                "job.payload.key is not None or (result is not None and result.key is not None)",
                "result is not None and result.key is not None",
            ),
        ),
        killers=("work: objects expire once their job ended",),
    ),
    Mutant(
        name="a letter that is owed is forgotten at a redrive",
        rule="A dead letter for each round that ended so.",
        patches=(
            Patch(
                _OPERATIONS,
                "                self.recovery.finish_job(job)\n",
                "                pass\n",
            ),
        ),
        killers=("people: a job is redriven that owes its letter",),
    ),
    Mutant(
        name="a redriven job's payload expires",
        rule="S3 expires only objects marked finished.",
        patches=(
            Patch(_OPERATIONS, "            self.contents.mark_live(job)\n", ""),
            Patch(_OPERATIONS, "                self._keep_objects(job)\n", ""),
        ),
        killers=("work: objects expire once their job ended",),
    ),
    Mutant(
        name="a finish takes back what a redrive needs",
        rule="`finish_job`: redriven meanwhile: what it needs must not expire.",
        patches=(
            Patch(
                _RECOVERY,
                "            self.contents.keep_live(result.current)\n",
                "            pass\n",
            ),
        ),
        killers=("people: a finish meets a redrive",),
    ),
)


PEOPLE = (
    Mutant(
        name="a payload is kept shorter",
        rule="`JobStore.extend_text`: keeps it longer, never shorter: nothing accepted is lost.",
        patches=(
            Patch(
                _JOB_STORE,
                "if kept is not None and kept.keep_until < keep_until:",
                "if kept is not None:",
            ),
        ),
        killers=("sweep: a job is put off as its payload is renewed",),
    ),
    Mutant(
        name="a request to stop outlives a redrive",
        rule="Cancel flag cleared.",
        patches=(
            Patch(
                _OPERATING,
                '                "cancel_requested_at",\n                "finished_at",',
                '                "finished_at",',
            ),
        ),
        killers=("people: a job is redriven",),
    ),
    Mutant(
        name="a redriven job has no attempts",
        rule="Attempt 0.",
        patches=(Patch(_OPERATING, '            "attempt": 0,\n', ""),),
        killers=("people: a job is redriven",),
    ),
    Mutant(
        name="a redriven job is deleted",
        rule="TTL cleared.",
        patches=(Patch(_OPERATING, '                "keep_until",\n', ""),),
        killers=("people: a job is redriven",),
    ),
    Mutant(
        name="a redrive keeps its generation",
        rule="Generation+1.",
        patches=(
            Patch(
                _OPERATING,
                '            "generation": job.generation + 1,\n            "round"',
                '            "round"',
            ),
        ),
        killers=("finish what died / redriven, and dies once more",),
    ),
    Mutant(
        name="a success is redriven",
        rule="Only DEAD, EXPIRED and CANCELLED are redriven.",
        patches=(
            Patch(
                "hourhand.domain.jobs.job",
                "REDRIVABLE = frozenset({JobStatus.DEAD, JobStatus.EXPIRED, JobStatus.CANCELLED})",
                "REDRIVABLE = FINAL",
            ),
            Patch(
                "hourhand.domain.jobs.states",
                "    SUCCEEDED: {},\n",
                '    SUCCEEDED: {PENDING: "redriven", ENQUEUED: "redriven"},\n',
            ),
        ),
        killers=("people: a final job is changed",),
    ),
    Mutant(
        name="a running job is cancelled at once",
        rule="Asking sets `cancel_requested_at` and leaves RUNNING.",
        patches=(
            Patch(
                "hourhand.domain.jobs.job",
                "NOT_STARTED = frozenset({JobStatus.PENDING, JobStatus.ENQUEUED, "
                "JobStatus.RETRYING})",
                "NOT_STARTED = frozenset(\n    {JobStatus.PENDING, JobStatus.ENQUEUED, "
                "JobStatus.RETRYING, JobStatus.RUNNING}\n)",
            ),
        ),
        killers=("cancel a job that is due / another claims it and dies",),
    ),
    Mutant(
        name="a put over what is there",
        rule="Item does not exist.",
        patches=(
            Patch(
                _JOB_STORE,
                "            if current is not None:\n                return Refused(current)\n"
                "            self._store(job, job.history)",
                "            self._store(job, job.history)",
            ),
        ),
        killers=("people: a submission is repeated",),
    ),
)


KEYS = (
    Mutant(
        name="what is on record under a key is done again",
        rule="Guards submission and execution.",
        patches=(
            Patch(
                _KEYS,
                "return KeyCheck(KeyState.REPLAY, standing.result)",
                "return KeyCheck(KeyState.RUN)",
            ),
        ),
        killers=("people: a result is on record",),
    ),
    Mutant(
        name="the record under a key is written after the end",
        rule="`RunningAttempt._succeed`: the record first, so that no end is without one.",
        patches=(
            Patch(
                _ATTEMPT,
                "        if not self.tools.keys.finish(self.job, payload_text, result):\n"
                "            return False\n"
                "        return self._complete(result)\n",
                "        ended = self._complete(result)\n"
                "        self.tools.keys.finish(self.job, payload_text, result)\n"
                "        return ended\n",
            ),
        ),
        killers=("people: a worker dies between result and end",),
    ),
    Mutant(
        name="the result of other inputs",
        rule="Same key, same effect; a record has a hash of its inputs.",
        patches=(
            Patch(
                _KEYS,
                "if standing.inputs_hash != record.inputs_hash:",
                "if standing.inputs_hash is None:",
            ),
        ),
        killers=("people: a key was used with other inputs",),
    ),
    Mutant(
        name="two at work under one key",
        rule="The record says in progress or done.",
        patches=(Patch(_KEYS, "return KeyCheck(KeyState.TAKEN)", "return KeyCheck(KeyState.RUN)"),),
        killers=("people: a key was used with other inputs",),
    ),
    Mutant(
        name="the record of an attempt that died is never free",
        rule="`idempotency`: an attempt that crashed in progress leaves a record that the next "
        "owner of the job takes over.",
        patches=(
            Patch(
                _KEY_STORE,
                "return not stands.is_done and stands.token <= ours.token",
                "return stands.token > ours.token",
            ),
        ),
        killers=("fail under a key, then succeed / undisturbed",),
    ),
    Mutant(
        name="a zombie writes the record under its key",
        rule="Only the holder of the current token.",
        patches=(
            Patch(
                _KEY_STORE,
                "if stands is None or _attempt_of(stands) != _attempt_of(record):",
                "if stands is None:",
            ),
        ),
        killers=("people: a zombie works under a key",),
    ),
    Mutant(
        name="the record of a deleted job stands for the next one",
        rule="`IdempotencyRecord`: it stands for the one job that was created at its time.",
        patches=(
            Patch(
                _KEY_STORE,
                "return stands.job_created_at < ours.job_created_at",
                "return False",
            ),
        ),
        killers=("people: a key whose job is gone",),
    ),
    Mutant(
        name="the record under a key goes with its job",
        rule="A record that outlives the job.",
        patches=(
            Patch(
                _KEYS,
                "keep_after_end(job) + KEY_HOLDS_AT_LEAST",
                "keep_after_end(job) * 0 + 0 * KEY_HOLDS_AT_LEAST",
            ),
        ),
        killers=("people: a record that ends too soon",),
    ),
    Mutant(
        name="a job that died holds its key",
        rule="`IN_PROGRESS_KEPT`: its record must not stand in the way of one submitted anew.",
        patches=(
            Patch(
                _KEYS,
                "IN_PROGRESS_KEPT = timedelta(hours=1)",
                "IN_PROGRESS_KEPT = timedelta(hours=100)",
            ),
        ),
        equivalent="The record stands for its own job alone: the next one takes its place, "
        "whatever its time.",
    ),
)

MUTANTS = (*RECOVERY, *PEOPLE, *KEYS)
