"""``hourhand context``: the deployments that a user works with, each under a name."""
