"""Real processes for the parts of the proof that run in real time: chaos, soak and rehearsals."""

HOOK = "HOURHAND_RIG_HOOK"
"""The variable with the function that a process calls as it starts: ``module:function``."""

PLACE = "HOURHAND_RIG_PLACE"
"""The variable with the place of a process: ``worker-1``, ``scheduler-1``, and so on."""
