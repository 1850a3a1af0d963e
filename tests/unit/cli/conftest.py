"""What all tests of the command line share."""

from __future__ import annotations

import pytest

from tests.functions.cli_rig import one_command_tree

commands = pytest.fixture(one_command_tree, scope="session", autouse=True, name="commands")
