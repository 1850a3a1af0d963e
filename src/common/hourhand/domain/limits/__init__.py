"""Concurrency limits and rate limits: what they are, and every decision about them, purely."""
