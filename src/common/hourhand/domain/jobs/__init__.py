"""A job: its states, the transitions between them, its history and what the sweep does with it."""
