"""Prints what the installed peers say of themselves, as JSON: their versions and defaults.

Runs under the Python of ``.venv-peers``.
"""

from __future__ import annotations

import inspect
import json
from importlib.metadata import version

from dramatiq_sqs import SQSBroker  # type: ignore[import-not-found]  # it lives in .venv-peers alone
from kombu.transport.SQS import Channel  # type: ignore[import-not-found]  # so does this

PACKAGES = ("celery", "kombu", "dramatiq", "dramatiq-sqs")

if __name__ == "__main__":
    broker = inspect.signature(SQSBroker.__init__).parameters
    facts = {
        "versions": {package: version(package) for package in PACKAGES},
        "visibility_seconds": {
            "Celery": Channel.default_visibility_timeout,
            "dramatiq": broker["visibility_timeout"].default,
        },
    }
    print(json.dumps(facts))
