"""The trajectory store: every attempt becomes data."""

from ekiden_store.columns import SCHEMA_VERSION, Kind, Label, Origin, Outcome
from ekiden_store.errors import DamagedPartError, InvalidStepError, NotStoredError, StoreError, StoreVersionError
from ekiden_store.steps import Step
from ekiden_store.store import Store
from ekiden_store.writer import Writer

__all__ = [
    "SCHEMA_VERSION",
    "DamagedPartError",
    "InvalidStepError",
    "Kind",
    "Label",
    "NotStoredError",
    "Origin",
    "Outcome",
    "Step",
    "Store",
    "StoreError",
    "StoreVersionError",
    "Writer",
]
