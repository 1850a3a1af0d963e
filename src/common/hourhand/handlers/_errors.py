"""The errors of a handler's definition, rather than of its work."""

from __future__ import annotations

from hourhand.domain.errors import HourhandError


class InvalidHandler(HourhandError):
    """A handler cannot be registered: its name, signature or policies are wrong."""

    code = "invalid_handler"
    status = 422


class UnknownHandler(HourhandError):
    """No handler of that name is registered."""

    code = "unknown_handler"
    status = 404


class HandlersNotLoaded(HourhandError):
    """The module that registers the handlers could not be imported."""

    code = "handlers_not_loaded"


class ResultNotJson(HourhandError):
    """A handler returned a value that JSON cannot represent."""

    code = "result_not_json"
    status = 422
