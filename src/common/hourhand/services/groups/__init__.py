"""Admission to a group before a job starts, and waking the jobs that wait for a slot."""
