"""Durable runs: names of calls, records of the journal, replay, retries of steps, waits, tokens."""
