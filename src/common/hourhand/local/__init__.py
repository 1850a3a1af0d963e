"""The local cloud: AWS in memory, the three functions around it, and processes one can kill."""
