"""The limits that ``@job(limits=[...])`` declares, checked where they are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Literal, TypeAlias, TypeVar

from hourhand.domain.limits.keys import InvalidLimit, KeyPath, KeySource, parse_key_path

MAX_LIMITS = 3
"""How many limits a job may have, of both kinds together."""

MAX_SLOTS = 1_000
MAX_WAITING = 10_000
MAX_SEATS = 100
"""Up to this ``max_waiting`` is exact; above, simultaneous arrivals may exceed it."""

MAX_LAZY_SLOTS = 2
"""The largest ``max`` of a lazy limit. One write unit costs as much as five read units, so up to
two lookups of holders are cheaper than freeing each slot."""

MAX_RATE_COUNT = 1_000_000
MAX_PER_SECONDS = 30 * 86_400
MAX_EXACT_COUNT = 100
"""So many start times fit in one item below 900 bytes."""

MAX_RATE_SHARDS = 50
MIN_COST = 0.001
MAX_COST = 1_000_000

SHARED_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What a limit may be named that handlers share."""

LIMIT_NAME = re.compile(r"[A-Za-z0-9_.-]{1,70}")
"""What a limit may be called: a name of its own, or a handler's name and a number."""

E = TypeVar("E", bound=StrEnum)


class OnFull(StrEnum):
    """What becomes of a job that finds no free slot."""

    WAIT = "wait"
    SKIP = "skip"
    CANCEL_RUNNING = "cancel_running"
    REPLACE_WAITING = "replace_waiting"


class Holds(StrEnum):
    """How long a job keeps its slot."""

    ATTEMPT = "attempt"
    JOB = "job"
    SUCCESS = "success"


class Order(StrEnum):
    """In which order waiting jobs get a slot: that of their due times, or fair to tenants."""

    DUE = "due"
    FAIR = "fair"


OnFullChoice: TypeAlias = OnFull | Literal["wait", "skip", "cancel_running", "replace_waiting"]
HoldsChoice: TypeAlias = Holds | Literal["attempt", "job", "success"]
OrderChoice: TypeAlias = Order | Literal["due", "fair"]


