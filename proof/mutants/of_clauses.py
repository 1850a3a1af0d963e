"""The fate of the mutants that lack one clause of one move: who kills each, or why none need.

``proof.mutants.test_catalogue`` compares these names with the code's own list of clauses.
"""

from __future__ import annotations

from proof.mutants.clause_mutants import ClausePair, clause_pairs, without
from proof.mutants.mutant import Mutant

_ON_FULL = ", on a full record"

_DUPLICATE = (
    "It costs one message more, which the claim drops. The clause keeps the record true: a job "
    "that says that nothing was sent for it, though something was."
)
_LEASE = (
    "A job that is not RUNNING has no `lease_until`, and each claim sets a later one: the clauses "
    "on the lease fail whenever this one does. A second line, that costs nothing."
)
_LEASE_READ = (
    "`lease_expired` is judged on the item as it stands: an owner that beat after the read has a "
    "lease that is not over, unless its clock is behind by a whole lease. Without either clause "
    "the mutant 'a recovery that names no lease' dies."
)
_LEASE_JUDGED = (
    "Whoever makes this move judged the very lease that `lease_as_read` names by the same clock "
    "and margin. Without either clause the mutant 'a recovery that names no lease' dies."
)
_JUDGED_BEFORE = (
    "The worker judges it on the item that it read, and nothing changes it while the same lease "
    "stands. A second line."
)
_NO_SUCH_STATE = "With every other clause in force no job comes into such a state. A second line."

EQUIVALENT: dict[str, str] = {
    "mark_enqueued without never_sent": "A first mark is made for a job that was read unsent; who "
    "sends it first makes it ENQUEUED or opens a generation, which two other clauses see.",
    "mark_dispatched_again without generation": "A change names another `enqueued_at`, but in the "
    "very millisecond. Then its message, which went out, is missed a minute later than it might.",
    "mark_dispatched_again without last_sent_as_read": "Whoever writes this mark has just sent a "
    "message of this generation: the mark is true, only not the latest.",
    "unmark of a submission without generation": _DUPLICATE,
    "unmark of a submission without last_sent_as_read": _DUPLICATE,
    "unmark of a retry without generation": _DUPLICATE,
    "unmark of a retry without last_sent_as_read": _DUPLICATE,
    "keep_payload without status": "It moves nothing but the date of a payload of a job that "
    "ended, which is kept longer than it need be.",
    "claim without attempts_left": _NO_SUCH_STATE,
    "claim without not_cancelled": _NO_SUCH_STATE,
    "take_over without status": _LEASE,
    "take_over without token": _LEASE,
    "take_over without lease_as_read": _LEASE_READ,
    "take_over without lease_expired": _LEASE_JUDGED,
    "take_over without generation": _LEASE,
    "take_over without attempts_left": _JUDGED_BEFORE,
    "take_over without not_expired": _JUDGED_BEFORE,
    "take_over without may_run_again": _JUDGED_BEFORE,
    "heartbeat without status": "A job that is not RUNNING has no `lease_until` for the clause on "
    "it to hold. A second line, that costs nothing.",
    "recover to RETRYING without status": _LEASE,
    "recover to RETRYING without token": _LEASE,
    "recover to RETRYING without lease_as_read": _LEASE_READ,
    "recover to RETRYING without lease_expired": _LEASE_JUDGED,
    "recover to DEAD without status": _LEASE,
    "recover to DEAD without token": _LEASE,
    "recover to DEAD without lease_as_read": _LEASE_READ,
    "recover to DEAD without lease_expired": _LEASE_JUDGED,
    "recover to CANCELLED without status": _LEASE,
    "recover to CANCELLED without token": _LEASE,
    "recover to CANCELLED without lease_as_read": _LEASE_READ,
    "recover to CANCELLED without lease_expired": _LEASE_JUDGED,
    "finish without status": "A job of the same generation does not leave its final state: only a "
    "redrive does, and that opens a generation.",
    "expire without generation": "A change of a job whose time is over must bring a new "
    "`expires_at`, which the clause `expired` sees.",
    "expire without expired": "The sweep and the worker judge it by the same clock; a change of "
    "`expires_at` opens a generation.",
    "redrive without status": "A final job of the same generation stays what it is: only a "
    "redrive changes it, and that opens a generation.",
    "redrive without history_as_read": "Nobody writes on the record of a final job but a redrive, "
    "and that opens a generation.",
}

_PAUSED = "it is paused past its lease"

