"""What Hourhand does, one actor or noun a file: pure decisions carried out through ports.

Services start no threads, read no wall clock and draw no chance of their own, so that a test can
step them call by call through every interleaving and every crash.
"""
