"""The page of metrics names each metric, its unit, and the functions that write it."""

from __future__ import annotations

import re
from pathlib import Path

from hourhand.aws.telemetry import MEASURED_BY, NAMESPACE, Metric
from tests.docs.pages import code, read, rows, section

PAGE = read("reference/metrics.md")
ROWS = rows(section(PAGE, "Metrics"))
SOURCE = Path(__file__).parents[2] / "src" / "common" / "hourhand"
LETTERS = {"api": "A", "scheduler": "S", "worker": "W"}


def _by(metric: Metric) -> str:
    return " ".join(LETTERS[name] for name in LETTERS if metric in MEASURED_BY[name])


def test_the_page_names_each_metric_with_the_functions_that_write_it() -> None:
    assert [(code(row[0])[0], row[2]) for row in ROWS] == [(m.value, _by(m)) for m in Metric]


def test_the_page_names_the_namespace() -> None:
    assert f"**Namespace:** `{NAMESPACE}`" in PAGE


def test_a_gauge_has_the_unit_with_which_it_is_written() -> None:
    source = "".join(file.read_text() for file in (SOURCE / "services").rglob("*.py"))
    gauges = dict(re.findall(r'\.gauge\("(\w+)", [^"]+, "(\w+)"\)', source))
    shown = {code(row[0])[0]: row[1] for row in ROWS if row[3].startswith("gauge:")}

    assert shown == gauges


def test_a_measurement_is_in_milliseconds_and_a_counter_counts() -> None:
    source = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    observed = set(re.findall(r'\.observe\(\s*"(\w+)"', source))
    units = {code(row[0])[0]: row[1] for row in ROWS if not row[3].startswith("gauge:")}

    assert {name for name, unit in units.items() if unit == "Milliseconds"} == observed
    assert {unit for name, unit in units.items() if name not in observed} == {"Count"}
