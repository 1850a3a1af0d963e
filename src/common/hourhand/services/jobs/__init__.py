"""What Hourhand does with jobs, from submission to the end. Knows nothing of schedules."""
