"""The shared state of one process's records, and when the process must end."""

from __future__ import annotations

import threading

from hourhand.worker._call import HandlerCall


class Record:
    """One message that is being handled. ``wake`` is set when its thread should look again."""

    def __init__(self) -> None:
        """Start with nothing stuck."""
        self.wake = threading.Event()
        self.is_stuck = False


class WorkerProcess:
    """The records being handled here, and the handlers that would not stop.

    While one of these still runs, the process is *ending*: no handler is started, and from
    `neighbours_until` on those that run hand their jobs back. The last record out returns
    whether the process must end.
    """

    def __init__(self) -> None:
        """Start with no records."""
        self._lock = threading.Lock()
        self._records: set[Record] = set()
        self._disowned: list[HandlerCall] = []
        self._is_condemned = False
        self._neighbours_until: float | None = None

    def enter(self) -> Record:
        """Begin with a message."""
        record = Record()
        with self._lock:
            self._records.add(record)
        return record

    def leave(self, record: Record) -> bool:
        """End with a message, all its writes made; whether the process must end now.

        Only the last one out returns true. If every handler has stopped after all, the process
        lives on as if nothing had happened.
        """
        with self._lock:
            self._records.discard(record)
            for other in self._records:
                other.wake.set()
            if self._records:
                return False
            must_end = self._is_ending()
            if not must_end:
                self._disowned.clear()
                self._neighbours_until = None
            return must_end

    def declare_stuck(self, record: Record, handler: HandlerCall, neighbours_until: float) -> None:
        """A handler ignored its time limit; its neighbours have until then (monotonic time).

        A second stuck handler does not give them longer.
        """
        with self._lock:
            if not self._has_live_handlers():
                self._neighbours_until = neighbours_until
            record.is_stuck = True
            self._disowned.append(handler)
            for other in self._records:
                other.wake.set()

    def disown(self, handler: HandlerCall) -> None:
        """A handler runs on though its job was handed back."""
        with self._lock:
            self._disowned.append(handler)

    def condemn(self) -> None:
        """This process cannot do its work any more, whatever its handlers do."""
        with self._lock:
            self._is_condemned = True

    @property
    def is_ending(self) -> bool:
        """Whether no handler should be started here."""
        with self._lock:
            return self._is_ending()

    @property
    def neighbours_until(self) -> float | None:
        """When handlers that still run hand their jobs back; ``None``: they need not."""
        with self._lock:
            return self._neighbours_until if self._has_live_handlers() else None

    def has_neighbours(self) -> bool:
        """Whether a record is left that is not stuck."""
        with self._lock:
            return any(not record.is_stuck for record in self._records)

    def _is_ending(self) -> bool:
        return self._is_condemned or self._has_live_handlers()

    def _has_live_handlers(self) -> bool:
        return any(not handler.is_done for handler in self._disowned)
