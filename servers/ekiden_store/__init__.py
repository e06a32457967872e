"""The trajectory store: every attempt becomes data.

What is named here is for programs; the guide shows how it goes together. Importing the package imports none of it: each
name is looked up when it is first asked for, so that a program that only appends need not wait for pyarrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_store.asking import Answer, Question, answer
    from ekiden_store.atif import export_attempt, read_trajectory
    from ekiden_store.columns import COLUMNS, SCHEMA_VERSION, Kind, Label, Origin, Outcome
    from ekiden_store.compaction import Compaction
    from ekiden_store.comparing import Comparison, compare_runs
    from ekiden_store.comparing_sets import SetComparison, compare_sets
    from ekiden_store.embeddings import EmbeddingCache
    from ekiden_store.embeddings_fill import FillReport, fill_cache
    from ekiden_store.embeddings_import import import_reference_cache
    from ekiden_store.encoders import Encoder, EncoderIdentity, HashEncoder
    from ekiden_store.encoders_http import HttpEncoder
    from ekiden_store.errors import DamagedPartError, InvalidStepError, NotStoredError, StoreError, StoreVersionError
    from ekiden_store.exports import export_mix
    from ekiden_store.exports_manifest import Manifest
    from ekiden_store.exports_verify import read_template, verify_data_set
    from ekiden_store.layout import Finding
    from ekiden_store.mixes import Mix, parse_mix, read_mix
    from ekiden_store.pairs import Example, Tally, examples, positive_paths
    from ekiden_store.pairs_contrast import Contrast, contrasts
    from ekiden_store.progress import read_progress
    from ekiden_store.progress_figures import Progress
    from ekiden_store.redaction import Redactor
    from ekiden_store.repair import Report
    from ekiden_store.runs import RunSummary, read_runs
    from ekiden_store.sampling import dedupe, sample, stratify
    from ekiden_store.selection import Selection, read_names, select_theorems, stored_names, write_selection
    from ekiden_store.selection_rows import RowFilter
    from ekiden_store.sessions import SessionFile
    from ekiden_store.snapshot import Snapshot
    from ekiden_store.sql import sql_rows
    from ekiden_store.stats import Stats, read_stats
    from ekiden_store.steps import Step
    from ekiden_store.store import Store
    from ekiden_store.trees import Tree, read_trees, tree_lines
    from ekiden_store.views import attempt_steps, read_steps
    from ekiden_store.writer import Writer

__all__ = [
    "COLUMNS",
    "SCHEMA_VERSION",
    "Answer",
    "Compaction",
    "Comparison",
    "Contrast",
    "DamagedPartError",
    "EmbeddingCache",
    "Encoder",
    "EncoderIdentity",
    "Example",
    "FillReport",
    "Finding",
    "HashEncoder",
    "HttpEncoder",
    "InvalidStepError",
    "Kind",
    "Label",
    "Manifest",
    "Mix",
    "NotStoredError",
    "Origin",
    "Outcome",
    "Progress",
    "Question",
    "Redactor",
    "Report",
    "RowFilter",
    "RunSummary",
    "Selection",
    "SessionFile",
    "SetComparison",
    "Snapshot",
    "Stats",
    "Step",
    "Store",
    "StoreError",
    "StoreVersionError",
    "Tally",
    "Tree",
    "Writer",
    "answer",
    "attempt_steps",
    "compare_runs",
    "compare_sets",
    "contrasts",
    "dedupe",
    "examples",
    "export_attempt",
    "export_mix",
    "fill_cache",
    "import_reference_cache",
    "parse_mix",
    "positive_paths",
    "read_mix",
    "read_names",
    "read_progress",
    "read_runs",
    "read_stats",
    "read_steps",
    "read_template",
    "read_trajectory",
    "read_trees",
    "sample",
    "select_theorems",
    "sql_rows",
    "stored_names",
    "stratify",
    "tree_lines",
    "verify_data_set",
    "write_selection",
]

_PLACES = {
    "asking": "Answer Question answer",
    "atif": "export_attempt read_trajectory",
    "columns": "COLUMNS SCHEMA_VERSION Kind Label Origin Outcome",
    "compaction": "Compaction",
    "comparing": "Comparison compare_runs",
    "comparing_sets": "SetComparison compare_sets",
    "embeddings": "EmbeddingCache",
    "embeddings_fill": "FillReport fill_cache",
    "embeddings_import": "import_reference_cache",
    "encoders": "Encoder EncoderIdentity HashEncoder",
    "encoders_http": "HttpEncoder",
    "errors": "DamagedPartError InvalidStepError NotStoredError StoreError StoreVersionError",
    "exports": "export_mix",
    "exports_manifest": "Manifest",
    "exports_verify": "read_template verify_data_set",
    "layout": "Finding",
    "mixes": "Mix parse_mix read_mix",
    "pairs": "Example Tally examples positive_paths",
    "pairs_contrast": "Contrast contrasts",
    "progress": "read_progress",
    "progress_figures": "Progress",
    "redaction": "Redactor",
    "repair": "Report",
    "runs": "RunSummary read_runs",
    "sampling": "dedupe sample stratify",
    "selection": "Selection read_names select_theorems stored_names write_selection",
    "selection_rows": "RowFilter",
    "sessions": "SessionFile",
    "snapshot": "Snapshot",
    "sql": "sql_rows",
    "stats": "Stats read_stats",
    "steps": "Step",
    "store": "Store",
    "trees": "Tree read_trees tree_lines",
    "views": "attempt_steps read_steps",
    "writer": "Writer",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
