"""Benchmarks of durable runs: what their calls cost, and what a replay takes."""
