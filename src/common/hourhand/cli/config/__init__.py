"""``hourhand config``: settings of a deployment that can change without one."""
