"""The output of the command: harmless texts, times, tables, progress."""
