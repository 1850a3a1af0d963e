"""``hourhand batches``: submit jobs with callbacks, add to them, and show their counts."""
