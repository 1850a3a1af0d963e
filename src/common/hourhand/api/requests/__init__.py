"""The requests of callers, checked field by field."""
