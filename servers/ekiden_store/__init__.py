"""The trajectory store: every attempt becomes data."""

from ekiden_store.columns import SCHEMA_VERSION, Kind, Label, Origin, Outcome
from ekiden_store.errors import DamagedPartError, InvalidStepError, NotStoredError, StoreError, StoreVersionError
from ekiden_store.layout import Finding
from ekiden_store.repair import Report
from ekiden_store.steps import Step
from ekiden_store.store import Store
from ekiden_store.writer import Writer

__all__ = [
    "SCHEMA_VERSION",
    "DamagedPartError",
    "Finding",
    "InvalidStepError",
    "Kind",
    "Label",
    "NotStoredError",
    "Origin",
    "Outcome",
    "Report",
    "Step",
    "Store",
    "StoreError",
    "StoreVersionError",
    "Writer",
]
