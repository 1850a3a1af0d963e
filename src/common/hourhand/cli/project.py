"""The user's project: what ``[tool.hourhand]`` of its pyproject.toml says, for dev and deploy."""

from __future__ import annotations

import tomllib
from pathlib import Path

from hourhand.cli.exits import WRONG_USAGE, CommandError

FILE = "pyproject.toml"
TABLE = "[tool.hourhand]"


def project_handlers(folder: Path) -> str | None:
    """Return the module with the handlers that the project in ``folder`` names, if it does.

    Raises `CommandError` for a file that cannot be read.
    """
    file = folder / FILE
    try:
        tools = tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise CommandError(f"{file} cannot be read: {error}.", WRONG_USAGE) from error
    settings = tools.get("hourhand", {}) if isinstance(tools, dict) else {}
    unknown = sorted(settings.keys() - {"handlers"}) if isinstance(settings, dict) else [TABLE]
    handlers = None if unknown else settings.get("handlers")
    if unknown or not isinstance(handlers, str | None):
        message = f'{TABLE} of {file} may have only handlers = "MODULE", such as "jobs".'
        raise CommandError(message, WRONG_USAGE)
    return handlers


def handlers_path(folder: Path, module: str) -> Path:
    """Return the folder or the file of a module below ``folder``."""
    path = folder.joinpath(*module.split("."))
    return path if path.is_dir() else path.with_suffix(".py")
