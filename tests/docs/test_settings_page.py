"""The page of settings names each setting, variable and duration, with its default."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

import pytest

from hourhand import settings
from hourhand.domain.ticks.timings import Timings
from hourhand_cdk.config import LOG_RETENTIONS, Config, read_config
from tests.docs.pages import code, names, read, rows, section

PAGE = read("reference/settings.md")
SETTINGS = [
    (code(name)[0], dev, prod) for name, dev, prod, _ in rows(section(PAGE, "Of a deployment"))
]
VARIABLES = section(PAGE, "Environment of the functions")
TIMINGS = {code(row[0])[0]: row[1] for row in rows(section(PAGE, "Timings"))}
DEFAULTS = settings.settings_environment(settings.Settings())


def _shown(config: Config, name: str) -> str:
    value = config.model_dump(mode="json")[name]
    if value in (None, "", [], {}):
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def test_the_page_names_each_setting_once() -> None:
    assert [name for name, _, _ in SETTINGS] == list(Config.model_fields)


@pytest.mark.parametrize(("name", "dev", "prod"), SETTINGS)
def test_a_setting_starts_as_its_row_says(name: str, dev: str, prod: str) -> None:
    assert dev == _shown(read_config({}), name)
    assert prod == _shown(read_config({"stage": "prod"}), name)


def test_the_page_lists_the_retentions_of_logs() -> None:
    (row,) = [row for row in rows(PAGE) if row[0] == "`log_retention_days`"]
    *most, last = [str(days) for days in LOG_RETENTIONS]

    assert f"{', '.join(most)} or {last}" in row[3]


def test_the_page_names_each_variable_of_the_functions_once() -> None:
    assert sorted(names(VARIABLES)) == sorted({*DEFAULTS, "HOURHAND_TIMINGS"})


def test_a_variable_has_the_default_of_its_row() -> None:
    shown = {name: row[1].strip("`") for row in rows(VARIABLES) for name in code(row[0])}

    assert {name: default for name, default in shown.items() if default} == {
        name: default for name, default in DEFAULTS.items() if default
    }


def test_the_page_names_each_timing_in_seconds() -> None:
    shown = {field.name: _in_seconds(getattr(Timings(), field.name)) for field in fields(Timings)}

    assert shown == TIMINGS


def _in_seconds(duration: timedelta) -> str:
    seconds = duration.total_seconds()
    return str(int(seconds)) if seconds.is_integer() else str(seconds)
