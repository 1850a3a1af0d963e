"""``hourhand jobs``: submit, list, follow and change jobs."""