KILLED: dict[str, str] = {
    "mark_enqueued without status": "dispatch three jobs / cancelled",
    "mark_enqueued without generation": "dispatch three jobs / put off",
    "mark_enqueued without history_as_read": f"dispatch{_ON_FULL} / filed anew",
    "mark_dispatched_again without status": "dispatch again what was lost / another worker works",
    "mark_dispatched_again without history_as_read": f"dispatch again{_ON_FULL} / filed anew",
    "unmark of a submission without status": "submit, and the answer of the queue is lost / "
    "another worker works",
    "unmark of a submission without history_as_read": f"run now, and the queue refuses{_ON_FULL} "
    "/ filed anew",
    "unmark of a retry without status": "fail, and the answer of the queue is lost / " + _PAUSED,
    "unmark of a retry without history_as_read": f"fail, and the queue refuses{_ON_FULL} / "
    "filed anew",
    "refile without status": "submit a payload for the bucket after a stall / cancelled, and owing",
    "refile without filed_as_read": "submit after a stall / put off",
    "refile without history_as_read": f"run now after a stall{_ON_FULL} / raised",
    "keep_payload without kept_as_read": "sweep: a job is put off as its payload is renewed",
    "claim without status": "succeed / a lost answer",
    "claim without generation": "succeed / it is paused for minutes",
    "claim without not_expired": "meet an expired job / undisturbed",
    "claim without due": "time: sleeps end early",
    "take_over without not_cancelled": "take over from a dead worker / cancelled",
    "take_over without history_as_read": f"take over from a dead worker{_ON_FULL} / filed anew",
    "heartbeat without same_job": "people: a worker of a deleted job beats",
    "heartbeat without token": "work: a zombie beats",
    "heartbeat without extends_lease": "late: a copy of a heartbeat arrives after the next",
    "complete without status": "succeed / a lost answer",
    "complete without same_job": "people: a worker of a deleted job succeeds",
    "complete without token": "succeed / another takes it over",
    "complete without history_as_read": f"succeed{_ON_FULL} / cancelled",
    "retry_later without status": "fail, then succeed / declared lost",
    "retry_later without same_job": "people: a worker of a deleted job fails",
    "retry_later without token": "fail, then succeed / another takes it over",
    "retry_later without not_cancelled": "fail, then succeed / cancelled",
    "retry_later without history_as_read": f"fail, then succeed{_ON_FULL} / filed anew",
    "hand_back without status": "hand a job back / declared lost",
    "hand_back without same_job": "people: a worker of a deleted job hands back",
    "hand_back without token": "hand a job back / another takes it over",
    "hand_back without not_cancelled": "hand a job back / cancelled",
    "hand_back without history_as_read": f"hand a job back{_ON_FULL} / filed anew",
    "die without status": "fail for good / a lost answer",
    "die without same_job": "people: a worker of a deleted job fails for good",
    "die without token": "fail for good / another takes it over",
    "die without not_cancelled": "fail for good / cancelled",
    "die without history_as_read": f"fail for good{_ON_FULL} / filed anew",
    "end_cancelled without status": f"stop as told / {_PAUSED}",
    "end_cancelled without same_job": "people: a worker of a deleted job stops",
    "end_cancelled without token": "fail, then succeed / "
    "another takes it over and is asked to stop",
    "end_cancelled without history_as_read": f"stop as told{_ON_FULL} / filed anew",
    "recover to RETRYING without not_cancelled": "recover a lost attempt / cancelled",
    "recover to RETRYING without history_as_read": f"recover a lost attempt{_ON_FULL} / filed anew",
    "recover to DEAD without not_cancelled": "recover a job that must not be run again / cancelled",
    "recover to DEAD without history_as_read": f"recover a job that must not be run again{_ON_FULL}"
    " / filed anew",
    "recover to CANCELLED without history_as_read": f"recover a job that was asked to stop"
    f"{_ON_FULL} / filed anew",
    "finish without generation": "finish what died / redriven, and dies once more",
    "cancel_waiting without status": "cancel a job that is due / another claims it and dies",
    "cancel_waiting without generation": "cancel a waiting job / its payload is replaced",
    "cancel_waiting without history_as_read": f"cancel a waiting job{_ON_FULL} / filed anew",
    "request_cancel without status": "cancel a job that runs elsewhere / declared lost",
    "request_cancel without token": "late: a copy of a request to stop arrives in the next round",
    "request_cancel without same_job": "late: a copy of a request to stop arrives at the next job "
    "of the id",
    "request_cancel without not_asked_yet": "cancel a job that runs elsewhere / "
    "cancelled a second later",
    "request_cancel without history_as_read": f"cancel a running job{_ON_FULL} / filed anew",
    "change without status": "raise a job that is due / another claims it and dies",
    "change without generation": "raise a job that is due / put off",
    "change without history_as_read": f"put a job forward{_ON_FULL} / filed anew",
    "expire without status": "work: a slow worker claims as the job expires",
    "expire without history_as_read": f"expire a waiting job{_ON_FULL} / filed anew",
    "redrive without generation": "redrive a dead job / redriven, and dies once more",
}


def _mutant(pair: ClausePair) -> Mutant:
    killers = (KILLED[pair.name],) if pair.name in KILLED else ()
    return Mutant(
        name=pair.name,
        rule=f"{pair.case} expects `{pair.clause}`.",
        patches=(without(pair),),
        killers=killers,
        equivalent=EQUIVALENT.get(pair.name, ""),
    )


def clause_mutants() -> tuple[Mutant, ...]:
    """Return one mutant for each clause of each move. Raises `ValueError` without its fate."""
    return tuple(_mutant(pair) for pair in clause_pairs())
