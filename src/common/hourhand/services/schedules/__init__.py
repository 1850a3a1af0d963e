"""What Hourhand does with schedules: changes them, and creates the jobs of their occurrences."""
