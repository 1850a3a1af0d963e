# ruff: noqa: E501 - fragments of code keep the line breaks that they have
"""Mutants of schedules: their visits, their changes, and who of a group may start."""

from __future__ import annotations

from proof.mutants.mutant import EXPLORER, Mutant, Patch

_MATERIALISATION = "hourhand.services.schedules.visit"
_JOBS = "hourhand.services.schedules.occurrence_jobs"
_OCCURRENCES = "hourhand.domain.schedules.occurrences"
_CHANGES = "hourhand.domain.schedules.changes"
_SLOTS = "hourhand.domain.groups.slots"
_ADMISSION = "hourhand.domain.groups.admission"
_GATE = "hourhand.services.groups.admission"
_RECOVERY = "hourhand.services.jobs.recovery"

VISITS = (
    Mutant(
        name="stored before its jobs are put",
        rule="ARCHITECTURE, life of a schedule: the jobs are put; then one write moves the cursor.",
        patches=(
            Patch(
                _MATERIALISATION,
                "        made = self.occurrence_jobs.put(schedule, definition, decision.orders, "
                "now=now, actor=actor)\n",
                "        self.finish(\n"
                "            Visit(schedule, rest, definition, decision, ()), now=now, actor=actor\n"
                "        )\n"
                "        made = self.occurrence_jobs.put(schedule, definition, decision.orders, "
                "now=now, actor=actor)\n",
            ),
        ),
        killers=("schedules: visits die",),
    ),
    Mutant(
        name="a job's id does not follow from its time",
        rule="Invariant 8: ids follow from schedule and nominal time: at most one job for each.",
        patches=(
            Patch(
                _JOBS,
                "        job_id = self.ids.of_occurrence(schedule.id, order.nominal, order.salt)\n"
                "        kept_until",
                "        job_id = self.ids.of_occurrence(schedule.id, order.nominal, str(now))\n"
                "        kept_until",
            ),
            Patch(
                _JOBS,
                "        job_id = self.ids.of_occurrence(schedule_id, order.nominal, order.salt)\n"
                "        run_at",
                "        job_id = self.ids.of_occurrence(schedule_id, order.nominal, str(now))\n"
                "        run_at",
            ),
        ),
        killers=("schedules: visits die", "schedules: two schedulers visit"),
    ),
    Mutant(
        name="a visit writes over what changed meanwhile",
        rule="Invariant 8: one conditional write moves cursor and journal.",
        patches=(
            Patch(
                _MATERIALISATION,
                "        answer = self.schedules.write(after, previous=before.sequence)\n"
                "        if not",
                "        newest = self.schedules.get(before.id) or before\n"
                "        after = replace(after, sequence=newest.sequence + 1)\n"
                "        answer = self.schedules.write(after, previous=newest.sequence)\n"
                "        if not",
            ),
        ),
        killers=("schedules: changes meet a visit",),
    ),
    Mutant(
        name="nobody asks what a dead visit made",
        rule="Invariant 8: each nominal time is one job or one reason, not both.",
        patches=(
            Patch(
                _MATERIALISATION,
                "        if made_before:\n",
                "        if made_before and not decision.possible:\n",
            ),
        ),
        killers=("schedules: visits die before an outage",),
    ),
    Mutant(
        name="what a dead visit put is not sent",
        rule="Invariant 6: no crash of the scheduler makes a job late.",
        patches=(
            Patch(
                _JOBS,
                "return job.status.is_waiting and all(e.kind is EventKind.REFILED for e in job.history[1:])",
                "return job.status.is_waiting and not job.history",
            ),
        ),
        killers=("schedules: visits die",),
    ),
    Mutant(
        name="the cursor stays",
        rule="ARCHITECTURE: every nominal time up to the cursor is decided.",
        patches=(
            Patch(
                _OCCURRENCES,
                "        cursor = max(self.schedule.cursor, until)\n",
                "        cursor = self.schedule.cursor\n",
            ),
        ),
        killers=("schedules: visits die",),
    ),
    Mutant(
        name="the cursor runs ahead",
        rule="ARCHITECTURE: every nominal time up to the cursor is decided.",
        patches=(
            Patch(
                _OCCURRENCES,
                "        cursor = max(self.schedule.cursor, until)\n",
                "        cursor = max(self.schedule.cursor, until) + 60 * MISFIRE_GRACE\n",
            ),
        ),
        killers=("schedules: visits die",),
    ),
    Mutant(
        name="what is missed leaves no reason",
        rule="Invariant 8: one job or one reason.",
        patches=(
            Patch(
                _OCCURRENCES,
                "            self.runs.skip(nominal, self._reason_missed(nominal))\n\n"
                "    def _reason_missed",
                "            return\n\n    def _reason_missed",
            ),
        ),
        killers=("schedules: visits die before an outage",),
    ),
)

