"""The examples are tested as users test their own jobs: against the double of an installation."""

from hourhand.testing.fixtures import hourhand_jobs, hourhand_start

__all__ = ["hourhand_jobs", "hourhand_start"]
