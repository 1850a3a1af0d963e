"""What the services need of the world, as protocols; ``aws`` and ``memory`` implement them.

A port, its adapter and its memory twin have the same file name. Every method may raise
`hourhand.domain.errors.Unavailable`: AWS did not answer, or throttled beyond the client's own
retries. A write was then applied or not, and the caller must assume neither. A lost race is a
value (`Refused`, `Outdated`), never an exception.
"""
