"""AWS for the long run, in a process of its own: what it keeps is not counted as ours.

``python -m proof.soak.emulator`` prints its URL and answers until its input ends.
"""

from __future__ import annotations

import sys
from contextlib import suppress

from hourhand.local.moto_server import MotoServer


def main() -> None:
    server = MotoServer(lambda: None)
    server.start()
    sys.stdout.write(f"{server.endpoint}\n")
    sys.stdout.flush()
    with suppress(KeyboardInterrupt):
        sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
