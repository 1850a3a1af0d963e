"""``hourhand jobs``: its verbs."""

from __future__ import annotations

from hourhand.cli.helping import Noun
from hourhand.cli.jobs.changing_commands import (
    cancel_jobs,
    redrive_jobs,
    reschedule_job,
    run_job_now,
)
from hourhand.cli.jobs.reading_commands import list_events, list_jobs, show_job, watch_job
from hourhand.cli.jobs.submit_command import submit

jobs = Noun(name="jobs", no_args_is_help=True, help="Submit, find, follow and change jobs.")
jobs.command("submit")(submit)
jobs.command("list")(list_jobs)
jobs.command("show")(show_job)
jobs.command("events")(list_events)
jobs.command("watch")(watch_job)
jobs.command("cancel")(cancel_jobs)
jobs.command("redrive")(redrive_jobs)
jobs.command("run-now")(run_job_now)
jobs.command("reschedule")(reschedule_job)