@dataclass(frozen=True, slots=True)
class Concurrency:
    """At most ``max`` jobs of one key run at a time: 1..1,000.

    ``key``: ``handler`` (default), ``tenant``, ``tags.x``, ``payload.a.b``, or a word that is the
    key itself. ``name`` makes the limit shared: all handlers that name it count together.
    ``on_full``: ``wait``, ``skip``, ``cancel_running`` or ``replace_waiting``. ``max_waiting``: how
    many jobs may wait, 1..10,000, exact up to 100; the others are cancelled. ``holds``: how long a
    job keeps its slot, ``attempt``, ``job`` or ``success``. ``order``: ``due``, or ``fair`` to
    tenants. Raises `InvalidLimit`, which names the wrong option.
    """

    max: int
    key: str = field(default="handler", kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    on_full: OnFullChoice = field(default=OnFull.WAIT, kw_only=True)
    max_waiting: int | None = field(default=None, kw_only=True)
    holds: HoldsChoice = field(default=Holds.ATTEMPT, kw_only=True)
    order: OrderChoice = field(default=Order.DUE, kw_only=True)

    def __post_init__(self) -> None:
        """Check each option, and that no two contradict each other."""
        require_whole("max", self.max, 1, MAX_SLOTS)
        path = parse_key_path(self.key)
        _require_name(self.name)
        on_full = _choose(self, "on_full", OnFull)
        holds = _choose(self, "holds", Holds)
        order = _choose(self, "order", Order)
        if self.max_waiting is not None:
            require_whole("max_waiting", self.max_waiting, 1, MAX_WAITING)
            if on_full is not OnFull.WAIT:
                raise InvalidLimit(
                    f"max_waiting cannot be given with on_full={on_full.value!r}: only "
                    "on_full='wait' lets more than the newest job wait."
                )
        if order is Order.FAIR and on_full is not OnFull.WAIT:
            raise InvalidLimit(
                f"order='fair' cannot be given with on_full={on_full.value!r}: only "
                "on_full='wait' has a queue."
            )
        if order is Order.FAIR and path.source is KeySource.TENANT:
            raise InvalidLimit(
                "order='fair' cannot be given with key='tenant': each queue has one tenant."
            )
        if holds is Holds.SUCCESS and on_full is OnFull.CANCEL_RUNNING:
            raise InvalidLimit(
                "holds='success' cannot be given with on_full='cancel_running': a job that ended "
                "DEAD keeps its slot and cannot be cancelled."
            )

    @property
    def path(self) -> KeyPath:
        """The ``key`` as it was parsed."""
        return parse_key_path(self.key)

    @property
    def is_lazy(self) -> bool:
        """Whether an end of a job writes only if another job waits."""
        return self.max <= MAX_LAZY_SLOTS


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``count`` jobs of one key start in ``per`` seconds: 1..1,000,000 in 1..2,592,000 s.

    ``burst``: how many may start at once after a pause (default: a tenth of ``count``, at least
    1). ``key`` and ``name``: as those of `Concurrency`. ``exact``: a sliding window, up to a
    ``count`` of 100. ``window='fixed'``: a fixed window. ``cost``: how many starts one job counts
    for, a number or a key path such as ``payload.tokens``. ``on='retry'``: only retries count;
    ``on='take'``: only what handlers take by ``ctx.limit(name).take()``.
    ``shards``: divides the rate where many jobs arrive at a low rate; at most ``burst``. Raises
    `InvalidLimit`.
    """

    count: int
    per: float = field(kw_only=True)
    burst: int | None = field(default=None, kw_only=True)
    key: str = field(default="handler", kw_only=True)
    name: str | None = field(default=None, kw_only=True)
    exact: bool = field(default=False, kw_only=True)
    window: Literal["fixed"] | None = field(default=None, kw_only=True)
    cost: float | str = field(default=1, kw_only=True)
    on: Literal["retry", "take"] | None = field(default=None, kw_only=True)
    shards: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check each option, and that no two contradict each other."""
        require_whole("count", self.count, 1, MAX_RATE_COUNT)
        _require_number("per", self.per, 1, MAX_PER_SECONDS, "a number of seconds")
        parse_key_path(self.key)
        _require_name(self.name)
        if not isinstance(self.exact, bool):
            raise InvalidLimit(f"exact must be True or False, not {self.exact!r}.")
        if self.window not in {None, "fixed"}:
            raise InvalidLimit(f"window must be 'fixed' or None, not {self.window!r}.")
        if self.on not in {None, "retry", "take"}:
            raise InvalidLimit(f"on must be 'retry', 'take' or None, not {self.on!r}.")
        if self.on == "take" and self.name is None:
            raise InvalidLimit("on='take' needs a name: handlers take from a limit by its name.")
        if self.burst is not None:
            require_whole("burst", self.burst, 1, MAX_RATE_COUNT)
        self._check_cost()
        self._check_window()
        self._check_shards()

    def _check_cost(self) -> None:
        if not isinstance(self.cost, str):
            _require_number("cost", self.cost, MIN_COST, MAX_COST, "a number")
            if self.cost > self.count:
                raise InvalidLimit(f"cost must be at most the count, {self.count}: {self.cost}.")
        elif parse_key_path(self.cost, "cost").source is not KeySource.PAYLOAD:
            raise InvalidLimit(
                f"cost must be a number or a field such as payload.tokens, not {self.cost!r}."
            )
        if self.on == "take" and self.cost != 1:
            raise InvalidLimit("cost cannot be given with on='take': each take states its own.")

    def _check_shards(self) -> None:
        if self.shards is None:
            return
        require_whole("shards", self.shards, 1, MAX_RATE_SHARDS)
        if self.shards > self.burst_size:
            raise InvalidLimit(
                f"shards must be at most the burst, which is {self.burst_size}, not {self.shards}: "
                "each shard starts at least one job at once. Give burst, or fewer shards."
            )

    def _check_window(self) -> None:
        if self.exact and self.window is not None:
            raise InvalidLimit("exact cannot be given with window: one of them is the window.")
        if self.exact and self.count > MAX_EXACT_COUNT:
            raise InvalidLimit(
                f"count must be at most {MAX_EXACT_COUNT} with exact=True, not {self.count}."
            )
        option = "exact" if self.exact else "window"
        if self.exact or self.window is not None:
            for other in ("burst", "shards"):
                if getattr(self, other) is not None:
                    raise InvalidLimit(f"{other} cannot be given with {option}.")
            if self.cost != 1:
                raise InvalidLimit(f"cost cannot be given with {option}: each start counts as one.")

    @property
    def path(self) -> KeyPath:
        """The ``key`` as it was parsed."""
        return parse_key_path(self.key)

    @property
    def burst_size(self) -> int:
        """How many starts may come at once: ``burst``, or a tenth of ``count``.

        Of a window: 1, for those that wait start by equal distances.
        """
        if self.exact or self.window is not None:
            return 1
        return self.burst if self.burst is not None else max(1, self.count // 10)

    def with_count(self, count: int) -> Rate:
        """Return the rate as it is with another count, which an operator set.

        The burst and the cost are at most the new count, and the shards are at most the burst.
        """
        burst = None if self.burst is None else min(self.burst, count)
        cost = self.cost if isinstance(self.cost, str) else min(self.cost, count)
        rate = replace(self, count=count, burst=burst, cost=cost, shards=None)
        return replace(rate, shards=min(self.shards, rate.burst_size)) if self.shards else rate


Limit: TypeAlias = Concurrency | Rate


def limit_names(handler: str, limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return the names of a handler's limits: their own, or ``<handler>.<n>``, n from 1.

    A name of its own has no dot, so the two kinds of names never meet.
    """
    return tuple(limit.name or f"{handler}.{n}" for n, limit in enumerate(limits, start=1))


def limit_ids(handler: str, limits: Sequence[Limit]) -> tuple[str, ...]:
    """Return what identifies a handler's limits in what is stored, whatever their order.

    That is the name, if a limit has one of its own; else the handler, the kind and the key, of
    which `check_limits` admits no two. So a deployment that adds a limit before another, and so
    gives it another name, changes neither its slots nor the number that an operator set.
    """
    return tuple(limit.name or f"{handler}:{_kind_of(limit)}:{limit.key}" for limit in limits)


def settable(limit: Limit) -> tuple[int, int]:
    """Return the lowest and the highest number that an operator may set for a limit."""
    if isinstance(limit, Concurrency):
        return 0, MAX_SLOTS
    return 1, MAX_EXACT_COUNT if limit.exact else MAX_RATE_COUNT


def check_limits(limits: Sequence[Limit]) -> None:
    """Raise `InvalidLimit` for too many limits, or two that nothing but their order tells apart."""
    if len(limits) > MAX_LIMITS:
        raise InvalidLimit(f"A handler has at most {MAX_LIMITS} limits, not {len(limits)}.")
    names = [limit.name for limit in limits if limit.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise InvalidLimit(f"Two limits of the handler have the name {name!r}.")
    unnamed = [(_kind_of(limit), limit.key) for limit in limits if limit.name is None]
    for kind, key in unnamed:
        if unnamed.count((kind, key)) > 1:
            raise InvalidLimit(
                f"Two {kind} limits of the handler have the key {key!r}: give one of them a name. "
                "A later deployment might else exchange what is stored for them."
            )


def require_whole(option: str, value: object, lowest: int, highest: int) -> None:
    """Raise `InvalidLimit` unless ``value`` is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise InvalidLimit(
            f"{option} must be a whole number from {lowest:,} to {highest:,}, not {value!r}."
        )


def _require_number(option: str, value: object, lowest: float, highest: int, what: str) -> None:
    # NaN compares as false, so it is refused as well.
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not lowest <= value <= highest
    ):
        raise InvalidLimit(f"{option} must be {what} from {lowest} to {highest:,}, not {value!r}.")


def _kind_of(limit: Limit) -> str:
    return "concurrency" if isinstance(limit, Concurrency) else "rate"


def _require_name(name: object) -> None:
    if name is not None and (not isinstance(name, str) or not SHARED_NAME.fullmatch(name)):
        raise InvalidLimit(
            f"The name of a limit is 1 to 64 of the characters A-Z a-z 0-9 _ -, not {name!r}."
        )


def _choose(limit: Concurrency, option: str, choices: type[E]) -> E:
    """Return the member of ``choices`` that an option names, and keep it in the limit."""
    given = getattr(limit, option)
    for choice in choices:
        if choice == given:
            object.__setattr__(limit, option, choice)
            return choice
    raise InvalidLimit(f"{option} must be one of {', '.join(choices)}, not {given!r}.")
