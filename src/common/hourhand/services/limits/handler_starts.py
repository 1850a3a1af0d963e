"""The starts that handlers take of shared rate limits while they run: ``ctx.limit(name).take()``.

A start is taken as a job takes one before its claim: at once where there is no line, else at a time
that is reserved in the line, where it passes the gate. A handler that cannot wait so long ends its
attempt, and its next one finds the reservation in the job. So no handler polls, and none goes to
the end of the line again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.waiting import Reserved, ReservedStart, TakenStart
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.keys import InvalidLimit
from hourhand.domain.limits.rate_writes import Pass
from hourhand.domain.limits.rates import EARLY_START, PAID_FOR
from hourhand.services.limits.job_limits import JobLimits
from hourhand.services.limits.rate_limiters import Crowded, Given, Limiter, RateLimiters, TooFar

AT_ONCE = timedelta(0)
MOMENT = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class HandlerStarts:
    """Takes starts, and keeps the reservations of an attempt."""

    limits: JobLimits
    limiters: RateLimiters

    def take(
        self,
        job: Job,
        name: str,
        cost: float,
        longest: timedelta,
        reserved: Reserved,
    ) -> TakenStart:
        """Take a start of a shared rate limit; or reserve one, if none is as close as ``longest``.

        ``reserved``: the reservations of the attempt by the digests of their limits; one that is
        used is removed, a new one is added. Raises `InvalidLimit` and `Unavailable`.
        """
        limiter = self._limiter(job, name, cost)
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
        try:
            given = self._given(limiter, taker, early, came_back=held is not None)
        except TooFar:
            if job.expires_at is None:
                return TakenStart(is_start=False, wait=None)
            # Longer than the handler may wait: it ends its attempt, and the job expires.
            return TakenStart(is_start=False, wait=max(job.expires_at - now, longest) + MOMENT)
        except Crowded:
            return TakenStart(is_start=False, wait=self.limiters.ask_again())
        is_start = given.gives in {Pass.START, Pass.GATE}
        if is_start:
            reserved.pop(key, None)
        else:
            is_paid = given.gives is Pass.QUEUE_AT_GATE
            reserved[key] = ReservedStart(key, given.at, is_paid)
        return TakenStart(is_start=is_start, wait=max(given.at - clock.now(), AT_ONCE))

    def _given(self, limiter: Limiter, job: Job, early: timedelta, *, came_back: bool) -> Given:
        if came_back:
            return self.limiters.pass_gate(limiter, job, early)
        return self.limiters.start(limiter, job, early)

    def _limiter(self, job: Job, name: str, cost: float) -> Limiter | None:
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
