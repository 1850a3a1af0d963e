"""The transitions of a job: each conditional write of the protocol as a value.

A `Transition` says which clauses the stored item must satisfy and what then changes. Stores apply a
move whole or not at all. Each clause has a name; ``tests/unit/domain/test_conditions.py`` drops
every one in turn and shows the harm that it prevents.

A refusal may be a lost answer: the write was applied, the caller did not hear of it and tried
again. `Transition.made_by_me` recognises that by what only this very write can have left behind.
"""

from hourhand.domain.jobs.transitions._attempt import (
    claim,
    complete,
    die,
    end_cancelled,
    hand_back,
    heartbeat,
    retry_later,
    take_over,
)
from hourhand.domain.jobs.transitions._dispatch import (
    EnqueuedMarks,
    keep_payload,
    mark_dispatched_again,
    mark_enqueued,
    refile,
    unmark,
)
from hourhand.domain.jobs.transitions._operations import (
    adopt,
    cancel_waiting,
    change,
    debounce,
    discard,
    redrive,
    request_cancel,
    supersede,
)
from hourhand.domain.jobs.transitions._parts import KEY_HOLDS_AT_LEAST, keep_after_end
from hourhand.domain.jobs.transitions._recovery import expire, finish, give_up, recover
from hourhand.domain.jobs.transitions._runs import (
    clear_flag,
    count_signal,
    flag,
    keep_journal,
    mark_compensated,
    prolong_child,
    restart,
    suspend,
    wake,
)
from hourhand.domain.jobs.transitions._transition import Transition, recording
from hourhand.domain.jobs.transitions._waiting import park, unpark

__all__ = [
    "KEY_HOLDS_AT_LEAST",
    "EnqueuedMarks",
    "Transition",
    "adopt",
    "cancel_waiting",
    "change",
    "claim",
    "clear_flag",
    "complete",
    "count_signal",
    "debounce",
    "die",
    "discard",
    "end_cancelled",
    "expire",
    "finish",
    "flag",
    "give_up",
    "hand_back",
    "heartbeat",
    "keep_after_end",
    "keep_journal",
    "keep_payload",
    "mark_compensated",
    "mark_dispatched_again",
    "mark_enqueued",
    "park",
    "prolong_child",
    "recording",
    "recover",
    "redrive",
    "refile",
    "request_cancel",
    "restart",
    "retry_later",
    "supersede",
    "suspend",
    "take_over",
    "unmark",
    "unpark",
    "wake",
]
