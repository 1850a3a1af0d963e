"""What is kept of an error: its type, its message, and the handler's part of its traceback."""

from __future__ import annotations

import asyncio.constants
import importlib
import sys
import threading
import traceback
from pathlib import Path
from types import FrameType, TracebackType

from hourhand.domain.history import shorten
from hourhand.domain.model import ErrorInfo
from hourhand.handlers import HandlersNotLoaded, NotRetryable, ResultNotJson

TYPE_BYTES = 100
MESSAGE_BYTES = 2_000
TRACEBACK_BYTES = 16_000
"""An error is kept in an item of its own, and travels in a dead letter of at most 200 KB."""

MAX_FRAMES = 200
"""The innermost frames that are formatted: a deep recursion has a million."""
