"""What it means that `sbatch` failed: whether a job may have come of it all the same."""

import re
from typing import Literal

Meaning = Literal["final", "later", "unclear"]
"""No job came of it, now or ever; none, but one may later; or nobody knows."""

_USAGE = 255
_BROKEN = (
    "unable to contact",
    "timed out",
    "zero bytes",
    "connection",
    "connect failure",
    "communication",
    "transmi",
    "protocol",
)
"""What went wrong between sbatch and the controller, whatever else was said."""
_LATER = (
    "assocmaxsubmitjoblimit",
    "assocgrpsubmitjobslimit",
    "qosmaxsubmitjobperuserlimit",
    "qosmaxsubmitjobperaccountlimit",
    "qosgrpsubmitjobslimit",
)
"""Too many jobs are in the queue: sbatch said so, and there is no job."""
_FINAL = (
    "invalid partition",
    "invalid account",
    "invalid qos",
    "invalid generic resource",
    "invalid gres",
    "invalid feature",
    "invalid node name",
    "invalid license",
    "invalid job array specification",
    "invalid job name",
    "invalid reservation",
    "invalid time limit",
    "invalid wckey",
    "invalid cluster name",
    "invalid burst buffer",
    "invalid tres",
    "reservation is invalid",
    "access/permission denied",
    "user not permitted",
    "user's group not permitted",
    "requested node configuration is not available",
    "requested partition configuration not available",
    "requested time limit is invalid",
    "requested operation not supported",
    "requested nodes",
    "memory specification can not be satisfied",
    "memory required by task is not available",
    "cpu count specification",
    "cpu count per node can not be satisfied",
    "node count specification invalid",
    "more processors requested than permitted",
    "more nodes requested",
    "job violates accounting/qos policy",
    "job dependency problem",
    "job is missing",
    "no partition specified or system default partition",
    "unable to open file",
    "batch script is empty",
    "contains dos line breaks",
    "does not look like a batch script",
    "unrecognized option",
    "is a directory",
)
"""Words with which it, or the controller, turned the request away."""
_UNKNOWN = "unspecified error"


def meaning_of(exit_code: int, stderr: str) -> Meaning:
    """Say what became of a submission whose command failed.

    A text that is not known is unclear, as is everything after which the controller may have taken the job without
    its answer arriving: a connection that broke or timed out, a command that was killed.

    Args:
        exit_code: The command's exit code, negative for a signal.
        stderr: What it wrote to its standard error.
    """
    text = stderr.lower()
    if exit_code == _USAGE:
        return "final"
    if exit_code < 0 or any(words in text for words in _BROKEN):
        return "unclear"
    if any(words in text for words in _LATER):
        return "later"
    if any(words in text for words in _FINAL):
        return "final"
    # a site's own rules end with this word, after a line of their own
    own = [line for line in text.splitlines() if line.startswith("sbatch: error:") and _UNKNOWN not in line]
    return "final" if own and re.search(rf"submission failed: {_UNKNOWN}", text) else "unclear"
