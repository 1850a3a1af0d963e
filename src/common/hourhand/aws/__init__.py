"""The adapters: every port of `hourhand.ports` on plain boto3 clients."""
