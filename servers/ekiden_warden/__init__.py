"""Wardens: small processes of their own that start a program, confine it, and outlive it.

A warden uses the standard library alone and starts in a few hundredths of a second. Whatever happens to its owner, it
notices (its standard input closes) and leaves no process behind.
"""

from ekiden_warden.completed import OUTPUT_BYTES, Completed, Confinement, Ended, run_confined
from ekiden_warden.confined import FILE_BYTES, ISOLATIONS, PROCESSES, ConfinedProcess, Enforced, Isolation
from ekiden_warden.errors import WardenError
from ekiden_warden.order import Order, View
from ekiden_warden.places import as_seen, home_folders, python_folders
from ekiden_warden.probe import probe
from ekiden_warden.secrecy import hide_memory
from ekiden_warden.strays import end_strays
from ekiden_warden.usage import Usage
from ekiden_warden.warden_process import Report, WardenProcess

__all__ = [
    "FILE_BYTES",
    "ISOLATIONS",
    "OUTPUT_BYTES",
    "PROCESSES",
    "Completed",
    "ConfinedProcess",
    "Confinement",
    "Ended",
    "Enforced",
    "Isolation",
    "Order",
    "Report",
    "Usage",
    "View",
    "WardenError",
    "WardenProcess",
    "as_seen",
    "end_strays",
    "hide_memory",
    "home_folders",
    "probe",
    "python_folders",
    "run_confined",
]
