"""``python -m hourhand_cdk.packing``: pack handlers, and print what was packed.

Exit codes: 0 packed, 1 refused or failed, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from hourhand.domain.errors import HourhandError
from hourhand_cdk.packing import CACHE, PYTHON, PYTHONS, HandlerSource, Target, fetch, pack

FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        target = _target(options.target, options.python)
        if options.fetch_only:
            folder = fetch(target, options.cache, say=_say)
            print(f"Hourhand's libraries for {target} are in {folder}")
            return 0
        if options.handlers is None or options.to is None:
            parser.error("--handlers and --to are needed without --fetch-only")
        packed = pack(
            HandlerSource(path=options.handlers, module=options.module),
            target,
            options.to,
            cache=options.cache,
            environment=dict(options.environment),
            say=_say,
        )
    except HourhandError as error:
        print(f"hourhand: {error.detail}", file=sys.stderr)
        return FAILED
    print(packed.report.text())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m hourhand_cdk.packing",
        description="Pack Hourhand's functions with your handlers, for Lambda, without Docker.",
    )
    parser.add_argument("--handlers", type=Path, help="a folder or a .py file of handlers")
    parser.add_argument("--module", help="the module that registers the handlers")
    parser.add_argument(
        "--target",
        choices=("arm64", "x86_64", "this-machine"),
        default="arm64",
        help="the architecture of the functions (arm64)",
    )
    parser.add_argument(
        "--python", choices=PYTHONS, default=PYTHON, help=f"the functions' Python ({PYTHON})"
    )
    parser.add_argument("--to", type=Path, help="the folder for the three assets")
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help=f"the folder that keeps libraries ({CACHE})"
    )
    parser.add_argument(
        "--environment",
        action="append",
        type=_name_and_value,
        default=[],
        metavar="NAME=VALUE",
        help="a variable of the worker function that the handlers read when they are imported",
    )
    parser.add_argument(
        "--fetch-only", action="store_true", help="only fill the cache with Hourhand's libraries"
    )
    return parser


def _target(name: str, python: str) -> Target:
    if name == "this-machine":
        return Target.this_machine()
    return Target.for_lambda(python, name)


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, not {text!r}")
    return name, value


def _say(sentence: str) -> None:
    # Progress is for people who watch; the report goes to standard output.
    print(f"{sentence} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
