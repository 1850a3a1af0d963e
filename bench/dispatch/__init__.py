"""The dispatch engine: sweep, read, send, mark, against a stand-in for AWS on loopback."""
