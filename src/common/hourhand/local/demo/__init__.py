"""The demonstration: a plan, its run on the local cloud, and the verdict."""
