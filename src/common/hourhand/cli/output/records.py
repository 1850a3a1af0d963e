"""Records for programs: as JSON, as YAML, or as a table of the fields that ``--fields`` names."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console

from hourhand.cli.output.fields import Fields
from hourhand.cli.output.tables import Column, make_table

Form = Literal["table", "json", "yaml"]

ROWS_A_TABLE = 200
"""A table is as wide as its widest row, so it is printed only when all of its rows are known."""

YAML_WIDTH = 100


@dataclass
class Records:
    """Prints one record after the other in a ``form``.

    ``is_checked``: every field of ``fields`` is known to exist, so a record may lack one.
    """

    console: Console
    form: Form
    fields: Fields | None = None
    is_checked: bool = False
    _count: int = 0
    _rows: list[list[str]] = field(default_factory=list)

    def add(self, record: Mapping[str, Any]) -> None:
        """Print ``record``, or keep it for the table. Raises `CommandError` for a field."""
        if self.fields is not None:
            if not self.is_checked:
                self.fields.check_record(record)
            if self.form == "table":
                self._rows.append(self.fields.cells(record))
                if len(self._rows) == ROWS_A_TABLE:
                    self.flush()
                return
            record = self.fields.pick(record)
        self._count += 1
        # In ASCII, so that a terminal may show it.
        text = json.dumps(record, default=dict)
        print(
            self._yaml(text) if self.form == "yaml" else text,
            file=sys.stdout,
            flush=sys.stdout.isatty(),
        )

    def flush(self) -> None:
        """Print the table of the rows that were kept."""
        if self._rows and self.fields is not None:
            columns = [Column(name.upper(), is_flexible=True) for name in self.fields.names]
            self.console.print(make_table(self.console, columns, self._rows))
        self._rows.clear()

    def _yaml(self, text: str) -> str:
        """Return a document of YAML; a line of dashes separates it from the one before."""
        import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

        document: str = yaml.safe_dump(json.loads(text), sort_keys=False, width=YAML_WIDTH)
        separator = "---\n" if self._count > 1 else ""
        return separator + document.rstrip()