CHANGES = (
    Mutant(
        name="a change opens no revision",
        rule="ARCHITECTURE: a put, pause, resume or delete opens a revision.",
        patches=(
            Patch(
                _CHANGES,
                "        revision=schedule.revision + 1,\n        write_id=write_id,\n"
                "        updated_at=now,\n        effective_from",
                "        revision=schedule.revision,\n        write_id=write_id,\n"
                "        updated_at=now,\n        effective_from",
            ),
        ),
        killers=("schedules: changes meet a visit",),
    ),
    Mutant(
        name="a change does not set the cursor back",
        rule="`schedule_changes`: the cursor goes back, so that the next visit decides anew.",
        patches=(
            Patch(
                _CHANGES,
                "        cursor=floor_ms(now),\n        zone_data=zone_data,\n"
                "        next_at=_next_visit(",
                "        cursor=max(schedule.cursor, floor_ms(now)),\n        zone_data=zone_data,\n"
                "        next_at=_next_visit(",
            ),
        ),
        killers=("schedules: another rule takes effect at once",),
    ),
    Mutant(
        name="a change cuts nothing from the journal",
        rule="`schedule_changes`: what was materialised for times after now is cut.",
        patches=(
            Patch(
                _CHANGES,
                "return tuple(entry for entry in journal if entry.last <= now or entry.salt)",
                "return tuple(entry for entry in journal if now)",
            ),
        ),
        killers=("schedules: another rule takes effect at once",),
    ),
    Mutant(
        name="nobody is asked whether a job is still wanted",
        rule="ARCHITECTURE: before a worker claims a schedule's job it asks: is it still wanted?",
        patches=(
            Patch(
                _ADMISSION,
                "    if _is_older(job, schedule):\n"
                "        return _judge_older(job, schedule, entries)\n",
                "",
            ),
        ),
        killers=("withdraw what was replaced / undisturbed",),
    ),
    Mutant(
        name="the jobs of a schedule that is gone run on",
        rule="ARCHITECTURE: is it still wanted?",
        patches=(
            Patch(
                _ADMISSION,
                "        return SkipReason.DELETED\n    if not _is_withdrawable(job):",
                "        return Verdict.RUN\n    if not _is_withdrawable(job):",
            ),
        ),
        killers=("schedules: changes meet a visit",),
    ),
    Mutant(
        name="an older job is not brought up to date",
        rule="ARCHITECTURE: the next visit adopts what still holds.",
        patches=(
            Patch(
                _JOBS,
                "if current.token > 0 or current.schedule_revision >= wanted.schedule_revision:",
                "if current.token >= 0 or current.schedule_revision >= wanted.schedule_revision:",
            ),
        ),
        killers=("schedules: changes meet a visit",),
    ),
)

