"""``hourhand jobs``: submit, find, follow and change jobs."""
