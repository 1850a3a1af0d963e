"""Hourhand: jobs at a time, after a delay or on a schedule, on AWS without servers."""
