"""One cache for all packs of a session, and one pack of the examples for this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from hourhand.local.entry_points import examples_path
from hourhand_cdk.packing import HandlerSource, Packed, Target, pack


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packing-cache")


@pytest.fixture(scope="session")
def packed(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Packed:
    source = HandlerSource(path=examples_path() / "examples", module="examples.quickstart")
    to = tmp_path_factory.mktemp("packed") / "assets"
    return pack(source, Target.this_machine(), to, cache=cache, measures=False)
