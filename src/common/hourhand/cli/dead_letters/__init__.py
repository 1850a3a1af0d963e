"""``hourhand dead-letters``: jobs that are DEAD, by handler and error."""
