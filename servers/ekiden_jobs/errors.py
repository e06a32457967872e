"""What can go wrong with jobs."""


class JobsError(Exception):
    """A job that cannot be described, submitted or asked for; the message says why, and what to do."""


class JobRequestError(JobsError):
    """No job can be like that."""


class UnknownJobError(JobsError):
    """There is no such job."""


class SubmissionError(JobsError):
    """The system turned a job away; the message holds its own words."""


class ExecutorUnavailableError(JobsError):
    """The system that runs jobs cannot be used now."""
