"""The local cloud: AWS in memory, the three functions, and processes that can be killed."""
