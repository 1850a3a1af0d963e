"""The scenarios of what a job tells of itself: full records, keys, rounds, attempts handed back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hourhand.domain.ids import idempotency_record_key
from hourhand.domain.jobs.job import Job
from hourhand.ports.handler_runner import Finished, Pulse
from proof.explorer.operations import changes, operates, refiles, submits, submitted
from proof.explorer.process import hand_back, stay
from proof.explorer.scenario import CRASH, QUIET, SECOND, Limits, Scenario, scenarios_among
from tests.scenarios.steps import (
    BESIDE,
    FAR,
    IN_BUCKET,
    after,
    cancel_while_running,
    delivered,
    passed,
    purged,
    worn,
)
from tests.world.factories import make_record
from tests.world.runs import fail, fail_for_good, snooze, stop_if_told, succeed
from tests.world.world import World


def _sent(**body: Any) -> Any:
    return after(submitted(**body), worn, _only_the_newest)


def _only_the_newest(world: World) -> None:
    """Let go of the messages that the changes made stale."""
    newest = world.job("one").generation
    contents = world.queues._contents.messages
    for message_id, held in list(contents.items()):
        if held.message.generation != newest:
            del contents[message_id]


FULL_RECORD = Scenario(
    name="full-record",
    about="a job whose record is full is worked off while its entry is filed anew",
    arrange=_sent(),
    operations=(refiles(),),
    ticks=1,
    deliveries=1,
    handlers={"succeed": succeed, "fail": fail, "fail for good": fail_for_good},
    limits=Limits(crashes=1, expiries=1),
)

FULL_TAKEN = replace(
    FULL_RECORD,
    name="full-taken",
    about="a job whose record is full is taken over from a dead worker as its entry is filed anew",
    ticks=0,
    deliveries=2,
    handlers={"succeed": succeed},
)

FULL_STOPPED = replace(
    FULL_RECORD,
    name="full-stopped",
    about="a job whose record is full is cancelled while its entry is filed anew",
    operations=(refiles(), operates("canceller", "cancel")),
    ticks=0,
    handlers={"look": stop_if_told},
    limits=CRASH,
)

FULL_LEFT = replace(
    FULL_RECORD,
    name="full-left",
    about="a job whose record is full, and whose worker died after it was asked to stop",
    arrange=after(_sent(), cancel_while_running, passed(50)),
    deliveries=0,
)

FULL_HANDED_BACK = replace(
    FULL_RECORD,
    name="full-handed-back",
    about="a job whose record is full is handed back as its entry is filed anew",
    handlers={"succeed": succeed, "hand back": hand_back},
    limits=QUIET,
)

FULL_LOST = replace(
    FULL_RECORD,
    name="full-lost",
    about="a job whose record is full and that must not run again is lost as its entry is filed",
    arrange=_sent(on_lost="dead"),
    deliveries=1,
    handlers={"succeed": succeed},
)

FULL_WAITING = Scenario(
    name="full-waiting",
    about="a job whose record is full is sent, put forward and refused as its entry is filed anew",
    arrange=after(submitted(delay_seconds=FAR), worn, passed(FAR - 200)),
    operations=(refiles(), operates("hurrier", "run_now")),
    ticks=1,
    limits=Limits(crashes=0, expiries=0, throttles=1),
)

FULL_MISSED = Scenario(
    name="full-missed",
    about="a job whose record is full is sent again, or refused, as its entry is filed anew",
    arrange=after(_sent(), purged, passed(61)),
    operations=(refiles(),),
    ticks=1,
    deliveries=1,
    handlers={"fail": fail, "succeed": succeed},
    limits=Limits(crashes=0, expiries=0, throttles=1),
)

FULL_EXPIRED = Scenario(
    name="full-expired",
    about="a job whose record is full expires as its entry is filed anew",
    arrange=after(_sent(expires_at="2026-01-05T09:00:30Z"), passed(31)),
    operations=(refiles(),),
    ticks=1,
    deliveries=1,
    limits=CRASH,
)

STOPPED = Scenario(
    name="stopped",
    about="a job that fails, or is put off or lost, beside somebody who cancels it",
    arrange=submitted(retry={"max_attempts": 3}),
    operations=(operates("canceller", "cancel"),),
    ticks=1,
    deliveries=2,
    handlers={
        "look": stop_if_told,
        "fail": fail,
        "fail for good": fail_for_good,
        "snooze": snooze(30),
    },
    limits=CRASH,
)

STOPPED_AND_TAKEN = replace(
    STOPPED,
    name="stopped-and-taken",
    about="a job whose worker died is taken over, or declared lost, beside somebody who cancels it",
    handlers={"look": stop_if_told},
    limits=Limits(crashes=0, expiries=1),
)

ZOMBIE_STOPPED = replace(
    STOPPED_AND_TAKEN,
    name="zombie-stopped",
    about="a paused worker's attempt fails after another took over and was asked to stop",
    handlers={"fail": fail},
)

STOPPED_AND_LOST = replace(
    STOPPED,
    name="stopped-and-lost",
    about="a job that must not run again is lost, beside somebody who cancels it",
    arrange=submitted(on_lost="dead"),
    handlers={"look": stop_if_told},
    deliveries=1,
    limits=Limits(crashes=1, expiries=1),
)

STOPPED_TWICE = replace(
    STOPPED,
    name="stopped-twice",
    about="two who cancel a job at different times, and its worker",
    arrange=submitted(),
    operations=(operates("canceller", "cancel"), operates("another", "cancel")),
    ticks=0,
    deliveries=1,
    handlers={"look": stop_if_told},
    instants=(SECOND,),
    limits=Limits(crashes=0, expiries=1),
)

HANDED_BACK = Scenario(
    name="handed-back",
    about="a process ends for another job's sake, and hands back the one that it runs",
    arrange=submitted(),
    ticks=1,
    deliveries=2,
    handlers={"succeed": succeed, "hand back": hand_back},
    limits=Limits(crashes=0, expiries=1),
)

STUCK = Scenario(
    name="stuck",
    about="a handler that ignores its time limit, whose process ends late: no retry meets it",
    arrange=submitted(retry={"max_attempts": 2, "base_seconds": 0, "jitter": "none"}),
    ticks=1,
    deliveries=2,
    handlers={"succeed": succeed, "stay": stay},
    limits=Limits(crashes=0, expiries=1, liveness="rest"),
)

STOPPED_BY_A_COPY = Scenario(
    name="copied-request",
    about="a request to stop that arrives twice, the second time after the job was redriven",
    arrange=submitted(),
    operations=(
        operates("canceller", "cancel"),
        replace(operates("redriver", "redrive"), after=("canceller",)),
    ),
    deliveries=2,
    handlers={"look": stop_if_told},
    limits=Limits(crashes=0, expiries=0, copies=1),
)


def _beats_twice(job: Job, pulse: Pulse) -> Finished:
    pulse.beat(None)
    pulse.beat(None)
    return succeed(job, pulse)


COPIED_BEAT = Scenario(
    name="copied-beat",
    about="a heartbeat that arrives twice, the second time after the next heartbeat",
    arrange=submitted(),
    deliveries=1,
    handlers={"beat": _beats_twice},
    instants=(15 * SECOND, 30 * SECOND),
    limits=Limits(crashes=0, expiries=2, copies=1, liveness="none"),
)

HANDED_BACK_STOPPED = replace(
    HANDED_BACK,
    name="handed-back-stopped",
    about="a process ends for another job's sake while somebody cancels the one that it runs",
    operations=(operates("canceller", "cancel"),),
    ticks=0,
)

KEPT_BACK = replace(
    HANDED_BACK,
    name="kept-back",
    about="a process that ends for another job's sake, and a job that must not run again",
    arrange=submitted(on_lost="dead"),
    limits=Limits(crashes=0, expiries=1),
)

REDRIVEN = Scenario(
    name="redriven",
    about="a job that is cancelled, or dies of its only attempt, and is sent round again",
    arrange=submitted(retry={"max_attempts": 1}),
    operations=(operates("canceller", "cancel"), operates("redriver", "redrive")),
    deliveries=3,
    handlers={"succeed": succeed, "look": stop_if_told, "fail": fail},
    limits=Limits(crashes=1, expiries=0, throttles=1),
)

REDRIVEN_TWICE = Scenario(
    name="redriven-twice",
    about="a job that died, and two who send it round again",
    arrange=submitted(retry={"max_attempts": 1}),
    operations=(operates("redriver", "redrive"), operates("another", "redrive")),
    deliveries=2,
    workers=1,
    handlers={"fail": fail},
    limits=QUIET,
)

REDRIVEN_SUCCESS = Scenario(
    name="redriven-success",
    about="a job that succeeded, and what people ask of it",
    arrange=submitted(),
    operations=(
        operates("redriver", "redrive"),
        operates("hurrier", "run_now"),
        changes("changer", delay_seconds=FAR),
    ),
    deliveries=2,
    limits=QUIET,
)


DISCARDED = Scenario(
    name="discarded",
    about="a job that dies of its only attempt is discarded, and sent round again",
    arrange=submitted(retry={"max_attempts": 1}),
    operations=(operates("discarder", "discard"), operates("redriver", "redrive")),
    ticks=1,
    deliveries=2,
    handlers={"fail": fail, "succeed": succeed},
    limits=Limits(crashes=1, expiries=0, throttles=1),
)

DISCARDED_TWICE = Scenario(
    name="discarded-twice",
    about="a job that died, and two who discard it at different times",
    arrange=after(submitted(retry={"max_attempts": 1}), delivered(fail)),
    operations=(operates("discarder", "discard", note="a"), operates("another", "discard")),
    instants=(SECOND,),
    limits=Limits(crashes=1, expiries=1, lost_answers=1),
)

DISCARDED_BY_A_COPY = Scenario(
    name="copied-discard",
    about="a discard that arrives twice, the second time after the job was redriven and died again",
    arrange=after(submitted(retry={"max_attempts": 1}), delivered(fail)),
    operations=(
        operates("discarder", "discard"),
        replace(operates("redriver", "redrive"), after=("discarder",)),
    ),
    deliveries=1,
    handlers={"fail": fail},
    limits=Limits(crashes=0, expiries=0, copies=1),
)

FULL_DISCARDED = Scenario(
    name="full-discarded",
    about="a dead job whose record is full is redriven as it is discarded",
    arrange=after(_sent(), delivered(fail_for_good)),
    operations=(
        operates("discarder", "discard", note="the list of the spring campaign was wrong"),
        operates("redriver", "redrive", reason="the handler of the campaign is fixed now"),
    ),
    deliveries=1,
    limits=CRASH,
)

IN_THE_BUCKET = replace(
    REDRIVEN,
    name="in-the-bucket",
    about="a job whose payload lies in the bucket dies, is cancelled and redriven",
    arrange=submitted(payload=IN_BUCKET),
    handlers={"succeed": succeed, "fail for good": fail_for_good},
    deliveries=2,
    limits=QUIET,
)


def keyed(world: World) -> None:
    """Submit a job under a key."""
    world.submit(idempotency_key="k", id=None)


def _on_record(world: World, **fields: Any) -> None:
    """Let another job have worked under the key of the one that comes."""
    key = idempotency_record_key(None, "k")
    world.keys.begin(make_record(key=key, job_id="other", **fields), now=world.clock.now())


PAYLOAD_RACED = Scenario(
    name="payload-raced",
    about="two submissions of one id with one payload, kept beside it for different times",
    operations=(
        submits("longer", payload=BESIDE, delay_seconds=FAR),
        submits("shorter", payload=BESIDE, delay_seconds=FAR, retention_seconds=0),
    ),
    limits=CRASH,
)

KEY_LOST = Scenario(
    name="key-lost",
    about="two workers under one key, one of which dies, or is paused past its lease",
    arrange=keyed,
    deliveries=2,
    handlers={"succeed": succeed, "fail": fail},
    limits=Limits(crashes=1, expiries=1, duplicates=1),
)

KEY_TAKEN = Scenario(
    name="key-taken",
    about="a job whose key another job works under that is gone since",
    arrange=after(_on_record, keyed),
    deliveries=1,
    limits=CRASH,
)


def _done_and_deleted(world: World) -> None:
    """Let a job under a key end and be deleted; the record of what it did stays."""
    world.submit(idempotency_key="k", id=None, payload=1, retention_seconds=0)
    world.settle()
    world.advance(25 * 3600)
    assert world.store.delete_expired(world.clock.now()) > 0
    assert world.keys.records()


KEY_FREE_AGAIN = Scenario(
    name="key-free-again",
    about="a job under a key whose job is deleted, submitted twice, with the record still there",
    arrange=_done_and_deleted,
    operations=(
        submits("submitter", None, idempotency_key="k", payload=1),
        submits("repeater", None, idempotency_key="k", payload=1),
    ),
    deliveries=2,
    handlers={"succeed": succeed, "fail": fail},
    limits=CRASH,
)

KEY_FREE_FOR_OTHERS = replace(
    KEY_FREE_AGAIN,
    name="key-free-for-others",
    about="a job with another payload under a key whose job is deleted, and its worker dies",
    operations=(submits("submitter", None, idempotency_key="k", payload=2),),
    handlers={"succeed": succeed},
    limits=Limits(crashes=1, expiries=1),
)

OTHER_KEYS = Scenario(
    name="key-anew",
    about="a submission under a key that is repeated with another body",
    operations=(
        submits("submitter", None, idempotency_key="k", payload=1),
        submits("repeater", None, idempotency_key="k", payload=2),
    ),
    deliveries=1,
    limits=Limits(crashes=1, expiries=0, lost_answers=1),
)

RECORDED = scenarios_among(vars())
