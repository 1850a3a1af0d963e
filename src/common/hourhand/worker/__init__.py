"""Runs users' handlers: threads, time limits, heartbeats, and the end of a process.

An adapter: the services decide and commit, this package runs what they must not start. One
message is one record thread; each handler runs in a thread of its own, while its record thread
beats its pulse and watches its time.

A handler that ignores its time limit cannot be stopped inside its process, so the process ends
before the job's retry can overlap with it, and in this order:

1. its neighbours get a while to finish, and the stuck job's lease is kept by its heartbeats;
2. neighbours that still run hand their jobs back, without using an attempt;
3. the stuck job's outcome, TIMED_OUT, is committed;
4. the last record out flushes the logs and ends the process.

Each handler is watched by a timer that needs no GIL (`_watchdog`): it ends the process a margin
before the lease of the job ends, and soon after the commit of a stuck job, whatever the calls in
between do.

The messages of such a batch are redelivered, because the invocation failed. Their jobs are final or
of a newer generation by then, and the claim drops them.
"""

from hourhand.worker._batch import (
    MAX_RECORDS,
    STUCK_EXIT_CODE,
    WorkerRuntime,
)
from hourhand.worker._call import Raised, Returned, ended_by, finished_call, timed_out
from hourhand.worker._errors import error_info
from hourhand.worker._process import WorkerProcess
from hourhand.worker._runner import ThreadRunner, handler_of, job_context, run_context
from hourhand.worker._tools import HandlerAbandoned, LoadedHandlers, RunLimits, RunnerTools
from hourhand.worker._watchdog import FaultTimer, ProcessTimer, Watchdog

__all__ = [
    "MAX_RECORDS",
    "STUCK_EXIT_CODE",
    "FaultTimer",
    "HandlerAbandoned",
    "LoadedHandlers",
    "ProcessTimer",
    "Raised",
    "Returned",
    "RunLimits",
    "RunnerTools",
    "ThreadRunner",
    "Watchdog",
    "WorkerProcess",
    "WorkerRuntime",
    "ended_by",
    "error_info",
    "finished_call",
    "handler_of",
    "job_context",
    "run_context",
    "timed_out",
]
