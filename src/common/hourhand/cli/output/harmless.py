"""Text of others, made harmless for a terminal.

Everyone who may submit a job can write payloads, errors, IDs and notes. A terminal obeys escape
sequences: they clear the screen, set its title, and can hide one text under another. So every text
from the API passes through this module before it is printed.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from rich.text import Text

_SUSPECT = re.compile(r"[^\x20-\x7e]")
_UNPRINTABLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Controls, formats (they turn the direction of writing), unassigned, private, half characters,
and the separators that some terminals take for a line's end."""

_JOINERS = frozenset("\u200c\u200d")
"""Some scripts and emoji need them, and they do no harm."""


def harmless(text: object) -> str:
    """Return ``text`` on one line, with escapes for everything that a terminal would obey."""
    return _SUSPECT.sub(_shown, str(text))


def harmless_lines(text: object) -> str:
    r"""Return ``text`` as `harmless` does, but keep its lines and tabs; CRLF ends a line, too."""
    lines = str(text).replace("\r\n", "\n").split("\n")
    return "\n".join("\t".join(map(harmless, line.split("\t"))) for line in lines)


def cell(text: object, style: str = "") -> Text:
    """Return ``text``, harmless, as Rich prints it: on one line and never as markup."""
    return Text(harmless(text), style=style, no_wrap=True, overflow="ellipsis", end="")


def block(text: object, style: str = "") -> Text:
    """Return ``text``, harmless, as Rich prints it: its own lines, never as markup."""
    return Text(harmless_lines(text), style=style)


def _shown(match: re.Match[str]) -> str:
    return _shown_character(match[0])


@lru_cache(maxsize=4096)
def _shown_character(character: str) -> str:
    if character in _JOINERS or unicodedata.category(character) not in _UNPRINTABLE:
        return character
    return character.encode("unicode_escape").decode("ascii")
