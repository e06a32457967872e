"""The trajectory store: every attempt becomes data.

What is named here is for programs; the guide shows how it goes together. Importing the package imports none of it: each
name is looked up when it is first asked for, so that a program that only appends need not wait for pyarrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_store.columns import COLUMNS, SCHEMA_VERSION, Kind, Label, Origin, Outcome
    from ekiden_store.compaction import Compaction
    from ekiden_store.data_sets.exports import export_mix
    from ekiden_store.data_sets.exports_manifest import Manifest
    from ekiden_store.data_sets.exports_verify import read_template, verify_data_set
    from ekiden_store.data_sets.mixes import Mix, parse_mix, read_mix
    from ekiden_store.embeddings.cache import EmbeddingCache
    from ekiden_store.embeddings.encoders import Encoder, EncoderIdentity, HashEncoder
    from ekiden_store.embeddings.encoders_http import HttpEncoder
    from ekiden_store.embeddings.fill import FillReport, fill_cache
    from ekiden_store.embeddings.import_file import import_reference_cache
    from ekiden_store.errors import DamagedPartError, InvalidStepError, NotStoredError, StoreError, StoreVersionError
    from ekiden_store.layout import Finding
    from ekiden_store.queries.asking import Answer, Question, answer
    from ekiden_store.queries.comparing import Comparison, compare_runs
    from ekiden_store.queries.comparing_sets import SetComparison, compare_sets
    from ekiden_store.queries.pairs import Example, Tally, examples, positive_paths
    from ekiden_store.queries.pairs_contrast import Contrast, contrasts
    from ekiden_store.queries.progress import read_progress
    from ekiden_store.queries.progress_figures import Progress
    from ekiden_store.queries.row_filter import RowFilter
    from ekiden_store.queries.runs import RunSummary, read_runs
    from ekiden_store.queries.sampling import dedupe, sample, stratify
    from ekiden_store.queries.selection import Selection, read_names, select_theorems, stored_names, write_selection
    from ekiden_store.queries.sql import sql_rows
    from ekiden_store.queries.stats import Stats, read_stats
    from ekiden_store.queries.trees import Tree, read_trees, tree_lines
    from ekiden_store.redaction.redactor import Redactor
    from ekiden_store.repair import Report
    from ekiden_store.serving.views import attempt_steps, read_steps
    from ekiden_store.sessions.atif import export_attempt, read_trajectory
    from ekiden_store.sessions.session import SessionFile
    from ekiden_store.snapshot import Snapshot
    from ekiden_store.steps import Step
    from ekiden_store.store import Store
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
    "columns": "COLUMNS SCHEMA_VERSION Kind Label Origin Outcome",
    "compaction": "Compaction",
    "data_sets.exports": "export_mix",
    "data_sets.exports_manifest": "Manifest",
    "data_sets.exports_verify": "read_template verify_data_set",
    "data_sets.mixes": "Mix parse_mix read_mix",
    "embeddings.cache": "EmbeddingCache",
    "embeddings.encoders": "Encoder EncoderIdentity HashEncoder",
    "embeddings.encoders_http": "HttpEncoder",
    "embeddings.fill": "FillReport fill_cache",
    "embeddings.import_file": "import_reference_cache",
    "errors": "DamagedPartError InvalidStepError NotStoredError StoreError StoreVersionError",
    "layout": "Finding",
    "queries.asking": "Answer Question answer",
    "queries.comparing": "Comparison compare_runs",
    "queries.comparing_sets": "SetComparison compare_sets",
    "queries.pairs": "Example Tally examples positive_paths",
    "queries.pairs_contrast": "Contrast contrasts",
    "queries.progress": "read_progress",
    "queries.progress_figures": "Progress",
    "queries.row_filter": "RowFilter",
    "queries.runs": "RunSummary read_runs",
    "queries.sampling": "dedupe sample stratify",
    "queries.selection": "Selection read_names select_theorems stored_names write_selection",
    "queries.sql": "sql_rows",
    "queries.stats": "Stats read_stats",
    "queries.trees": "Tree read_trees tree_lines",
    "redaction.redactor": "Redactor",
    "repair": "Report",
    "serving.views": "attempt_steps read_steps",
    "sessions.atif": "export_attempt read_trajectory",
    "sessions.session": "SessionFile",
    "snapshot": "Snapshot",
    "steps": "Step",
    "store": "Store",
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