PLACES = (
    Mutant(
        name="nobody asks for room",
        rule="Invariant 9: no more of a group run than may.",
        patches=(
            Patch(
                _GATE, "if job.overlap is None or group.slots is None:", "if job.overlap or job:"
            ),
        ),
        killers=("the first of two for one place, skip / others run all there is",),
    ),
    Mutant(
        name="a place is taken whoever took it since",
        rule="Invariant 9: a place is taken by a conditional write on the slots as they were read.",
        patches=(
            Patch(
                "hourhand.memory.slot_store",
                "            if current.sequence != slots.sequence - 1:\n"
                "                return current.write_id == slots.write_id\n",
                "",
            ),
        ),
        killers=("the first of two for one place, skip / others run all there is",),
    ),
    Mutant(
        name="a run that ended keeps its place",
        rule="Invariant 9: a dead run blocks nobody.",
        patches=(
            Patch(
                _SLOTS,
                "    if job is None or job.status.is_final:\n        return False\n    return not",
                "    if job is None:\n        return False\n    return not",
            ),
        ),
        killers=("wait for a run that dies / undisturbed",),
    ),
    Mutant(
        name="one that waits for its retry holds nothing",
        rule="`has_begun`: it keeps its place to its end.",
        patches=(
            Patch(
                _SLOTS,
                "return not job.status.is_waiting or has_begun(job) or _is_due(job, now + "
                "timings.skew_refuses)",
                "return not job.status.is_waiting",
            ),
        ),
        killers=("the first of two for one place, skip / others run all there is",),
    ),
    Mutant(
        name="room for one more than may run",
        rule="Invariant 9: no more of a group run than may.",
        patches=(
            Patch(
                _SLOTS,
                "    free = overlap.max_running - len(seen.holders)\n    if free >",
                "    free = overlap.max_running - len(seen.holders) + 1\n    if free >",
            ),
        ),
        killers=("skip / undisturbed",),
    ),
    Mutant(
        name="who waits is not called",
        rule="`Line.wake_next`: as soon as there is room.",
        patches=(
            Patch(
                _RECOVERY,
                "            self.wake_next(overlap, actor)\n",
                "            pass\n",
            ),
        ),
        killers=("schedules: who waits is called",),
    ),
    Mutant(
        name="the schedule is paused after the letter",
        rule="`finish_job`: a schedule that is to be paused for it is paused first; the entry is "
        "the outbox of both.",
        patches=(
            Patch(
                _RECOVERY,
                "                self.pause_schedule(job)\n",
                "                pass\n",
            ),
            Patch(
                _RECOVERY,
                "        result = self.jobs.transition(finish(job))\n",
                "        result = self.jobs.transition(finish(job))\n"
                "        if job.pauses_schedule and self.pause_schedule is not None:\n"
                "            self.pause_schedule(job)\n",
            ),
        ),
        killers=("schedules: a failure pauses its schedule",),
    ),
    Mutant(
        name="a worker finishes what it cannot pause",
        rule="`RecoveryService`: who may not write schedules leaves such a job to the sweep.",
        patches=(
            Patch(
                _RECOVERY,
                "                if self.pause_schedule is None:\n                    return False\n"
                "                self.pause_schedule(job)\n",
                "                if self.pause_schedule is not None:\n"
                "                    self.pause_schedule(job)\n",
            ),
        ),
        killers=("schedules: a failure pauses its schedule",),
    ),
    Mutant(
        name="a later job runs before its schedule is paused",
        rule="`judge_occurrence`: a job must not run after another of its schedule failed.",
        patches=(
            Patch(
                _ADMISSION,
                "    if any(is_pausing(job) for job in failed):\n        return Verdict.WAIT\n",
                "",
            ),
        ),
        killers=("schedules: a job comes while its schedule is still to be paused",),
    ),
    Mutant(
        name="a job runs for a time that is on record as skipped",
        rule="`judge_occurrence`: what another visit skipped while one stood still does not run.",
        patches=(
            Patch(
                _ADMISSION,
                "        if entry.reason is not None and entry.first <= nominal <= entry.last:\n"
                "            return entry.reason\n",
                "        del entry\n",
            ),
        ),
        killers=(f"{EXPLORER}visits-stalled",),
    ),
    Mutant(
        name="a late job runs before its time is on record",
        rule="`judge_occurrence`: a visit may be about to note that its time was missed.",
        patches=(
            Patch(
                _ADMISSION,
                "Verdict.WAIT if is_late and _is_visit_to_come(schedule, nominal) else Verdict.RUN",
                "Verdict.RUN",
            ),
        ),
        killers=(f"{EXPLORER}visits-stalled",),
    ),
)

POISON = (
    Mutant(
        name="schedules are visited before jobs are swept",
        rule="The sweep comes first; no schedule keeps a job from being swept.",
        patches=(
            Patch(
                "hourhand.services.ticks.tick",
                "        stint.keep_for_visits()\n        plan",
                "        self._visit_schedules(stint, judgement)\n        plan",
            ),
        ),
        killers=("poison: jobs are swept first",),
    ),
    Mutant(
        name="calendars exclude any number of expressions",
        rule="rule.py: with its calendars a schedule excludes at most 100 expressions.",
        patches=(
            Patch(
                "hourhand.services.schedules.compiled_rules",
                "        _require_bounded(rule)\n",
                "",
            ),
        ),
        killers=("poison: what excludes too much is broken",),
    ),
    Mutant(
        name="a long search begins before its visit is stored",
        rule="A tick that dies in a search must not meet the same search again.",
        patches=(
            Patch(
                _OCCURRENCES,
                "        found = self.recurrence.search(after, end, Work(MAX_WORK_A_LOOK))\n"
                "        return next_visit_of",
                "        found = self.recurrence.search(after, end, Work(MAX_WORK))\n"
                "        return next_visit_of",
            ),
        ),
        killers=("poison: a search is not met again",),
    ),
    Mutant(
        name="a visit that stood still makes what it decided",
        rule="Invariant 8: each nominal time is one job or one reason, not both.",
        patches=(
            Patch(
                _MATERIALISATION,
                "        if self.occurrence_jobs.may_be_missed(decision.orders):\n",
                "        if False:\n",
            ),
        ),
        killers=("poison: a visit stands still",),
    ),
)

MUTANTS = (*POISON, *VISITS, *CHANGES, *PLACES)
