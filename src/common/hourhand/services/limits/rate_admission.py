"""The starts of rate limits: the rules of the admission check, and what handlers take.

A job that finds a line reserves a start time *before* it asks for slots, and passes the gate
*after* it holds every slot. So no job holds a slot while it waits for a time.

A handler takes a start of a shared rate limit, by ``ctx.limit(name).take()``, as a job takes one
before its claim: at once where there is no line, else at a time that is reserved in the line, where
it passes the gate. A handler that cannot wait so long ends its attempt, and its next one finds the
reservation in the job. So no handler polls, and none goes to the end of the line again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from hourhand.domain.jobs.job import ErrorInfo, Job
from hourhand.domain.jobs.transitions import change
from hourhand.domain.jobs.waiting import Reservation, Reserved, ReservedStart, TakenStart
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.domain.limits.rate_writes import Pass
from hourhand.domain.limits.rates import EARLY_START, LONGEST_HOLD, PAID_FOR
from hourhand.ports.job_store import Applied
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.aspects import Candidate, Deferred
from hourhand.services.jobs.due import DueJobs
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.rate_limiters import (
    Crowded,
    Given,
    Limiter,
    RateLimiters,
    TooFar,
)
from hourhand.services.optional import ask_optionally

TOO_LONG = "RateLimitTooLong"
"""The error of a job whose start time would be more than 30 days away."""

AT_ONCE = timedelta(0)
MOMENT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RateWaits:
    """Takes starts of rate limits for jobs and handlers, and moves a job to the time it got."""

    limits: JobLimits
    limiters: RateLimiters
    due: DueJobs
    telemetry: Telemetry
    worker: str

    def of(self, job: Job) -> list[Limiter]:
        """Return the rate limiters of a job, in the order of the installation."""
        fields = self.limits.fields(job)
        found = (self.limiters.of(limit, job, fields) for limit in self.limits.of(job))
        return [limiter for limiter in found if limiter is not None]

    def start(
        self,
        candidate: Candidate,
        job: Job,
        limiters: Sequence[Limiter],
        take: Callable[[Limiter], Given],
        *,
        reserves: bool = False,
    ) -> Deferred | None:
        """Take a start of each limiter, then wait it out, or move the job to the time that it got.

        ``reserves``: the job reserves a time at all limiters. Else the first one decides at which
        it may not start yet.
        """
        given: list[tuple[Limiter, Given]] = []
        for limiter in limiters:
            try:
                got = take(limiter)
            except TooFar:
                return self.end_too_far(candidate, job, limiter)
            except Crowded:
                return self.ask_again()
            given.append((limiter, got))
            if not got.gives.is_start and not reserves:
                break
        if not all(got.gives.is_start for _, got in given):
            return self.move(job, given)
        # The start is at most two seconds away.
        rest = max(got.at for _, got in given) - self.limiters.clock.now()
        if rest > AT_ONCE:
            self.limiters.clock.sleep(rest.total_seconds())
        return None

    def ask_again(self) -> Deferred:
        """Hide the message of a job that changed, or that lost every race for a start time."""
        return Deferred(self.limiters.ask_again())

    def move(self, job: Job, given: Sequence[tuple[Limiter, Given]]) -> Deferred:
        """Move a job to the latest time that it got. The move releases the slots that it has."""
        at = max(each.at for _, each in given)
        # A gate that was passed long before that time must be passed again.
        paid = frozenset(
            limiter.limit.position
            for limiter, each in given
            if each.gives is not Pass.RESERVE and each.at + PAID_FOR >= at
        )
        names = ", ".join(limiter.limit.name for limiter, _ in given)
        sets = {"reservation": Reservation(at, paid)}
        build = partial(change, sets=sets, reason=f"the rate of {names} is reached")
        # A crowded gate may give a time at which the job has expired: it ends when it expires.
        due_at = at if job.expires_at is None else min(at, job.expires_at)
        result = self.due.move(job, due_at, build, self.worker)
        if not isinstance(result, Applied):
            return self.ask_again()
        self.telemetry.count("starts_reserved")
        return Deferred()

    def hold(self, job: Job, until: datetime) -> None:
        """Let no job start before ``until`` that has the rate limits of ``job``.

        At most for `LONGEST_HOLD`. Raises nothing: the outcome of the attempt, which asked for it,
        must be committed.
        """
        latest = self.limiters.clock.now() + LONGEST_HOLD
        if until > latest:
            self.telemetry.warning(
                "A handler asked to hold the rate limits of its job for longer than they can be "
                "held. Other jobs of these limits start again before that time.",
                job_id=job.id,
                asked_until=until.isoformat(),
                held_until=latest.isoformat(),
            )
        ask_optionally(
            self.telemetry,
            "The rate limits of a job could not be held back after a refusal. The jobs that start "
            "meanwhile may be refused, too.",
            partial(self._hold, job, min(until, latest)),
        )

    def _hold(self, job: Job, until: datetime) -> None:
        # Also those that count nothing of this attempt: the refusal concerns them as well.
        for limit in self.limits.of(job):
            if isinstance(limit.limit, Rate):
                self.limiters.hold(limit, limit.limit, until)

    def end_too_far(self, candidate: Candidate, job: Job, limiter: Limiter) -> Deferred | None:
        """End a job for which no start time is left: EXPIRED at its expiry, else DEAD."""
        if job.expires_at is not None:
            # It would start after its expiry: it ends EXPIRED then, and wastes no start time.
            reason = f"the rate of {limiter.limit.name} has no start before it expires"
            build = partial(change, sets={}, reason=reason)
            result = self.due.move(job, job.expires_at, build, self.worker)
            return Deferred() if isinstance(result, Applied) else self.ask_again()
        message = f"The rate limit {limiter.limit.name} has no start within 30 days."
        candidate.error = ErrorInfo(type=TOO_LONG, message=message, retryable=False)
        return None

    def take(
        self,
        job: Job,
        name: str,
        cost: float,
        longest: timedelta,
        reserved: Reserved,
    ) -> TakenStart:
        """Take a start for a handler; or reserve one, if none is as close as ``longest``.

        ``reserved``: the reservations of the attempt by the digests of their limits; one that is
        used is removed, a new one is added. Raises `InvalidLimit` and `Unavailable`.
        """
        limiter = self._limiter_named(job, name, cost)
        if limiter is None:
            return TakenStart(is_start=True, wait=AT_ONCE)
        key, clock = limiter.limit.digest16, self.limiters.clock
        held, now = reserved.get(key), clock.now()
        if held is not None and held.at > now:
            return TakenStart(is_start=False, wait=held.at - now)
        if held is not None and held.is_paid and now <= held.at + PAID_FOR:
            del reserved[key]
            return TakenStart(is_start=True, wait=AT_ONCE)
        taker = job
        if job.expires_at is not None:
            # The job runs, so only its next attempt can expire: not a start that is waited for.
            taker = replace(job, expires_at=max(job.expires_at, now + longest))
        early = min(longest, EARLY_START)
        start = self.limiters.start if held is None else self.limiters.pass_gate
        try:
            given = start(limiter, taker, early)
        except TooFar:
            if job.expires_at is None:
                return TakenStart(is_start=False, wait=None)
            # Longer than the handler may wait: it ends its attempt, and the job expires.
            return TakenStart(is_start=False, wait=max(job.expires_at - now, longest) + MOMENT)
        except Crowded:
            return TakenStart(is_start=False, wait=self.limiters.ask_again())
        if given.gives.is_start:
            reserved.pop(key, None)
        else:
            is_paid = given.gives is Pass.QUEUE_AT_GATE
            reserved[key] = ReservedStart(key, given.at, is_paid)
        return TakenStart(is_start=given.gives.is_start, wait=max(given.at - clock.now(), AT_ONCE))

    def _limiter_named(self, job: Job, name: str, cost: float) -> Limiter | None:
        """Return the limiter of a name; ``None`` for a rate that counts only later attempts."""
        limit = self.limits.shared(job, name)
        rate = limit.limit
        assert isinstance(rate, Rate)
        if rate.on == "retry" and job.attempt <= 1:
            return None
        if cost > rate.count:
            raise InvalidLimit(
                f"cost must be at most {rate.count:,}, the count of {name!r}, not {cost:g}."
            )
        limiter = self.limiters.limiter(limit, rate, job, lambda: cost)
        if limiter.windows is not None and cost != 1:
            raise InvalidLimit(f"cost cannot be given for {name!r}: its window counts each as one.")
        return limiter


@dataclass(frozen=True, slots=True)
class LineRule:
    """Implements the `StartRule` of the lines: comes before the rule of slots."""

    waits: RateWaits

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Let a job reserve a start time where others did before it. Raises `Unavailable`."""
        job = candidate.to_admit(self.waits.limiters.clock)
        if job is None or job.reservation is not None or job.is_parked:
            return None
        limiters = self.waits.of(job)
        if not any(self.waits.limiters.has_line(one) for one in limiters):
            return None
        reserve = partial(self.waits.limiters.reserve, job=job)
        return self.waits.start(candidate, job, limiters, reserve, reserves=True)


@dataclass(frozen=True, slots=True)
class GateRule:
    """Implements the `StartRule` of the gates: comes after the rule of slots, before the claim."""

    waits: RateWaits

    def admit(self, candidate: Candidate) -> Deferred | None:
        """Let a job pass every gate, or send it back with a start time. Raises `Unavailable`."""
        job = candidate.to_admit(self.waits.limiters.clock)
        if job is None:
            return None
        limiters = self.waits.of(job)
        if not limiters:
            return None
        start = partial(self.waits.limiters.start, job=job)
        if job.reservation is not None:
            now = self.waits.limiters.clock.now()
            start = partial(self._come_back, job=job, reservation=job.reservation, now=now)
        return self.waits.start(candidate, job, limiters, start)

    def _come_back(
        self, limiter: Limiter, job: Job, reservation: Reservation, now: datetime
    ) -> Given:
        """Let a job pass a gate that came back at its time, unless it has paid for it."""
        is_paid = now <= reservation.at + PAID_FOR
        has_paid = is_paid and limiter.limit.position in reservation.paid
        if has_paid and not self.waits.limiters.was_reset(limiter, job.history[-1].at):
            return Given(Pass.GATE, reservation.at)
        return self.waits.limiters.pass_gate(limiter, job)
