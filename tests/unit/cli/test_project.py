"""``[tool.hourhand]`` of a project names its handlers for dev and deploy."""

from __future__ import annotations

from pathlib import Path

import pytest

from hourhand.cli.exits import CommandError
from hourhand.cli.project import handlers_path, project_handlers


@pytest.mark.parametrize(
    ("text", "handlers"),
    [
        ('[tool.hourhand]\nhandlers = "shop.jobs"\n', "shop.jobs"),
        ("[tool.hourhand]\n", None),
        ('[project]\nname = "x"\n', None),
        (None, None),
    ],
)
def test_the_handlers_are_those_that_the_project_names(
    tmp_path: Path, text: str | None, handlers: str | None
) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    assert project_handlers(tmp_path) == handlers


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[tool.hourhand", "cannot be read"),
        ("[tool.hourhand]\nhandlers = 7\n", 'may have only handlers = "MODULE"'),
        ('[tool.hourhand]\nhandler = "jobs"\n', 'may have only handlers = "MODULE"'),
        ('[tool]\nhourhand = "jobs"\n', 'may have only handlers = "MODULE"'),
    ],
)
def test_what_cannot_be_meant_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(CommandError, match=said):
        project_handlers(tmp_path)


def test_a_module_is_a_folder_or_a_file(tmp_path: Path) -> None:
    (tmp_path / "shop" / "jobs").mkdir(parents=True)
    assert handlers_path(tmp_path, "shop.jobs") == tmp_path / "shop" / "jobs"
    assert handlers_path(tmp_path, "shop.work") == tmp_path / "shop" / "work.py"
