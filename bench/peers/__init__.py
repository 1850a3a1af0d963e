"""Hourhand beside Celery, dramatiq and EventBridge Scheduler, on the same emulator and work.

The modules that end in ``_side`` are the contestants' own: what submits and what works. Those of
Celery and dramatiq run under the Python of ``.venv-peers``, so they import nothing of ours but
`bench.peers.runs` and `bench.peers.submitting`, which need only the standard library.
"""
