"""The user's contexts: the file that holds them, and which of them a command acts in."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from hourhand.cli.exits import NOT_FOUND, REFUSED, WRONG_USAGE, CommandError
from hourhand.json_dataclasses import JsonName, from_json, to_json

VERSION = 1
MAX_CONTEXTS = 100
MAX_FILE_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SETTINGS = ("endpoint", "profile", "region", "stack")
"""What a context may set; also the names of the flags that it stands for."""

_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """A deployment and how to reach it. What is ``None`` has the default of its flag."""

    endpoint: str | None = None
    profile: str | None = None
    region: str | None = None
    stack: str | None = None
    is_production: Annotated[bool, JsonName("production")] = False


@dataclass(frozen=True, slots=True)
class Named:
    """A context under its name."""

    name: str
    context: Context

    def __str__(self) -> str:
        """Return it for a sentence: ``the production context prod (https://...)``."""
        kind = "production context" if self.context.is_production else "context"
        place = next(getattr(self.context, one) for one in _SETTINGS if getattr(self.context, one))
        return f"the {kind} {self.name} ({place})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Contexts:
    """All contexts of a user; ``current`` is the one that commands act in by themselves."""

    version: int = VERSION
    current: str | None = None
    contexts: Mapping[str, Context] = field(default_factory=dict)

    @property
    def in_use(self) -> Named | None:
        """The current context."""
        return None if self.current is None else self.named(self.current)

    def named(self, name: str, *, exit_code: int = NOT_FOUND) -> Named:
        """Return the context of that name. Raises `CommandError`, which lists the names."""
        if name not in self.contexts:
            names = f"The contexts are {', '.join(sorted(self.contexts))}."
            if not self.contexts:
                names = "There are no contexts yet: `hourhand context add` adds one."
            raise CommandError(f"There is no context {name!r}. {names}", exit_code)
        return Named(name, self.contexts[name])

    def of_api(self, url: str, *, preferred: str | None) -> Named | None:
        """Return the context of the API at ``url``, however the URL is written.

        Of several, it is the one named ``preferred``, else a production context.
        """
        place = _place(url)
        found = [
            Named(name, context)
            for name, context in sorted(self.contexts.items())
            if context.endpoint is not None and _place(context.endpoint) == place
        ]
        found.sort(key=lambda one: (one.name != preferred, not one.context.is_production))
        return found[0] if found else None

    def with_added(self, name: str, context: Context, *, replaces: bool) -> Contexts:
        """Return them with one more. Raises `CommandError` for a name that cannot be added."""
        if not _NAME.fullmatch(name):
            message = "must be 1 to 64 letters, digits, dots, hyphens and underscores"
            raise CommandError(f"The name {message}, not {name!r}.", WRONG_USAGE)
        if name in self.contexts and not replaces:
            message = f"There is a context {name} already. --replace replaces it."
            raise CommandError(message, REFUSED)
        if len(self.contexts) >= MAX_CONTEXTS and name not in self.contexts:
            message = f"There are {MAX_CONTEXTS} contexts already. Remove one first."
            raise CommandError(message, REFUSED)
        return replace(self, contexts={**self.contexts, name: context})

    def without(self, name: str) -> Contexts:
        """Return them without one, which is not current any more. Raises `CommandError`."""
        self.named(name)
        kept = {each: context for each, context in self.contexts.items() if each != name}
        return replace(self, contexts=kept, current=None if self.current == name else self.current)


def contexts_file(environ: Mapping[str, str] = os.environ) -> Path:
    """Return where the contexts are kept: in the folder for configuration of the XDG standard."""
    folder = Path(environ.get("XDG_CONFIG_HOME", ""))
    # The standard ignores a path that is not absolute.
    base = folder if folder.is_absolute() else Path.home() / ".config"
    return base / "hourhand" / "contexts.json"


def read_contexts() -> Contexts:
    """Return the user's contexts. Raises `CommandError` for a file that cannot be read."""
    file = contexts_file()
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_FILE_BYTES + 1)
        if len(text) > MAX_FILE_BYTES:
            raise ValueError(f"it has more than {MAX_FILE_BYTES:,} bytes")
        found = from_json(Contexts, json.loads(text), "file")
        if found.version != VERSION:
            raise ValueError(f"its version is {found.version}, and this release reads {VERSION}")
        if found.current is not None and found.current not in found.contexts:
            raise ValueError(f"its current context {found.current!r} is not one of them")
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError, RecursionError) as error:
        message = f"{file}, which has your contexts, cannot be read: {error}. Correct or delete it."
        raise CommandError(message, WRONG_USAGE) from error
    return found


def write_contexts(contexts: Contexts) -> None:
    """Replace the file atomically; only its owner may read it. Raises `CommandError`."""
    file = contexts_file()
    text = json.dumps(to_json(Contexts, contexts), indent=2, sort_keys=True) + "\n"
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A temporary file has the mode 600 from its first moment.
        number, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        beside = Path(name)
        try:
            with os.fdopen(number, "w", encoding="utf-8") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(number)
            beside.replace(file)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror}.") from error


def enter_context(flags: dict[str, Any]) -> Named | None:
    """Fill in the flags that were not given by a context, and return it.

    It is the one that the flag ``context`` names, else that of the API that the flags name, else
    the current one. If the flags name the API of a production context, that context is returned in
    any case: the command acts there. Raises `CommandError`.
    """
    contexts = read_contexts()
    url = flags.get("endpoint") or flags.get("endpoint_url")
    preferred = flags.get("context") or contexts.current
    of_api = contexts.of_api(url, preferred=preferred) if url else None
    if flags.get("context"):
        chosen: Named | None = contexts.named(flags["context"], exit_code=WRONG_USAGE)
    else:
        chosen = of_api if url else contexts.in_use
    if chosen is None:
        return None
    for name in _SETTINGS:
        if name in flags and flags[name] is None:
            flags[name] = getattr(chosen.context, name)
    return of_api if of_api is not None and of_api.context.is_production else chosen


def _place(url: str) -> tuple[str | int | None, ...]:
    """Return what two URLs of one API have in common."""
    from hourhand.client import NotConfigured, find_endpoint

    try:
        parts = urlsplit(find_endpoint(url).url)
    except NotConfigured:
        # The command itself reports what is wrong with it.
        return (url,)
    return parts.scheme, parts.hostname, parts.port or _PORTS[parts.scheme], parts.path
