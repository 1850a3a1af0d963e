r"""Bulk import: submit a job for each row of a CSV file, and report the rows that were refused.

In the checkout, the first command in a terminal of its own:

    $ .venv/bin/hourhand dev --handlers examples.bulk_import
    $ printf 'email,name\nada@example.org,Ada\ngrace@example.org,Grace\n' > members.csv
    $ .venv/bin/python -m examples.bulk_import members.csv

The client sends up to 500 jobs per request, and its memory does not grow with the file. Each job
has an ID that follows from its row, so an import that was interrupted can simply run again.
"""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from hourhand import Client, JobContext, job
from hourhand.client import Submission


class Member(BaseModel):
    email: str
    name: str


@job("import-member", priority="low")
def import_member(ctx: JobContext, payload: Member) -> dict[str, str]:
    return {"imported": payload.email}


def submissions(file: Path) -> Iterator[Submission]:
    """Yield a submission for each row, reading the file as they are sent."""
    with file.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            digest = hashlib.sha256(row["email"].encode()).hexdigest()[:32]
            yield Submission(handler="import-member", payload=row, id=f"import-{digest}")


def import_members(client: Client, file: Path) -> dict[str, int]:
    """Submit every row and count what became of them; print why a row was refused."""
    counts = {"submitted": 0, "not submitted": 0, "unknown": 0}
    for outcome in client.submit_each(submissions(file), parallel=4):
        counts[outcome.fate] += 1
        if outcome.error is not None:
            # Row 1 of the file has the names of the columns.
            print(f"row {outcome.index + 2}: {outcome.error}")
    return counts


if __name__ == "__main__":
    with Client() as default_client:
        print(import_members(default_client, Path(sys.argv[1])))
