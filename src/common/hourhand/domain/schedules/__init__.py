"""A schedule: its rule, its occurrences, what changes it, its journal and its backfills."""
