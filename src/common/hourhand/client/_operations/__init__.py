"""What a client can do, each thing written once: see `hourhand.client._steps`."""
