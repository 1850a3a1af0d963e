"""The demonstration: real jobs on the local cloud, disturbed on purpose, and a judge of it all."""
