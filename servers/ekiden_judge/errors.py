"""The errors of `ekiden_judge`."""


class JudgeError(Exception):
    """Something that keeps the judge from reading its input or from reaching a verdict."""


class JudgeConfigurationError(JudgeError, ValueError):
    """A problem or manifest that is wrong: the organizer's fault, never a contestant's status."""


class JudgeInfrastructureError(JudgeError):
    """A checker that cannot work: a missing tool, a full disk; never a contestant's status."""
