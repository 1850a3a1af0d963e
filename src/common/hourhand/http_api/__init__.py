"""The HTTP API: routes, problems and answers, between API Gateway's events and the services."""

from hourhand.http_api.app import ROUTES, App, create_app
from hourhand.http_api.routing import Route, Services

__all__ = ["ROUTES", "App", "Route", "Services", "create_app"]
