"""Handlers to read, run and copy from."""
