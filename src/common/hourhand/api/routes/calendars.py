"""The routes of calendars: exclusions under a name that schedules share."""

from __future__ import annotations

from hourhand.answers import schedules
from hourhand.api.access import OPERATE_ALL, READ_SHARED
from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.pages import answer_page
from hourhand.api.requests._errors import quoted
from hourhand.api.requests._exclusions import is_calendar_name
from hourhand.api.requests.schedule_operations import CalendarInput, PageRequest
from hourhand.api.routing import Route, RouteTable, Services
from hourhand.api.views.schedules import calendar_response
from hourhand.domain.errors import FieldError, InvalidInput, NotFound

ROUTES = RouteTable(Route)


@ROUTES.add(
    "PUT /calendars/{name}", OPERATE_ALL, CalendarInput, schedules.Calendar, statuses=(200, 201)
)
def put_calendar(services: Services, request: Request, name: str) -> Answer:
    """Create a calendar, or replace all of it."""
    if not is_calendar_name(name):
        message = "must be 1 to 100 of A-Z, a-z, 0-9, _ and -, and must not look like a date"
        fault = FieldError("name", message)
        raise InvalidInput("The name in the URL is invalid.", errors=(fault,))
    wanted = CalendarInput.parse(request.json())
    calendar, created = services.calendars.put(
        name, wanted.exclusions, note=wanted.note, actor=request.actor
    )
    location = request.address(f"/calendars/{name}")
    return Answer.stored(calendar_response(calendar), location, is_new=created)


@ROUTES.add("GET /calendars", READ_SHARED, PageRequest, schedules.CalendarPage)
def list_calendars(services: Services, request: Request, _: str) -> Answer:
    """List calendars by name, in pages."""
    return answer_page(
        "calendars",
        PageRequest.parse(request.query()),
        services.calendars.list,
        lambda calendar: (calendar.name, calendar_response(calendar)),
    )


@ROUTES.add("GET /calendars/{name}", READ_SHARED, None, schedules.Calendar)
def get_calendar(services: Services, _: Request, name: str) -> Answer:
    """Read a calendar."""
    return Answer.of(calendar_response(services.calendars.get(_require_name(name))))


@ROUTES.add("DELETE /calendars/{name}", OPERATE_ALL, statuses=(204,))
def delete_calendar(services: Services, request: Request, name: str) -> Answer:
    """Delete a calendar that no schedule uses."""
    services.calendars.delete(_require_name(name), actor=request.actor)
    return Answer(status=204)


def _require_name(name: str) -> str:
    if not is_calendar_name(name):
        raise NotFound(f"There is no calendar {quoted(name)}.")
    return name
