"""The rules of Hourhand as pure functions and values: no AWS, no environment, no clock, no chance.

Times, random numbers and ids come in as arguments; decisions go out as values that a service
carries out. Nothing in this package may import anything that can reach the world.
"""
