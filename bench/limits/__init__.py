"""Flow control: what limits cost, how many messages they take, and how they grow."""
