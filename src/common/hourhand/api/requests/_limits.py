"""The limits of what callers may send, each with its reason where it is not plain."""

from __future__ import annotations

from hourhand.domain.jobs.job import MAX_CONTENT_BYTES

MAX_PAYLOAD_BYTES = MAX_CONTENT_BYTES
"""Of canonical JSON text in UTF-8: escaped once more, it must fit into a Lambda event of 6 MB."""

MAX_NESTING = 100
"""Arrays and objects within one another: not every JSON reader accepts deeper ones."""

MAX_HANDLER_CHARACTERS = 64
MAX_KEY_CHARACTERS = 256
MAX_TENANT_CHARACTERS = 128
MAX_SCHEDULE_ID_CHARACTERS = 100
MAX_CURSOR_CHARACTERS = 1000
MAX_ERROR_TYPE_CHARACTERS = 100
MAX_TAGS = 20
MAX_TAG_KEY_CHARACTERS = 64
MAX_TAG_VALUE_CHARACTERS = 256
MAX_TIMEOUT_SECONDS = 840
"""A minute less than the longest that a Lambda function may run."""

MAX_ATTEMPTS = 100
MIN_RETRY_SECONDS = 0.001
MAX_RETRY_SECONDS = 366 * 86_400
"""A retry further off than a year is a mistake in units, most likely."""

MAX_RETENTION_SECONDS = 10 * 366 * 86_400
MAX_DELAY_SECONDS = 200 * 366 * 86_400
"""Beyond the year 2200 whenever it is sent; the exact bound is judged against the clock."""

END_OF_TIME_YEAR = 2201
"""The first year that no time may lie in."""

MAX_BATCH_JOBS = 500
MAX_BATCH_BYTES = 2_500_000
DEFAULT_GRID_RUNS = 25
MAX_GRID_RUNS = 100
MAX_EXPECTED_COUNT = 1_000_000_000_000
DEFAULT_PAGE_JOBS = 50
MAX_PAGE_JOBS = 200
MAX_DEAD_LETTERS_READ = 1000
"""For one answer in groups: as many reads of 100 jobs each as take about a second."""

DEFAULT_LOG_LINES = 100
MAX_LOG_LINES = 1000

MAX_NOTE_CHARACTERS = 1000
MAX_EXPRESSION_CHARACTERS = 1000
MAX_ZONE_CHARACTERS = 64
MAX_EXCLUSIONS = 200
MAX_JITTER_SECONDS = 86_400
MAX_WINDOW_SECONDS = 366 * 86_400
MAX_RUNNING = 100
MAX_BUFFER = 1000
MAX_OCCURRENCES = 1_000_000_000
"""More than a schedule of every second comes to in thirty years."""

MAX_KEPT = 10_000
MAX_BACKFILL_ACTIVE = 100
MAX_RECENT_RUNS = 20
DEFAULT_PREVIEW_FIRES = 10
MAX_PREVIEW_FIRES = 1000
MAX_SCHEDULE_PAYLOAD_BYTES = 256_000
"""A schedule is one item, of which DynamoDB holds 400 KB; its other fields are below 130 KB."""

MAX_FIELD_ERRORS = 20
MAX_QUOTED_CHARACTERS = 100
"""How many errors an answer lists, and how much of a caller's text it repeats."""
