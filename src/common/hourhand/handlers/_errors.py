"""What can be wrong with a handler itself, rather than with its work."""

from __future__ import annotations

from hourhand.domain.errors import HourhandError


class InvalidHandler(HourhandError):
    """A handler is not registered as it must be: its name, signature or policies."""

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
    """A handler returned what JSON cannot hold."""

    code = "result_not_json"
    status = 422
