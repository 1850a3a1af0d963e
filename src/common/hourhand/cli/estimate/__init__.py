"""What a month of a load costs on AWS, with Hourhand and with its alternatives."""
