"""How records are stored in DynamoDB and sent through SQS, each beside the code that reads it."""
