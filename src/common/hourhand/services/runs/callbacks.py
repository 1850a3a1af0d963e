"""Completions of callbacks, as other systems send them."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hourhand.domain.conditions import Compares, Path
from hourhand.domain.errors import AlreadyCompleted, NotFound, RunEnded, Unavailable
from hourhand.domain.ids import content_hash
from hourhand.domain.jobs.job import ErrorInfo, Job
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.records import (
    Record,
    RecordKind,
    RecordOutcome,
    error_text,
    record_key,
    record_of,
)
from hourhand.domain.runs.tokens import CallbackToken, read_token
from hourhand.domain.side_items import SideItemUpdate, SideKey, Stored
from hourhand.domain.times import to_ms
from hourhand.ports.side_item_store import SideItemWrite
from hourhand.services.runs.completions import Completer
from hourhand.services.runs.results import RunPorts, Values, require_size
from hourhand.services.runs.signals import scope_at


@dataclass(frozen=True, slots=True)
class _Found:
    """The callback of a token."""

    job: Job
    token: CallbackToken
    record: Record
    values: Values


@dataclass(frozen=True, slots=True)
class CallbackService:
    """Completes callbacks. The secret in a token proves that its bearer may do so."""

    ports: RunPorts
    completer: Completer

    def succeed(self, token: str, result_text: str) -> None:
        """Complete a callback with a result.

        Raises `NotFound`, `AlreadyCompleted`, `RunEnded`, `TooLarge` and `Unavailable`.
        """
        require_size("result", result_text)
        found = self._require(token)
        writer = content_hash("callback", result_text)[:16]
        self._complete(
            found,
            RecordOutcome.SUCCEEDED,
            lambda: found.values.keep(found.token.path, result_text, writer),
            lambda record: found.values.text_of(record) == result_text,
        )

    def fail(self, token: str, error: ErrorInfo) -> None:
        """Complete a callback with an error. Raises as `succeed`."""
        text = error_text(error)
        self._complete(
            self._require(token),
            RecordOutcome.FAILED,
            lambda: {"text": text},
            lambda record: record.text == text,
        )

    def heartbeat(self, token: str) -> None:
        """Note that the other system is still at work. Raises as `succeed`."""
        found = self._require(token)
        beat = to_ms(self.ports.clock.now())
        if not self._write(found, {"beat_ms": beat}).is_applied:
            raise AlreadyCompleted("The callback was completed before.")

    def _complete(
        self,
        found: _Found,
        outcome: RecordOutcome,
        keep: Callable[[], Mapping[str, Stored | None]],
        is_same: Callable[[Record], bool],
    ) -> None:
        record = found.record
        if record.outcome is RecordOutcome.WAITING:
            ended = {"outcome": outcome.value, "ended_ms": to_ms(self.ports.clock.now()), **keep()}
            written = self._write(found, ended)
            if written.item is None:
                raise _unknown()
            record = record_of(written.item)
        if record.outcome is RecordOutcome.WAITING:
            raise Unavailable("The callback was reset during the request; try again.")
        if record.outcome is not outcome or not is_same(record):
            raise AlreadyCompleted("The callback was completed before, with another outcome.")
        # Also for the same call again: the first one may have died before this.
        self.completer.complete(found.job.id, WaitKind.CALLBACK, found.token.path)

    def _write(self, found: _Found, values: Mapping[str, Stored | None]) -> SideItemWrite:
        """Change a callback that nothing completed yet, by the secret of its token."""
        sets: dict[Path, Stored] = {k: v for k, v in values.items() if v is not None}
        scope = found.values.scope
        return self.ports.side_items.write_item(
            SideItemUpdate(
                key=_key(found.job, found.token),
                expect=(
                    scope.is_own,
                    Compares("outcome", "=", RecordOutcome.WAITING.value),
                    Compares("secret", "=", found.token.secret.hex()),
                ),
                sets=sets,
                keep_until=scope.keep_until,
            )
        )

    def _require(self, text: str) -> _Found:
        """Return the callback of a token. Raises `NotFound` and `RunEnded`."""
        token = read_token(text)
        job = self.ports.jobs.get(token.run_id) if token is not None else None
        if token is None or job is None or job.segment != token.segment:
            raise _unknown()
        item = self.ports.side_items.read_item(_key(job, token))
        record = record_of(item) if item is not None else None
        if (
            record is None
            or record.created_ms != to_ms(job.created_at)
            or not hmac.compare_digest(bytes.fromhex(record.secret or ""), token.secret)
        ):
            raise _unknown()
        if job.status.is_final and record.outcome is RecordOutcome.WAITING:
            raise RunEnded(f"The run {job.id} is {job.status}; its callbacks ended with it.")
        return _Found(job, token, record, Values(self.ports, scope_at(job, self.ports)))


def _key(job: Job, token: CallbackToken) -> SideKey:
    return record_key(job.id, token.segment, RecordKind.CALLBACK, token.path)


def _unknown() -> NotFound:
    return NotFound("There is no callback of this token.")
