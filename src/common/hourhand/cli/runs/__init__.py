"""``hourhand runs``: the steps of durable runs, their signals and journals, and redrives."""
