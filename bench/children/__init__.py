"""The benchmarks of child jobs, batches and graphs."""
