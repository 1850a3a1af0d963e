"""Folders of handlers, as users have them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

HANDLERS = """
from hourhand import JobContext, job

@job("send-invoice", timeout=30)
def send_invoice(ctx: JobContext) -> None:
    "Send one."
"""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write ``files`` below ``folder`` and return it."""
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
