"""``hourhand limits``: show how many jobs may run at a time, and change it while jobs run."""
