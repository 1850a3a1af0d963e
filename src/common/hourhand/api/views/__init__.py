"""What the services return, as the answers of the API."""
