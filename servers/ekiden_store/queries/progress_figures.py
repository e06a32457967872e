"""The figures that tell how far attempts have come."""

from dataclasses import dataclass, field

from ekiden_store.queries.paired import share_interval
from ekiden_store.queries.stats import LabelCounts

_SUMS = ("cost_nanodollars", "tokens_in", "tokens_out", "duration_ms")
_COUNTS = ("rows", "calls", "unpriced_calls", "uncounted_calls")


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a whole; without a whole there is no share.

    Attributes:
        part: How many.
        whole: Of how many.
        value: The share.
        low: Where the 95% interval of Wilson begins: few cases tell little.
        high: Where it ends.
    """

    part: int
    whole: int
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @classmethod
    def of(cls, part: int, whole: int) -> "Share":
        """Return a part of a whole, with its interval."""
        if not whole:
            return cls(part, whole)
        interval = share_interval(part, whole)
        return cls(part, whole, part / whole, interval.low, interval.high)


@dataclass(slots=True)
class Spent:
    """What attempts have spent, those that failed among them; None: no row tells.

    Attributes:
        rows: Rows of attempts.
        calls: Calls of models among them.
        cost_nanodollars: What they cost, in 10⁻⁹ US dollars.
        unpriced_calls: Calls of models whose cost no row tells: what is told is then too little.
        tokens_in: Tokens that models read.
        tokens_out: Tokens that they wrote.
        uncounted_calls: Calls of models whose tokens no row tells.
        duration_ms: How long tactics, tools and models took; what ran side by side is added up.
    """

    rows: int = 0
    calls: int = 0
    cost_nanodollars: int | None = None
    unpriced_calls: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    uncounted_calls: int = 0
    duration_ms: int | None = None

    def add(self, other: "Spent") -> None:
        """Add what was spent elsewhere."""
        for name in _COUNTS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in _SUMS:
            more = getattr(other, name)
            if more is not None:
                setattr(self, name, (getattr(self, name) or 0) + more)

    @property
    def tokens(self) -> int | None:
        """Tokens that models read and wrote."""
        told = [tokens for tokens in (self.tokens_in, self.tokens_out) if tokens is not None]
        return sum(told) if told else None


@dataclass(frozen=True, slots=True)
class PerProof:
    """What a proved theorem costs: all that was spent, divided by the theorems that were proved.

    Attributes:
        nanodollars: In 10⁻⁹ US dollars; None: nothing was proved, or no row tells.
        nanodollars_of_failures: How much of it went to theorems that stayed unproved.
        tokens: In tokens that models read and wrote.
        duration_ms: In time.
    """

    nanodollars: float | None
    nanodollars_of_failures: float | None
    tokens: float | None
    duration_ms: float | None

    @classmethod
    def of(cls, spent: Spent, proofs: int, failed_nanodollars: int) -> "PerProof":
        """Divide what was spent."""

        def share(value: int | None) -> float | None:
            return value / proofs if proofs and value is not None else None

        has_cost = spent.cost_nanodollars is not None
        return cls(
            share(spent.cost_nanodollars),
            share(failed_nanodollars if has_cost else None),
            share(spent.tokens),
            share(spent.duration_ms),
        )


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What became of theorems.

    Attributes:
        attempted: How many have a row that is not a copied proof. This and `proved` count those alone that were asked
            for, if it is told which those are.
        proved: How many have a completed proof without `sorry`.
        accepted: How many of those a judge accepted too.
        gave_up: How many have a completed proof with `sorry` alone; they are not proved.
        proofs: How many were proved, asked for or not: costs are divided by it.
        failed_nanodollars: What was spent on theorems that stayed unproved, in 10⁻⁹ US dollars.
        lengths: The proved ones by the tactics of their shortest proof; None: no row tells.
    """

    attempted: int = 0
    proved: int = 0
    accepted: int = 0
    gave_up: int = 0
    proofs: int = 0
    failed_nanodollars: int = 0
    lengths: dict[int | None, int] = field(default_factory=dict[int | None, int])


@dataclass(frozen=True, slots=True)
class Group:
    """What became of all, or of an iteration, a run or a model.

    Attributes:
        rows: All rows.
        labels: States by label.
        outcomes: What became of theorems.
        success: The proved ones, of those that were asked for; of those that were attempted where that is not told.
        spent: What was spent.
        per_proof: What a proved theorem cost.
        first_ms: When the first row was made, in milliseconds since 1970; None: no row tells.
        last_ms: When the last was.
    """

    rows: int
    labels: LabelCounts
    outcomes: Outcomes
    success: Share
    spent: Spent
    per_proof: PerProof
    first_ms: int | None
    last_ms: int | None


@dataclass(frozen=True, slots=True)
class Iteration:
    """What became of an iteration.

    Attributes:
        number: Which; None: rows that name none.
        group: What became of it.
        new: Theorems that no iteration before proved.
        so_far: All that were proved up to here, of those that were asked for, or of those attempted up to here.
    """

    number: int | None
    group: Group
    new: int
    so_far: Share


@dataclass(frozen=True, slots=True)
class Run:
    """What became of a run.

    Attributes:
        run_id: Which; empty: rows that name none.
        group: What became of it; its success is of what it attempted.
        iterations: The iterations of its rows.
        models: The models of its rows.
        new: Theorems that no run before proved; runs are in the order in which they began.
        so_far: All that were proved up to here, of those that were asked for, or of those attempted up to here.
    """

    run_id: str
    group: Group
    iterations: list[int | None]
    models: list[str]
    new: int
    so_far: Share


@dataclass(frozen=True, slots=True)
class Model:
    """What became of a model.

    Attributes:
        name: Which; empty: rows that name none.
        group: What became of it; its success is of what it attempted.
    """

    name: str
    group: Group


@dataclass(slots=True)
class Depth:
    """A depth of searches.

    Attributes:
        labels: States there, by label.
        reached: Theorems whose search went as deep, or deeper.
        finished: Theorems whose shortest proof has as many tactics.
    """

    labels: LabelCounts = field(default_factory=LabelCounts)
    reached: int = 0
    finished: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How far attempts have come.

    Attributes:
        whole: What became of all.
        kinds: Rows by kind.
        origins: Rows by where they come from.
        attempts: How many attempts there are.
        theorems: How many theorems there are, those with copied proofs alone among them.
        copied: Theorems of which there are copied proofs alone.
        asked: Theorems that were to be proved; None: not told.
        not_attempted: How many of those left no row.
        iterations: By iteration, in order; rows that name none come last.
        runs: By run, in the order in which they began.
        models: By model, in the order of the alphabet.
        labels_by_origin: States by where they come from and by label.
        depths: States and proofs by depth.
        failed: Rows of what failed.
        failures: The same by why, the most frequent first.
    """

    whole: Group
    kinds: dict[str, int]
    origins: dict[str, int]
    attempts: int
    theorems: int
    copied: int
    asked: int | None
    not_attempted: int | None
    iterations: list[Iteration]
    runs: list[Run]
    models: list[Model]
    labels_by_origin: dict[str, LabelCounts]
    depths: dict[int, Depth]
    failed: int
    failures: dict[str, int]
