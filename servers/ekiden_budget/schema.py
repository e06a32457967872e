"""The tables of a ledger's file, and the steps by which older files get them."""

import sqlite3
from collections.abc import Sequence

from ekiden_budget.errors import LedgerError

APPLICATION_ID = 0x656B4C67
"""Stands in the header of every ledger, and tells it from other SQLite files."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE owners (number INTEGER PRIMARY KEY, pid INTEGER NOT NULL, started TEXT NOT NULL,"
        " boot TEXT NOT NULL, UNIQUE (pid, started, boot)) STRICT",
        """CREATE TABLE budgets (
            number INTEGER PRIMARY KEY,
            id TEXT NOT NULL UNIQUE,
            parent INTEGER REFERENCES budgets (number),
            name TEXT NOT NULL,
            role TEXT NOT NULL,
            token_hash BLOB NOT NULL UNIQUE,
            opened_at REAL NOT NULL,
            closed_at REAL,
            clock TEXT NOT NULL CHECK (clock IN ('wall', 'active')),
            paused INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
            elapsed_s REAL NOT NULL DEFAULT 0 CHECK (elapsed_s >= 0),
            seen_at REAL NOT NULL,
            cap_tokens INTEGER CHECK (cap_tokens >= 0),
            cap_nanodollars INTEGER CHECK (cap_nanodollars >= 0),
            cap_seconds REAL CHECK (cap_seconds >= 0),
            soft_tokens INTEGER CHECK (soft_tokens >= 0),
            soft_nanodollars INTEGER CHECK (soft_nanodollars >= 0),
            soft_seconds REAL CHECK (soft_seconds >= 0),
            settled_tokens INTEGER NOT NULL DEFAULT 0 CHECK (settled_tokens >= 0),
            settled_nanodollars INTEGER NOT NULL DEFAULT 0 CHECK (settled_nanodollars >= 0),
            reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
            reserved_nanodollars INTEGER NOT NULL DEFAULT 0 CHECK (reserved_nanodollars >= 0),
            excess_tokens INTEGER NOT NULL DEFAULT 0 CHECK (excess_tokens >= 0),
            excess_nanodollars INTEGER NOT NULL DEFAULT 0 CHECK (excess_nanodollars >= 0),
            open INTEGER NOT NULL DEFAULT 0 CHECK (open >= 0),
            answered INTEGER NOT NULL DEFAULT 0,
            unreadable INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            unsent INTEGER NOT NULL DEFAULT 0,
            abandoned INTEGER NOT NULL DEFAULT 0,
            refused INTEGER NOT NULL DEFAULT 0,
            unpriced INTEGER NOT NULL DEFAULT 0,
            CONSTRAINT token_cap CHECK (cap_tokens IS NULL OR settled_tokens + reserved_tokens <= cap_tokens),
            CONSTRAINT dollar_cap CHECK (
                cap_nanodollars IS NULL OR settled_nanodollars + reserved_nanodollars <= cap_nanodollars)
        ) STRICT""",
        "CREATE INDEX children ON budgets (parent)",
        """CREATE TABLE calls (
            number INTEGER PRIMARY KEY,
            budget INTEGER NOT NULL REFERENCES budgets (number),
            owner INTEGER NOT NULL REFERENCES owners (number),
            dialect TEXT NOT NULL,
            model TEXT NOT NULL,
            upstream TEXT NOT NULL,
            stream INTEGER NOT NULL,
            purpose TEXT NOT NULL,
            begun_at REAL NOT NULL,
            reserved_tokens INTEGER NOT NULL CHECK (reserved_tokens >= 0),
            reserved_nanodollars INTEGER CHECK (reserved_nanodollars >= 0),
            outcome TEXT CHECK (outcome IN ('answered', 'unreadable', 'failed', 'unsent', 'abandoned')),
            ended_at REAL,
            billed_tokens INTEGER CHECK (billed_tokens >= 0),
            billed_nanodollars INTEGER CHECK (billed_nanodollars >= 0),
            excess_tokens INTEGER NOT NULL DEFAULT 0 CHECK (excess_tokens >= 0),
            excess_nanodollars INTEGER NOT NULL DEFAULT 0 CHECK (excess_nanodollars >= 0),
            detail TEXT NOT NULL DEFAULT '',
            CHECK ((outcome IS NULL) = (ended_at IS NULL) AND (outcome IS NULL) = (billed_tokens IS NULL))
        ) STRICT""",
        "CREATE INDEX calls_of_budgets ON calls (budget)",
        "CREATE INDEX calls_in_flight ON calls (owner) WHERE outcome IS NULL",
        """CREATE TABLE minutes (
            budget INTEGER NOT NULL REFERENCES budgets (number),
            minute INTEGER NOT NULL,
            tokens INTEGER NOT NULL,
            nanodollars INTEGER NOT NULL,
            PRIMARY KEY (budget, minute)
        ) STRICT, WITHOUT ROWID""",
    ),
    (
        "ALTER TABLE calls ADD COLUMN prompt_sha256 TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE calls ADD COLUMN temperature REAL",
        "ALTER TABLE calls ADD COLUMN input_tokens INTEGER CHECK (input_tokens >= 0)",
        "ALTER TABLE calls ADD COLUMN output_tokens INTEGER CHECK (output_tokens >= 0)",
        "ALTER TABLE calls ADD COLUMN cached_input_tokens INTEGER CHECK (cached_input_tokens >= 0)",
        "ALTER TABLE calls ADD COLUMN reasoning_tokens INTEGER CHECK (reasoning_tokens >= 0)",
    ),
)
"""One step a version: a file of version n has had the first n. A step that has been released is never changed."""

VERSION = len(MIGRATIONS)


def check_kind(connection: sqlite3.Connection, place: str) -> None:
    """Make sure that a file is a ledger that this version can work with.

    Raises:
        LedgerError: It is not.
    """
    kind = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if kind != APPLICATION_ID:
        raise LedgerError(f"{place!r} is a database, but no ledger of Ekiden's. Name another file.")
    if version > VERSION:
        raise LedgerError(
            f"The ledger {place!r} has format {version}, and this Ekiden knows formats up to {VERSION}. "
            "Use the Ekiden that wrote it, or name another file."
        )
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        raise LedgerError(f"The ledger {place!r} is not in WAL mode any more: somebody else has changed it.")


def is_current(connection: sqlite3.Connection) -> bool:
    """Tell whether a file has had every step."""
    return connection.execute("PRAGMA user_version").fetchone()[0] == VERSION


def upgrade(connection: sqlite3.Connection, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Take the steps that a file has not had; the caller holds a transaction that writes."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    for step in migrations[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(migrations)}")
