"""What a month of a load costs on AWS, with Hourhand and with what else would run it."""
