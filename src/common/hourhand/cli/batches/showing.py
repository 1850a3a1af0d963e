"""The output of ``hourhand batches``: one batch."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from hourhand.answers.children import Batch
from hourhand.cli.output.harmless import cell
from hourhand.cli.output.tables import fact, facts
from hourhand.cli.output.times import NOTHING
from hourhand.cli.session import Session
from hourhand.domain.durable.built_in import CALLBACKS

STYLES = {
    "open": "blue",
    "running": "cyan",
    "succeeded": "green",
    "failed": "bold red",
    "cancelled": "magenta",
}


def show(session: Session, batch: Batch) -> None:
    """Print a batch: its counts, and the jobs that it called back."""
    if session.gives_json(batch):
        return
    session.print(facts(_facts(session, batch)))


def show_changed(session: Session, batch: Batch, did: str) -> None:
    """Print one line about a batch that changed, or all of it as JSON."""
    if session.gives_json(batch):
        return
    head = Text.assemble(cell(batch.id), f"  {did}: ", _status_text(batch))
    session.print(Text.assemble(head, f", {_counts(batch)}"))


def _facts(session: Session, batch: Batch) -> Iterator[tuple[str, Text | str]]:
    yield "batch", batch.id
    yield "status", _status_text(batch)
    yield "jobs", _counts(batch)
    for name in CALLBACKS:
        yield name, batch.callbacks.get(name) or NOTHING
    yield "created", session.times.full(batch.created_at)
    yield from fact("ended", batch.finished_at, session.times.full)


def _status_text(batch: Batch) -> Text:
    return cell(batch.status, STYLES.get(batch.status, ""))


def _counts(batch: Batch) -> str:
    jobs = "1 job" if batch.total == 1 else f"{batch.total:,} jobs"
    return f"{jobs}, {batch.succeeded:,} succeeded, {batch.failed:,} failed"
