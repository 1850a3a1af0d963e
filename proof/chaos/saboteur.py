"""Does the planned faults to the cloud, and keeps a record of each."""

from __future__ import annotations

import heapq
import itertools
import queue
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from hourhand.domain.ticks.leases import LEADER
from proof.chaos.board import Board
from proof.chaos.evidence import Fault, Trouble
from proof.chaos.gather import longest_busy
from proof.chaos.plan import PlannedFault, Target
from proof.rig.cloud import RigCloud

LOOK_SECONDS = 0.002
HUNT_SECONDS = 20.0
"""Longer than a tick: by then somebody was in the midst of one."""

MOST_TRIES = 4
IDLE_SECONDS = 0.05
REPLACED_SECONDS = 0.25
DEEPEST_SECONDS = 0.15
"""How far into a tick a leader is struck, at most; one takes some 0.1 to 0.5 s."""


class SabotageFailed(Exception):
    """A fault could not be done: what comes after it was not done either."""


class Saboteur:
    """Two threads: one does what is due, the other hunts for leaders in the midst of a tick.

    ``dropped``: how many faults found nobody to strike, by what they were.
    """

    def __init__(
        self, cloud: RigCloud, board: Board, plan: Sequence[PlannedFault], seed: int
    ) -> None:
        """Take whom to strike, and when; `start` begins."""
        self.faults: list[Fault] = []
        self.dropped: Counter[str] = Counter()
        self._cloud = cloud
        self._board = board
        self._chance = random.Random(f"saboteur {seed}")
        self._numbers = itertools.count()
        self._plan = list(plan)
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._hunts: queue.SimpleQueue[PlannedFault | None] = queue.SimpleQueue()
        self._paused: dict[str, tuple[int, float, bool]] = {}
        self._clocks: dict[str, tuple[float, float]] = {}
        self._killed: set[int] = set()
        self._stopping = threading.Event()
        self._hunted_all = threading.Event()
        self._failure: BaseException | None = None
        self._lock = threading.RLock()
        self._threads = [
            threading.Thread(target=self._guard, args=(act,), name=name, daemon=True)
            for act, name in ((self._strike, "saboteur"), (self._hunt, "hunter"))
        ]

    @property
    def kills(self) -> int:
        """How many processes were killed by now."""
        return sum(fault.trouble is Trouble.KILL for fault in self.faults)

    def start(self) -> None:
        """Begin: the plan counts from now."""
        began = time.time()
        for fault in self._plan:
            self._later(began + fault.at_seconds, partial(self._do, fault))
        # Behind the last of the plan: then there is nothing more to hunt.
        last = max((fault.at_seconds for fault in self._plan), default=0.0)
        self._later(began + last, lambda: self._hunts.put(None))
        for thread in self._threads:
            thread.start()

    def check(self) -> None:
        """Raise `SabotageFailed` if a fault could not be done: nothing follows it."""
        if self._failure is not None:
            raise SabotageFailed("a fault could not be done") from self._failure

    def finish(self) -> None:
        """Do what is left of the plan, then let everybody go on, with right clocks.

        Raises `SabotageFailed` as `check` does.
        """
        for thread in self._threads:
            thread.join()
        self._let_go()
        self.check()

    def stop(self) -> None:
        """Give up: whoever is paused goes on."""
        self._stopping.set()
        # The hunter may wait for what to hunt.
        self._hunts.put(None)
        for thread in self._threads:
            if thread.ident is not None:
                thread.join()
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            for name in list(self._paused):
                self._resume(name)
            for name in list(self._clocks):
                self._set_right(name)

    def _guard(self, work: Callable[[], None]) -> None:
        """Do the work of a thread; what ends it early ends the other, and is kept for `check`."""
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is raised in `check`
            self._failure = self._failure or error
            self._stopping.set()
            self._hunts.put(None)

    # --- time ---

    def _later(self, at: float, act: Callable[[], None]) -> None:
        with self._lock:
            heapq.heappush(self._due, (at, next(self._numbers), act))

    def _strike(self) -> None:
        while not self._stopping.is_set():
            wait = IDLE_SECONDS
            with self._lock:
                if self._due:
                    at, _, act = self._due[0]
                    if at <= time.time():
                        heapq.heappop(self._due)
                        act()
                        continue
                    wait = min(wait, max(0.0, at - time.time()))
                elif self._hunted_all.is_set():
                    # Until then a hunt may have left something to be done later.
                    return
            self._stopping.wait(wait)

    def _do(self, fault: PlannedFault) -> None:
        if fault.target is Target.LEADER:
            self._hunts.put(fault)
        elif fault.trouble is Trouble.PURGE:
            began = time.time()
            self._cloud.purge()
            self.faults.append(Fault(Trouble.PURGE, "queues", 0, began, time.time()))
        elif fault.trouble is Trouble.KILL:
            self._kill(self._name(fault))
        elif fault.trouble is Trouble.PAUSE:
            # A pause is felt most by who is in the midst of something long.
            self._pause(self._longest_busy() or self._name(fault), fault.seconds)
        else:
            self._shift(self._name(fault), fault)

    def _name(self, fault: PlannedFault) -> str:
        is_worker = fault.target is Target.WORKER
        names = self._cloud.worker_names if is_worker else self._cloud.scheduler_names
        return names[fault.number % len(names)]

    def _longest_busy(self) -> str | None:
        name = longest_busy(self._cloud.news)
        return None if name in self._paused else name

    # --- the faults ---

    def _kill(self, name: str) -> None:
        began = time.time()
        if self._cloud.children[name].pid in self._killed:
            # It was struck just now, and the next one is not there yet.
            self._later(began + REPLACED_SECONDS, lambda: self._kill(name))
            return
        pid = self._cloud.signal(name, signal.SIGKILL)
        self._killed.add(pid)
        self._end_pause(name)
        self.faults.append(Fault(Trouble.KILL, name, pid, began, began))

    def _pause(self, name: str, seconds: float) -> None:
        if name in self._paused:
            self.dropped[f"{Trouble.PAUSE} of who was paused already"] += 1
            return
        self._go_on_after(seconds, name, self._halt(name, is_leader=False))

    def _halt(self, name: str, *, is_leader: bool) -> float:
        began = time.time()
        pid = self._cloud.signal(name, signal.SIGSTOP)
        self._paused[name] = (pid, began, is_leader)
        return began

    def _go_on_after(self, seconds: float, name: str, began: float) -> None:
        self._later(began + seconds, lambda: self._resume(name, began))

    def _resume(self, name: str, began: float | None = None) -> None:
        """End a pause: that one which began then, if it is told; it may be over since."""
        held = self._paused.get(name)
        if held is None or (began is not None and held[1] != began):
            return
        if self._cloud.children[name].pid == held[0]:
            self._cloud.signal(name, signal.SIGCONT)
        self._end_pause(name)

    def _end_pause(self, name: str) -> None:
        held = self._paused.pop(name, None)
        if held is not None:
            pid, began, is_leader = held
            fault = Fault(Trouble.PAUSE, name, pid, began, time.time(), is_leader=is_leader)
            self.faults.append(fault)

    def _shift(self, name: str, fault: PlannedFault) -> None:
        if name in self._clocks:
            self.dropped[f"{Trouble.CLOCK} of whose was wrong already"] += 1
            return
        began = time.time()
        self._clocks[name] = (began, fault.offset)
        self._board.set_clock(name, fault.offset)
        self._later(began + fault.seconds, lambda: self._set_right(name))

    def _set_right(self, name: str) -> None:
        began, offset = self._clocks.pop(name)
        self._board.set_clock(name, 0.0)
        self.faults.append(Fault(Trouble.CLOCK, name, 0, began, time.time(), seconds=offset))

    # --- leaders ---

    def _hunt(self) -> None:
        while (fault := self._hunts.get()) is not None and not self._stopping.is_set():
            if not self._strike_a_leader(fault) and not self._stopping.is_set():
                self._strike_anybody(fault)
        self._hunted_all.set()

    def _strike_a_leader(self, fault: PlannedFault) -> bool:
        """Try a few times; whether the fault is done with."""
        for _ in range(MOST_TRIES):
            name = self._somebody_ticking()
            if name is None:
                return False
            if self._strike_leader(name, fault):
                return True
        return False

    def _strike_anybody(self, fault: PlannedFault) -> None:
        """Nobody led when he was looked for: any scheduler is killed instead, and none paused."""
        with self._lock:
            if fault.trouble is Trouble.KILL:
                self._kill(self._cloud.scheduler_names[0])
            else:
                self.dropped[f"{fault.trouble} of a leader, for none was found"] += 1

    def _somebody_ticking(self) -> str | None:
        """Wait until a scheduler is in the midst of a tick; ``None``: none was for long."""
        give_up_at = time.time() + HUNT_SECONDS
        depth = self._chance.uniform(0.0, DEEPEST_SECONDS)
        while time.time() < give_up_at and not self._stopping.is_set():
            for name in self._cloud.scheduler_names:
                since = self._ticking_since(name)
                if name not in self._paused and 0 < since <= time.time() - depth:
                    return name
            time.sleep(LOOK_SECONDS)
        return None

    def _ticking_since(self, name: str) -> float:
        if self._cloud.children[name].pid in self._killed:
            return 0.0
        return self._board.ticking_since(name)

    def _strike_leader(self, name: str, fault: PlannedFault) -> bool:
        """Kill or pause it, and see whether it led; whether the fault is done with."""
        with self._lock:
            since = self._ticking_since(name)
            if since == 0 or name in self._paused:
                return False
            if fault.trouble is Trouble.KILL:
                self._kill(name)
                if self._is_leader(name, since):
                    self.faults[-1] = replace(self.faults[-1], is_leader=True)
                return True
            began = self._halt(name, is_leader=True)
            if self._is_leader(name, since):
                self._go_on_after(fault.seconds, name, began)
                return True
            self._paused.pop(name)
            self._cloud.signal(name, signal.SIGCONT)
            return False

    def _is_leader(self, name: str, since: float) -> bool:
        """Whether it holds the lease that it took in its tick: stopped, it gives up nothing."""
        lease = self._cloud.control.read_lease(LEADER)
        if lease is None or not lease.holder.startswith(f"{name}-"):
            return False
        return abs(lease.acquired_at.timestamp() - since) < HUNT_SECONDS
