"""Named calendars in DynamoDB, in the schedules table."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hourhand.aws.batch_reads import read_in_batches
from hourhand.aws.layout.schedules import (
    CALENDAR_ATTRIBUTES,
    CALENDARS,
    calendar_from_item,
    calendar_key,
    calendar_name_of,
    calendar_to_item,
)
from hourhand.aws.layout.versions import Kind, found_in
from hourhand.aws.parallel_calls import Bulk
from hourhand.aws.records import Records
from hourhand.aws.schedule_names import list_names
from hourhand.domain.schedules.schedule import Calendar
from hourhand.ports import Found
from hourhand.ports.schedule_store import NamePage
from hourhand.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoCalendarStore:
    """Implements the port `CalendarStore` on the schedules table.

    ``telemetry`` receives what is left to a newer version.
    """

    def __init__(
        self,
        client: DynamoDBClient,
        table_name: str,
        *,
        telemetry: Telemetry | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet. ``sleep`` waits between the tries of a batch, in seconds."""
        self._client = client
        self._table = table_name
        self._telemetry = telemetry
        self._sleep = sleep
        self._records = Records(client, table_name)

    def get_calendar(self, name: str) -> Calendar | None:
        """Read a calendar, strongly consistent."""
        item = self._records.read(calendar_key(name))
        return calendar_from_item(item) if item is not None else None

    def get_calendars(self, names: Sequence[str]) -> Found[str, Calendar]:
        """Read calendars, strongly consistent; unknown ones are left out."""
        keys = [calendar_key(name) for name in dict.fromkeys(names)]
        items = read_in_batches(Bulk(self._client), self._table, keys, self._sleep)
        return found_in(Kind.CALENDAR, items, calendar_name_of, calendar_from_item, self._telemetry)

    def put_calendar(self, calendar: Calendar, *, previous: int | None) -> bool:
        """Store it if the record has the revision ``previous`` (``None``: none); whether it was."""
        refused = self._records.put_after(
            Kind.CALENDAR, calendar_to_item(calendar), previous, CALENDAR_ATTRIBUTES
        )
        if refused is None:
            return True
        return refused.item is not None and calendar_from_item(refused.item) == calendar

    def delete_calendar(self, name: str, *, previous: int) -> bool:
        """Delete it if it has the revision ``previous``; whether it is gone."""
        return self._records.delete_at(Kind.CALENDAR, calendar_key(name), previous)

    def list_calendars(self, *, after: str | None, limit: int) -> NamePage:
        """List names in ascending order, strictly after ``after``."""
        return list_names(self._client, self._table, CALENDARS, after=after, limit=limit)
