"""The HTTP API: routes, requests and answers, between API Gateway's events and the services."""
