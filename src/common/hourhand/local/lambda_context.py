"""The second argument of a Lambda function, with the parts that Hourhand's functions read."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

FUNCTION_SECONDS = 900
"""How long one invocation may take: Lambda's own limit, which the worker is deployed with."""


@dataclass(kw_only=True, slots=True)
class LocalContext:
    """Lambda's ``context``: the function's name, the invocation's id, and the time left.

    ``aws_request_id`` must be unique to the invocation: the scheduler takes its lease under it.
    """

    function_name: str
    aws_request_id: str
    limit_seconds: float = FUNCTION_SECONDS
    memory_limit_in_mb: int = 1024
    function_version: str = "$LATEST"
    invoked_function_arn: str = ""
    log_group_name: str = ""
    log_stream_name: str = ""
    monotonic: Callable[[], float] = time.monotonic
    _started_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._started_at = self.monotonic()
        self.invoked_function_arn = self.invoked_function_arn or (
            f"arn:aws:lambda:local:000000000000:function:{self.function_name}"
        )
        self.log_group_name = self.log_group_name or f"/aws/lambda/{self.function_name}"

    def get_remaining_time_in_millis(self) -> int:
        """Return what is left of the invocation's time, in ms; 0 at its end."""
        left = self._started_at + self.limit_seconds - self.monotonic()
        return max(0, int(left * 1000))
