"""``hourhand rollback``: moves the aliases of all functions back to an earlier deployment."""
