"""Questions that are answered with rows: which, how many, and as what."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_type_hints

from ekiden_store.columns import COLUMNS
from ekiden_store.errors import StoreError
from ekiden_store.queries.row_filter import RowFilter, both, mentions
from ekiden_store.redaction.redactor import TEXT_COLUMNS, Redactor

if TYPE_CHECKING:
    from ekiden_store.queries.pairs import Tally
    from ekiden_store.queries.sampling import Stratum
    from ekiden_store.snapshot import Snapshot
    from ekiden_store.steps import Step

Show = Literal["rows", "tactics", "proofs", "pairs"]
_BATCH = 1_000
_AS_THEY_ARE = frozenset(column.name for column in COLUMNS) - {*TEXT_COLUMNS, "lean_messages"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a store.

    Attributes:
        rows: Which rows.
        text: Only what says this somewhere; small and capital letters are the same.
        show: Rows as they are; tactics with the state before each; the tactics of completed proofs; or pairs of tactics
            in the same state, one on a proof and one not.
        limit: At most how many; None: all.
        cursor: Where the page of rows before ended.
        sample: How many rows to choose at random; None: they are not chosen at random.
        each: Choose so many for each label, depth, theorem, ...; None: altogether.
        seed: Another seed chooses other rows.
        unique: Columns in which rows must differ; empty: doubles stay.
        columns: Which columns of rows; empty: all.
        failed: Whether tactics that failed make pairs too.
        min_steps: Only proofs with at least so many tactics.
    """

    rows: RowFilter = field(default_factory=RowFilter)
    text: str = ""
    show: Show = "rows"
    limit: int | None = None
    cursor: str = ""
    sample: int | None = None
    each: "Stratum | None" = None
    seed: int = 0
    unique: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    failed: bool = False
    min_steps: int = 1

    def require_sense(self) -> None:
        """Refuse what cannot be asked together.

        Raises:
            StoreError: It cannot be asked.
        """
        names = [column.name for column in COLUMNS]
        if unknown := [name for name in (*self.columns, *self.unique) if name not in names]:
            raise StoreError(f"There is no column {unknown[0]!r}. The columns are {', '.join(names)}.")
        ways = {"a cursor": bool(self.cursor), "a sample": self.sample is not None, "unique rows": bool(self.unique)}
        wanted = [way for way, is_wanted in ways.items() if is_wanted]
        if len(wanted) > 1:
            raise StoreError(f"{' and '.join(wanted).capitalize()} cannot be had together; ask for one of them.")
        if self.show != "rows" and (wanted or self.columns):
            raise StoreError(
                f"{(wanted or ['columns'])[0].capitalize()} can be had of rows alone, not of {self.show}. A mix "
                "chooses among tactics and pairs."
            )
        if self.each is not None and self.sample is None:
            raise StoreError(f"Say how many rows are wanted for each {self.each}: a sample.")
        if self.cursor and self.limit is None:
            raise StoreError("A page needs a limit.")
        if self.show == "proofs" and self.rows != self.rows.rows_of_attempts():
            raise StoreError("Proofs are chosen by run, attempt and theorem; the other filters choose single rows.")


class Answer(NamedTuple):
    """Rows.

    Attributes:
        reader: A `pyarrow.RecordBatchReader`, which reads on as batches are taken from it.
        next_cursor: Where the next page begins; empty: there is none.
        tally: What became of the rows that tactics or pairs were asked of, once all is read; None: others were.
    """

    reader: Any
    next_cursor: str = ""
    tally: "Tally | None" = None


def answer(snapshot: "Snapshot", question: Question, *, redactor: Redactor | None = None) -> Answer:
    """Answer a question. Without a limit rows come as they lie in the store; with one, the newest first.

    Args:
        snapshot: The store.
        question: What is asked.
        redactor: Strikes out secrets; None: those that are known by their shape.

    Raises:
        StoreError: It cannot be asked, or the rows cannot be read.
    """
    question.require_sense()
    redactor = redactor or Redactor()
    if question.show == "rows":
        return _rows(snapshot, question, redactor)
    from ekiden_store.queries.pairs import Tally

    tally = None if question.show == "proofs" else Tally()
    records = _records(snapshot, question, tally)
    if question.text:
        needle = question.text.casefold()
        records = (each for each in records if any(needle in str(value).casefold() for value in each.values()))
    return Answer(_reader(_schema(question.show), islice(records, question.limit), redactor), tally=tally)


