"""The tick of the scheduler: leadership, clock audit, sweep and dispatch."""
