"""``hourhand dead-letters``: the jobs that failed permanently."""
