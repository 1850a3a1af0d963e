"""Growth: what a tick costs by what is due, by what is stored, and after an outage."""
