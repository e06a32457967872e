"""Pictures by matplotlib: for a page, in the colours of its style, or as a file."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from ekiden_orchestrator.errors import CommandError

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

COLOURS = {
    "ink": "#1d2733",
    "faint": "#5d6b7a",
    "grid": "#d9dfe6",
    "paper": "#ffffff",
    "positive": "#0f7b6c",
    "negative": "#d9772b",
    "unknown": "#a3adb8",
    "line": "#2f5fb3",
    "first": "#cfe0f5",
    "second": "#9cc0ea",
    "third": "#5f97d6",
    "fourth": "#2f6bb0",
    "fifth": "#173f73",
}
"""The colours of a picture by the names that they have in the page's style, where a dark page has others."""
_WIDTH = 4.8
_STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.size": 10.5,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.edgecolor": COLOURS["faint"],
    "axes.labelcolor": COLOURS["faint"],
    "text.color": COLOURS["ink"],
    "xtick.color": COLOURS["faint"],
    "ytick.color": COLOURS["faint"],
    "grid.color": COLOURS["grid"],
    "grid.linewidth": 0.8,
    "legend.frameon": False,
    "legend.fontsize": 9.5,
    "legend.handlelength": 1.0,
    "legend.handleheight": 0.9,
    "legend.columnspacing": 1.2,
    "legend.handletextpad": 0.5,
    "legend.borderaxespad": 0.2,
}
_REFERENCE = re.compile(r'(?:url\(|href=")#([^)"]+)')
_IDENTITY = re.compile(r' id="([^"]*)"')
_BEGINS = re.compile(r"<svg\b")
_SIZE = re.compile(r'(<svg\b[^>]*?) width="[^"]*"([^>]*?)>', re.DOTALL)
_HEIGHT = re.compile(r' height="[^"]*pt"', re.DOTALL)

Drawing = Callable[[Any], None]
"""Draws into the axes of a figure."""


def svg(name: str, draw: Drawing, *, height: float = 2.9) -> str:
    """Draw one picture for a page: its colours are those of the page's style, its texts are texts.

    Raises:
        CommandError: matplotlib is not installed.
    """
    with _styled(name) as figure_type:
        figure = figure_type(figsize=(_WIDTH, height), layout="constrained")
        axes = figure.subplots()
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        _fill(axes, draw)
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return _inline(file.getvalue(), name)


def png(draws: Sequence[tuple[str, Drawing]], title: str) -> bytes:
    """Draw several pictures as one.

    Raises:
        CommandError: matplotlib is not installed.
    """
    with _styled("png") as figure_type:
        rows = (len(draws) + 1) // 2
        figure = figure_type(figsize=(2 * _WIDTH + 0.6, 3.5 * rows + 0.4), layout="constrained")
        figure.suptitle(title, x=0.012, ha="left", fontsize=10.5, color=COLOURS["faint"])
        for panel, (heading, draw) in zip(
            figure.subfigures(rows, 2, wspace=0.04, hspace=0.04).flat, draws, strict=True
        ):
            panel.suptitle(heading, x=0.02, ha="left", fontsize=12, weight="bold")
            _fill(panel.subplots(), draw)
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=150, facecolor=COLOURS["paper"], metadata={"Software": None})
    return file.getvalue()


@contextmanager
def _styled(salt: str) -> Generator[Any]:
    try:
        from matplotlib import style
        from matplotlib.figure import Figure
    except ImportError as error:
        raise CommandError(
            "Pictures need matplotlib, which is not installed: `pip install 'ekiden[report]'`. `--json` needs nothing."
        ) from error
    context = cast("Any", style).context(["default", _STYLE | {"svg.hashsalt": salt}])
    with context:
        yield Figure


def _fill(axes: Any, draw: Drawing) -> None:
    draw(axes)
    if not axes.has_data():
        axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center", color=COLOURS["faint"])


def _inline(drawn: str, name: str) -> str:
    """Make a picture part of a page: without a size and names of its own, in the colours of the page."""
    begin = _BEGINS.search(drawn)
    text = drawn[begin.start() if begin else 0 :]
    used = set(_REFERENCE.findall(text))
    text = _IDENTITY.sub(lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", text)
    text = _REFERENCE.sub(lambda found: found[0].replace(f"#{found[1]}", f"#{name}-{found[1]}"), text)
    for colour, value in COLOURS.items():
        text = text.replace(value, f"var(--{colour})")
    text = _SIZE.sub(r'\1\2 aria-hidden="true" focusable="false">', text, count=1)
    return _HEIGHT.sub("", text, count=1).strip()
