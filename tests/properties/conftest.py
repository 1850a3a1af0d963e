"""Loads the profile of Hypothesis for this run."""

from hypothesis import settings

from tests.examples import PROFILE

settings.load_profile(PROFILE)
