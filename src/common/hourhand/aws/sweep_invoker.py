"""The events that the scheduler's function gets beside its tick, and their sender."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from hourhand.aws.failures import Call, ask
from hourhand.domain.errors import FieldError, InvalidInput
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import ask_optionally
from hourhand.settings import SELF

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

_SWEEP = "hourhand_sweep"
RESIZE = "hourhand_resize"


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepRequest:
    """What a further invocation is asked to sweep."""

    shards: tuple[int, ...]
    epoch: int
    tick_at: datetime


class LambdaSweepInvoker:
    """Implements the port `SweepInvoker` by asynchronous invocations.

    ``function``: its name or ARN, or `SELF`, which is the function as it was last `called_as`.
    Without one it refuses: the leader then sweeps everything by itself. ``telemetry`` records
    why an invocation was refused.
    """

    def __init__(self, client: LambdaClient, function: str, telemetry: Telemetry) -> None:
        """Call nothing yet."""
        self._client = client
        self._telemetry = telemetry
        self._is_own = function == SELF
        self._function = "" if self._is_own else function

    def called_as(self, arn: str) -> None:
        """Note by which ARN this function was called.

        With its alias or version: what it starts runs the same code, as warm as itself.
        """
        if self._is_own:
            self._function = arn

    def invoke(self, shards: Sequence[int], *, epoch: int, tick_at: datetime) -> bool:
        """Hand ``shards`` over; ``False``: it was refused, and the caller keeps them.

        Whatever went wrong, keeping them is right: at worst they are swept twice.
        """
        if not self._function:
            return False
        request = SweepRequest(shards=tuple(shards), epoch=epoch, tick_at=tick_at)
        answer = ask_optionally(
            self._telemetry,
            "Shards could not be handed over; the leader sweeps them itself.",
            lambda: ask(
                Call("Invoke", f"function {self._function}"),
                self._client.invoke,
                FunctionName=self._function,
                InvocationType="Event",
                Payload=json.dumps(sweep_event(request)).encode(),
            ),
        )
        return answer is not None


def sweep_event(request: SweepRequest) -> dict[str, Any]:
    """Return the event of a further invocation."""
    return {
        _SWEEP: {
            "shards": list(request.shards),
            "epoch": request.epoch,
            "tick_ms": to_ms(request.tick_at),
        },
    }


def read_sweep_event(event: Mapping[str, Any]) -> SweepRequest | None:
    """Read what `sweep_event` returned; ``None`` for any other event, such as the tick's."""
    asked = event.get(_SWEEP)
    if asked is None:
        return None
    return SweepRequest(
        shards=tuple(int(shard) for shard in asked["shards"]),
        epoch=int(asked["epoch"]),
        tick_at=from_ms(int(asked["tick_ms"])),
    )


def read_resize_event(event: Mapping[str, Any]) -> int | None:
    """Return how many shards an operator asks for: ``{"hourhand_resize": {"shards": 4}}``.

    ``None`` for any other event. Raises `InvalidInput` for one that asks for anything else.
    """
    asked = event.get(RESIZE)
    if asked is None:
        return None
    shards = asked.get("shards") if isinstance(asked, Mapping) and len(asked) == 1 else None
    if type(shards) is not int:
        wrong = FieldError(RESIZE, 'must be {"shards": N} with a whole number')
        raise InvalidInput("The shard map cannot be changed like this.", errors=(wrong,))
    return shards
