"""An async handler can be ended from outside, whenever that is asked for."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

from hourhand import JobContext
from hourhand.handlers import Registry
from hourhand.memory import START, MemoryClock
from hourhand.worker import Watchdog
from hourhand.worker._call import HandlerCall, Raised, _task_canceller
from tests.unit.worker.fakes import PATIENCE


async def wait_for_ever(ctx: JobContext) -> None:
    await asyncio.Event().wait()


def test_an_interruption_before_the_handler_began_is_not_forgotten() -> None:
    is_done = threading.Event()
    context = JobContext(job_id="j1", run_at=START, deadline=START + timedelta(minutes=1))
    handler = Registry().add("wait", wait_for_ever)
    watchdog = Watchdog(None, MemoryClock().monotonic, lambda: None)
    call = HandlerCall(handler, context, "null", is_done, watchdog)

    call.interrupt()
    call.start(end_at=0)

    assert is_done.wait(PATIENCE)
    assert isinstance(call.ended, Raised)
    assert call.ended.error.type == "CancelledError"


def test_an_interruption_after_the_handlers_end_does_nothing() -> None:
    loop = asyncio.new_event_loop()
    task: asyncio.Future[None] = loop.create_future()
    loop.close()

    _task_canceller(loop, task)()

    assert not task.cancelled()
