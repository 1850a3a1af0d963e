"""Lateness: how long after its time a job's first attempt starts.

`simulated` lets virtual time pass over the real services, `local` uses real processes on moto.
"""
