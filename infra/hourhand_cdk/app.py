"""``python -m hourhand_cdk.app``: what ``cdk.json`` names. Reads the context, makes the stack."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from aws_cdk import App

from hourhand_cdk.config import Config, InvalidConfig, read_config
from hourhand_cdk.handlers import packed_handlers, report
from hourhand_cdk.packing import Packed, PackingError
from hourhand_cdk.scheduler import INSTALLATION_TAG
from hourhand_cdk.stack import HourhandStack


def main() -> int:
    """Synthesise; return the exit code."""
    app = App()
    try:
        config = read_config(app.node.get_all_context())
        with tempfile.TemporaryDirectory() as folder:
            # The CDK copies what it is given as assets while the stack is made.
            make_stack(app, config, packed_handlers(config, Path(folder)))
            app.synth()
    except (InvalidConfig, PackingError) as error:
        report(f"hourhand: {error}")
        return 1
    return 0


def make_stack(app: App, config: Config, packed: Packed) -> HourhandStack:
    """Put the deployment into ``app``; the stack has the tags of what is in it."""
    tags = {INSTALLATION_TAG: config.prefix, **config.tags}
    return HourhandStack(app, config.prefix, config=config, packed=packed, tags=tags)


if __name__ == "__main__":
    sys.exit(main())
