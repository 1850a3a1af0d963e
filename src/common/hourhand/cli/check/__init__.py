"""``hourhand check``: warns about durable handlers whose replays may differ."""
