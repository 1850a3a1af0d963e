"""Which mutants the explorer kills too, and in which of its scenarios.

It looks through every interleaving within the limits of a scenario; a mutant that it is to kill
must be named here with the scenario that shows it, and with its limits where they are others.
"""

from __future__ import annotations

from collections.abc import Mapping

BY_EXPLORER: Mapping[str, str] = {
    "mark_enqueued without status": "batch",
    "mark_dispatched_again without status": "missed",
    "claim without status": "one-job",
    "claim without not_expired": "expires",
    "unmark of a submission without status": "batch, crashes=0 lost_answers=1",
    "heartbeat without token": "one-job",
    "complete without status": "one-job",
    "complete without token": "one-job",
    "retry_later without status": "retry",
    "retry_later without token": "retry",
    "cancel_waiting without status": "cancel",
    "request_cancel without status": "cancel",
    "finish without generation": "dead, crashes=0 expiries=0",
    "change without status": "change",
    "change without generation": "change",
    "mark before send": "ahead",
    "a refused entry counts as sent": "ahead",
    "a submission that stalled is acknowledged as it is": "watermark",
    "the watermark passes an open bucket": "watermark",
    "a lost message is not missed": "missed",
    "a debt is not paid": "dead",
    "the sweep recovers nobody": "messages",
    "a refused message is deleted": "messages-alone",
    "any write is taken for one's own": "one-job",
    "a token that does not rise": "one-job",
    "a snooze uses an attempt up": "retry",
    "one attempt too many": "retry",
    "a retry keeps its generation": "retry",
    "a recovery that names no lease": "one-job",
    "the entry goes before the letter": "dead",
    "a job dies and its entry goes": "dead",
    "a lost job dies and its entry goes": "last-attempt",
    "a put over what is there": "key",
    "what is on record under a key is done again": "key",
    "a run that ended keeps its place": "overlap-buffer-all",
}
