"""Limits: which jobs hold slots, which wait for one, and how slots pass from job to job."""
