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
        about="A steady mix of jobs through the functions of one process each: no memory, thread,"
        " file or connection may be left behind.",
        covers="that warm functions leave nothing behind; nothing accepted is lost while they run",
        arguments=("--minutes", "30"),
        minutes=33,
        cores=0.5,
    ),
    Part(
        name="explorer",
        title="Every crash point and interleaving of the real services",
        about="The shipped services over the in-memory stores, one call at a time: every order of"
        " actors, with crashes, expiries, lost answers, throttles and stale reads, exhaustively"
        " at stated bounds and by seeded walks far beyond them.",
        covers="nothing accepted is lost; one live owner of a job, by its fencing token;"
        " no early run; final stays final; every dead letter is sent; a place of a"
        " group has one holder; each nominal time is once a job or a reason",
        minutes=22,
        cores=2.0,
    ),
    Part(
        name="mutants",
        title="Mutants of the shipped code",
        about="One rule of the real code broken at a time; each must be noticed, or be shown to be"
        " equivalent.",
        covers="that the rules which the other parts look for are the ones that the code"
        " keeps, clause by clause, down to the conditions written to DynamoDB",
        minutes=15,
        cores=2.0,
    ),
    Part(
        name="chaos",
        title="Real processes, killed at random",
        about="The local cloud with its scheduler and workers as processes that are killed, paused"
        " and given wrong clocks, and queues that are purged; handlers keep a ledger of their own.",
        covers="nothing accepted is lost, runs early or is committed by two, whatever"
        " dies; recovery within its bound",
        minutes=25,
    ),
    Part(
        name="wire",
        title="Faults on the wire",
        about="Every AWS call that we make, throttled, failed, timed out, applied with its answer"
        " lost, and slow: all jobs end as they should.",
        covers="nothing accepted is lost or sent twice for good where AWS refuses, fails,"
        " is slow, does a part or loses its answer",
        minutes=25,
    ),
    Part(
        name="api",
        title="The API under attack",
        about="Generated requests against the running server and its OpenAPI document, and a list"
        " of hostile ones: no 5xx, each answer as documented.",
        covers="that what is sent is data: refused as documented, or kept and given back"
        " unchanged; no address in it is called, also by the jobs that run with it",
        minutes=15,
    ),
    Part(
        name="rehearsals",
        title="Rehearsals of the runbook",
        about="Each failure of [the runbook](how-to/runbook.md), caused on the local cloud and"
        " fixed as the runbook says.",
        covers="that the runbook's signs and remedies are true, with no job lost on the way",
        arguments=("--all",),
        minutes=12,
    ),
    Part(
        name="virtual_year",
        title="A virtual year of schedules",
        about="Two hundred schedules through a year of outages, deaths, changes and clocks put"
        " back and forward: each nominal time is exactly once a job or a reason.",
        covers="each nominal time is exactly once a job or a reason, through outages,"
        " changes, and clocks put back and forward",
        arguments=("--seed", "1"),
        minutes=15,
    ),
    Part(
        name="reference",
        title="Against a reference model",
        about="Whatever is done in whatever order, the API answers what a tiny model of it says.",
        covers="that the API's states and answers are those that the documents promise, in"
        " any order of calls",
        minutes=6,
    ),
    Part(
        name="boto3_versions",
        title="Other versions of boto3",
        about="The packed functions, each in a fresh process, on the oldest boto3 that is promised,"
        " on the newest, and on one that is too old, as a layer may bring it.",
        covers="that the functions start and do their work on whichever boto3 Lambda has; that an"
        " old one costs speed and no job",
        minutes=5,
    ),
    Part(
        name="model",
        title="A model of the protocol, independent of the code",
        about="[A specification in Promela](explanation/model.md) of leader, dispatch, claim,"
        " expiry and recovery, checked completely at stated bounds; variants without a rule fail.",
        covers="one live owner, no early take-over, nothing lost, every job ends once"
        " faults stop, and the watermark's rule",
        minutes=6,
    ),
)
"""In the order in which they are started: the longest first, so that none is left for the end."""
