"""How Hypothesis runs here: bounded by its number of examples, never by the clock."""

from hypothesis import HealthCheck, settings

# A shared or slow machine is no bug of ours; pytest's own timeout ends what hangs.
settings.register_profile("hourhand", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("hourhand")
