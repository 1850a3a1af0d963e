"""The context of a durable handler, and the calls that it makes of its run."""
