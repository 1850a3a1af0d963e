"""The routes of calendars: exclusions under a name that schedules share."""

from __future__ import annotations

from hourhand.api.http_request import Request
from hourhand.api.http_response import Answer
from hourhand.api.named_pages import answer_page
from hourhand.api.requests import CalendarInput, PageRequest, is_calendar_name, quoted
from hourhand.api.routing import Route, Services
from hourhand.api.views.schedules import calendar_response
from hourhand.domain.errors import FieldError, InvalidInput, NotFound


def put_calendar(services: Services, request: Request, name: str) -> Answer:
    """``PUT /calendars/{name}``: create it, or replace it whole."""
    if not is_calendar_name(name):
        message = "must be 1 to 100 of A-Z, a-z, 0-9, _ and -, and must not look like a date"
        fault = FieldError("name", message)
        raise InvalidInput("The name in the URL is invalid.", errors=(fault,))
    wanted = CalendarInput.parse(request.json())
    calendar, created = services.calendars.put(name, wanted, actor=request.actor)
    location = f"{request.stage_prefix}/v1/calendars/{name}"
    answer = Answer.of(calendar_response(calendar), status=201 if created else 200)
    return answer.with_headers({"location": location})


def list_calendars(services: Services, request: Request, _: str) -> Answer:
    """``GET /calendars``, in the order of their names."""
    return answer_page(
        "calendars",
        PageRequest.parse_query(request.query()),
        services.calendars.list,
        lambda calendar: (calendar.name, calendar_response(calendar)),
    )


def get_calendar(services: Services, _: Request, name: str) -> Answer:
    """``GET /calendars/{name}``."""
    return Answer.of(calendar_response(services.calendars.get(_require_name(name))))


def delete_calendar(services: Services, request: Request, name: str) -> Answer:
    """``DELETE /calendars/{name}``: not while a schedule uses it."""
    services.calendars.delete(_require_name(name), actor=request.actor)
    return Answer(status=204)


CALENDAR_ROUTES = (
    Route("PUT", "/v1/calendars/{name}", put_calendar, takes_body=True),
    Route("GET", "/v1/calendars", list_calendars, takes_query=True),
    Route("GET", "/v1/calendars/{name}", get_calendar),
    Route("DELETE", "/v1/calendars/{name}", delete_calendar),
)


def _require_name(name: str) -> str:
    if not is_calendar_name(name):
        raise NotFound(f"There is no calendar {quoted(name)}.")
    return name
