"""What is kept of an error: its type, its message, and the handler's part of its traceback."""

from __future__ import annotations

import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

from hourhand.domain.jobs.history import shorten
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.handlers import HandlersNotLoaded, NotRetryable, ResultNotJson, message_of

TYPE_BYTES = 100
MESSAGE_BYTES = 2_000
TRACEBACK_BYTES = 16_000
"""An error is kept in an item of its own, and travels in a dead letter of at most 200 KB."""

MAX_FRAMES = 200
"""The innermost frames that are formatted: a deep recursion has a million."""

_CUT = "[the beginning is cut]\n"
_LIBRARY = Path(threading.__file__).parent
_MACHINERY = (
    str(Path(__file__).parents[1]),
    str(_LIBRARY / "asyncio"),
    str(_LIBRARY / "importlib"),
    threading.__file__,
    "<frozen importlib",
)
"""Where frames are not the handler's: ours, and what runs coroutines, imports and threads."""


def error_info(error: BaseException) -> ErrorInfo:
    """Return what is kept of ``error``. Never raises, whatever the error's own code does."""
    return ErrorInfo(
        type=shorten(type(error).__name__, TYPE_BYTES),
        message=shorten(message_of(error), MESSAGE_BYTES),
        retryable=not isinstance(error, (NotRetryable, ResultNotJson)),
        traceback=_traceback(error),
    )


def stack_of(thread: threading.Thread) -> str | None:
    """Return where the handler in ``thread`` is at this moment, as a traceback shows it."""
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return None
    stack = traceback.extract_stack(frame, limit=MAX_FRAMES)
    while stack and _is_machinery(stack[0].filename):
        del stack[0]
    return _end_of("".join(stack.format())) if stack else None


def _traceback(error: BaseException) -> str | None:
    """Format the handler's frames, without the values in them; ``None`` where there are none."""
    told = error
    if isinstance(error, (HandlersNotLoaded, ResultNotJson)) and error.__cause__ is not None:
        # Ours only wraps what the user's code raised.
        told = error.__cause__
    frames = _handlers_frames(told.__traceback__)
    if frames is None:
        return None
    try:
        formatted = traceback.TracebackException(
            type(told), told, frames, limit=-MAX_FRAMES, compact=True
        )
        return _end_of("".join(formatted.format()))
    except Exception as own:  # noqa: BLE001 - formatting runs user code, too
        return f"The traceback cannot be formatted: {type(own).__name__}."


def _handlers_frames(frames: TracebackType | None) -> TracebackType | None:
    while frames is not None and _is_machinery(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _is_machinery(filename: str) -> bool:
    return filename.startswith(_MACHINERY)


def _end_of(text: str) -> str:
    """Return ``text`` within its bound, keeping the end, where the error is."""
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= TRACEBACK_BYTES:
        return encoded.decode()
    return _CUT + encoded[len(_CUT) - TRACEBACK_BYTES :].decode("utf-8", errors="ignore")
