"""Property tests are not timed: a busy machine would make them fail."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
