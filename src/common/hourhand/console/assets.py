"""The files of the page: which there are, and what each is sent as.

The list is made by reading the folder. A request is looked up in the list: no path that was sent
ever reaches the file system.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

STATIC_FOLDER = Path(__file__).parent / "static"

CONTENT_TYPES: Mapping[str, str] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
"""By ending. Files of other kinds, such as licences, are not sent."""


@dataclass(frozen=True, slots=True)
class Asset:
    """One file of the page. ``tag`` changes with its content (RFC 9110, ETag)."""

    content_type: str
    body: bytes
    tag: str


def read_assets(folder: Path = STATIC_FOLDER) -> dict[str, Asset]:
    """Return the files below ``folder`` by their path in it, such as ``lib/html.js``."""
    return {
        file.relative_to(folder).as_posix(): _read(file)
        for file in sorted(folder.rglob("*"))
        if file.suffix in CONTENT_TYPES and file.is_file()
    }


def _read(file: Path) -> Asset:
    body = file.read_bytes()
    digest = hashlib.sha256(body).hexdigest()
    return Asset(CONTENT_TYPES[file.suffix], body, f'"{digest[:32]}"')
