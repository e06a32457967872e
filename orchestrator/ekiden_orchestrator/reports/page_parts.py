"""What a page is made of: sections with charts, and the numbers of each in tables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ekiden_orchestrator.reports.pictures import Drawing


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers.

    Attributes:
        caption: What they are.
        head: The names of the columns.
        rows: The cells; the first of a row is its name.
        texts: How many columns from the left hold names.
        bars: How long the bar of each row is, in percent; empty: there are none.
        note: What was left out.
    """

    caption: str
    head: list[str]
    rows: list[list[str]]
    texts: int = 1
    bars: list[float] = field(default_factory=list[float])
    note: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture.

    Attributes:
        name: What it is called in the page.
        says: What it shows.
        draw: Draws it.
        height: How high it is, in inches.
    """

    name: str
    says: str
    draw: Drawing
    height: float = 2.9


@dataclass(frozen=True, slots=True)
class Part:
    """A picture and its numbers.

    Attributes:
        tables: The numbers.
        chart: The picture; None: there is none.
    """

    tables: list[Table]
    chart: Chart | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A question and its answer.

    Attributes:
        name: What it is called in the page.
        title: The question.
        text: How the numbers are to be read.
        parts: The answer.
    """

    name: str
    title: str
    text: str
    parts: list[Part]


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures at the head of the page."""

    name: str
    value: str
    text: str
