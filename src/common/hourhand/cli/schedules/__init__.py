"""``hourhand schedules``: create, list, pause, trigger and backfill schedules."""
