"""``hourhand schedules``: put, look at, pause, trigger and run the past of schedules."""
