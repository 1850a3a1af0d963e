"""Examples to read, run and copy from: each file says in its first lines how to run it."""
