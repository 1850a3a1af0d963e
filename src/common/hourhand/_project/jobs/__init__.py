"""The handlers: this folder is deployed. Import here every module that has some."""

from jobs import reports

__all__ = ["reports"]
