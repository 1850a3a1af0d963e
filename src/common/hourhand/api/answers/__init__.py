"""The answers of the API."""
