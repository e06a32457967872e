"""Jobs: what outlives whoever starts it, is found again, and tells its end itself."""

from ekiden_jobs.errors import (
    ExecutorUnavailableError,
    JobRequestError,
    JobsError,
    SubmissionError,
    UnknownJobError,
)
from ekiden_jobs.executor import Executor, LogTail, Preview, Statuses, StreamName
from ekiden_jobs.request import JobKey, JobRequest, Resources, task_key
from ekiden_jobs.status import JobStatus

__all__ = [
    "Executor",
    "ExecutorUnavailableError",
    "JobKey",
    "JobRequest",
    "JobRequestError",
    "JobStatus",
    "JobsError",
    "LogTail",
    "Preview",
    "Resources",
    "Statuses",
    "StreamName",
    "SubmissionError",
    "UnknownJobError",
    "task_key",
]
