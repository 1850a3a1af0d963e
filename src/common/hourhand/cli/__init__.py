"""The command line: `hourhand`."""