def _rows(snapshot: "Snapshot", question: Question, redactor: Redactor) -> Answer:
    from ekiden_store.queries.sampling import dedupe, sample, stratify
    from ekiden_store.schema import STEP_SCHEMA
    from ekiden_store.serving.views_query import newest_steps

    where = both(question.rows.expression(), mentions(question.text) if question.text else None)
    columns = list(question.columns) or STEP_SCHEMA.names
    following = ""
    if question.sample is not None:
        most, seed = question.sample, question.seed
        if question.each is None:
            tables = [sample(snapshot, most, seed=seed, where=where, columns=columns)]
        else:
            tables = [stratify(snapshot, question.each, most, seed=seed, where=where, columns=columns)]
    elif question.unique:
        tables = dedupe(snapshot, question.unique, where=where, columns=columns)
    elif question.limit is not None:
        steps, following = newest_steps(snapshot, where, limit=question.limit, cursor=question.cursor)
        tables = [_table(steps).select(columns)]
    else:
        tables = _tables(snapshot.scan(columns=columns, filter=where))
    return Answer(_redacted(_schema("rows", columns), _first(tables, question.limit), redactor), following)


def _records(snapshot: "Snapshot", question: Question, tally: "Tally | None") -> Iterator[dict[str, Any]]:
    from ekiden_store.queries.pairs import examples, positive_paths
    from ekiden_store.queries.pairs_contrast import contrasts

    if question.show == "tactics":
        yield from (asdict(one) for one in examples(snapshot, question.rows, tally=tally))
    elif question.show == "pairs":
        found = contrasts(snapshot, question.rows, failed=question.failed, tally=tally)
        yield from (asdict(one) for one in found)
    else:
        where = question.rows.rows_of_attempts().expression()  # a proof is whole, or none
        for number, path in enumerate(positive_paths(snapshot, where=where, min_steps=question.min_steps)):
            yield from ({"proof": number, **asdict(step)} for step in path)


def _schema(show: Show, columns: Iterable[str] = ()) -> Any:
    from ekiden_store.arrow import pa
    from ekiden_store.queries.pairs import Example
    from ekiden_store.queries.pairs_contrast import Contrast
    from ekiden_store.schema import STEP_SCHEMA

    if show == "rows":
        return pa.schema([STEP_SCHEMA.field(name) for name in columns])
    types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    told = get_type_hints(Contrast if show == "pairs" else Example)
    kinds = ({"proof": int} if show == "proofs" else {}) | told
    return pa.schema(
        [
            pa.field(name, next((types[each] for each in (kind, *get_args(kind)) if each in types), pa.string()))
            for name, kind in kinds.items()
        ]
    )


def _reader(schema: Any, records: Iterator[dict[str, Any]], redactor: Redactor) -> Any:
    from ekiden_store.arrow import pa

    def tables() -> Iterator[Any]:
        while some := list(islice(records, _BATCH)):
            yield pa.Table.from_pylist(some, schema)

    return _redacted(schema, tables(), redactor)


def _redacted(schema: Any, tables: Iterable[Any], redactor: Redactor) -> Any:
    from ekiden_store.arrow import pa
    from ekiden_store.redaction.tables import redacted_table

    clean = (redacted_table(table.cast(schema), redactor, but=_AS_THEY_ARE) for table in tables)
    return pa.RecordBatchReader.from_batches(
        schema, (batch for table in clean for batch in table.to_batches(max_chunksize=_BATCH))
    )


def _first(tables: Iterable[Any], limit: int | None) -> Iterator[Any]:
    for table in tables:
        if limit is None:
            yield table
            continue
        yield table.slice(0, limit)
        limit -= min(limit, table.num_rows)
        if not limit:
            return


def _tables(reader: Any) -> Iterator[Any]:
    from ekiden_store.arrow import pa

    for batch in reader:
        yield pa.Table.from_batches([batch])


def _table(steps: "list[Step]") -> Any:
    from ekiden_store.arrow import pa
    from ekiden_store.schema import STEP_SCHEMA

    return pa.Table.from_pylist(
        [{name: getattr(step, name) for name in STEP_SCHEMA.names} for step in steps], STEP_SCHEMA
    )
