"""``hourhand graphs``: submit graphs of jobs, show their nodes, and rerun parts of them."""
