"""Explore: `python -m proof.explorer`. See the package's docstring."""

from __future__ import annotations

import sys

from proof.explorer.command import main

if __name__ == "__main__":
    sys.exit(main())
