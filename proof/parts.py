"""The parts of the proof: what each shows, the command that runs it, and what it may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part. ``name`` is its package under `proof`.

    ``about`` says in a sentence or two what it does and what would break it; ``covers``, which of
    the invariants are at stake. ``minutes``: how long it may take beside the others on two cores;
    ``cores``: what it keeps busy of them.
    """

    name: str
    title: str
    about: str
    covers: str = ""
    arguments: tuple[str, ...] = ()
    minutes: float
    cores: float = 1.0

    @property
    def module(self) -> str:
        """The module that ``python -m`` runs."""
        return f"proof.{self.name}"


PARTS = (
    Part(
        name="soak",
        title="A long run",
        about="A steady mix of jobs runs through the functions, one process each. No memory,"
        " thread, file or connection may leak.",
        covers="warm functions leak nothing; no accepted job is lost while they run",
        arguments=("--minutes", "30"),
        minutes=33,
        cores=0.5,
    ),
    Part(
        name="explorer",
        title="Every crash point and interleaving of the real services",
        about="The shipped services run over the in-memory stores, one call at a time, in every"
        " order of actors, with crashes, expiries, lost answers, throttles and stale reads:"
        " exhaustively within stated bounds, and by seeded random walks far beyond them.",
        covers="no accepted job is lost; a job has one live owner, by its fencing token;"
        " no job runs early; a final state stays final; every dead letter is sent; a slot of a"
        " group has one holder; each scheduled time is one job or one reason",
        minutes=35,
        cores=2.0,
    ),
    Part(
        name="mutants",
        title="Mutants of the shipped code",
        about="Each mutant breaks one rule of the real code. The proof must detect it, or show that"
        " it is equivalent.",
        covers="the other parts check the rules that the code needs, condition by condition, down"
        " to the conditions written to DynamoDB",
        minutes=45,
        cores=2.0,
    ),
    Part(
        name="chaos",
        title="Real processes, killed at random",
        about="The local cloud runs while scheduler and worker processes are killed, paused and"
        " given wrong clocks, and queues are purged. Handlers keep a ledger of their own.",
        covers="no accepted job is lost, runs early or is committed by two owners, whichever"
        " process dies; recovery takes no longer than its bound",
        minutes=25,
    ),
    Part(
        name="run_chaos",
        title="Durable runs, whose workers are killed",
        about="500 durable runs of 40 steps run on the local cloud while its workers are killed at"
        " random. A ledger outside counts the effects of each step by its key.",
        covers="every run ends with the result of its first tries; each step has its effect at"
        " least once and exactly one record, whichever worker dies",
        minutes=12,
    ),
    Part(
        name="fan_out_chaos",
        title="Fan-outs, under kills and purges",
        about="50 fan-outs of 500 child jobs, as maps and as batches, run on the local cloud while"
        " workers and the scheduler are killed and queues are purged. A ledger outside has a line"
        " of each child and of each callback that ran.",
        covers="every child runs, and each run counts the end of each of its children exactly once;"
        " each callback of a batch exists once, succeeds once, and follows all children",
        minutes=38,
    ),
    Part(
        name="wire",
        title="Faults on the wire",
        about="Every call to AWS is throttled, fails, times out, is applied with its answer lost,"
        " and is slow. All jobs end as they should.",
        covers="no accepted job is lost or completed twice if AWS refuses, fails, is slow, does a"
        " part or loses its answer",
        minutes=35,
    ),
    Part(
        name="api",
        title="The API under attack",
        about="Generated requests and a list of hostile ones are sent to the running server. No"
        " answer is a 5xx, and each is as the OpenAPI document says.",
        covers="input is only data: it is refused as documented, or stored and returned unchanged;"
        " neither the API nor a job calls an address in it",
        minutes=15,
    ),
    Part(
        name="rehearsals",
        title="Rehearsals of the runbook",
        about="Each failure of [the runbook](how-to/runbook.md) is caused on the local cloud and"
        " repaired as the runbook says.",
        covers="the runbook's symptoms and repairs are correct, and no job is lost meanwhile",
        arguments=("--all",),
        minutes=12,
    ),
    Part(
        name="virtual_year",
        title="A virtual year of schedules",
        about="Two hundred schedules run through a year of outages, crashes, changes and clock"
        " changes.",
        covers="each scheduled time is exactly one job or one reason, through outages, changes and"
        " clock changes",
        arguments=("--seed", "1"),
        minutes=20,
    ),
    Part(
        name="reference",
        title="Against a reference model",
        about="Generated calls in any order: the API answers as a small model of it does.",
        covers="the API's states and answers are as documented, in any order of calls",
        minutes=6,
    ),
    Part(
        name="boto3_versions",
        title="Other versions of boto3",
        about="The packed functions run, each in a fresh process, on the oldest supported boto3, on"
        " the newest, and on one that is too old, as a layer may contain it.",
        covers="the functions start and work on any boto3 that Lambda may have; an old one makes"
        " them slower and loses no job",
        minutes=5,
    ),
    Part(
        name="model",
        title="A model of the protocol, independent of the code",
        about="[A specification in Promela](explanation/model.md) of leader, dispatch, claim,"
        " expiry and recovery is checked completely within stated bounds. Variants without a rule"
        " fail.",
        covers="one live owner; no early take-over; no lost job; every job ends after the last"
        " fault; the rule of the watermark",
        minutes=6,
    ),
)
"""In the order in which they are started: the longest first, so that none is left for the end."""
