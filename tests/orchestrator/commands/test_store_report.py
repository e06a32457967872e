"""`ekiden store report` as a user types it, and the page as a browser reads it."""

import json
import re
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from attempts import AWKWARD, KEY, MODELS, RUNS, Shape, attempts
from command_line import ekiden
from ekiden_orchestrator.reports.words import amount, duration, money
from ekiden_store import Step, Store

VOID = {"meta", "link", "br", "hr", "img", "input"}
PNG = b"\x89PNG\r\n\x1a\n"


class Page(HTMLParser):
    """What a page says and refers to; it fails where a tag is closed that is not open."""

    def __init__(self, path: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.references: set[str] = set()
        self.cells: list[list[str]] = []
        self.text: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        values = dict(attrs)
        assert not [name for name in values if name.startswith("on")]
        self.ids += [values["id"] or ""] if "id" in values else []
        for name in ("href", "xlink:href", "src", "clip-path"):
            self.references |= {values[name] or ""} if name in values else set()
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.cells.append([])
        if tag in {"th", "td"}:
            self.cells[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text.append(data)
        if {"th", "td"} & set(self.open):
            self.cells[-1][-1] += data

    def says(self) -> str:
        return " ".join("".join(self.text).split())


def filled(folder: Path, *steps: Step) -> Path:
    with Store(folder).writer() as writer:
        writer.append(list(steps))
    return folder


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("report") / "a <store> & co", *attempts(Shape(theorems=20)))


@pytest.fixture(scope="module")
def page(store: Path) -> Page:
    done = ekiden("store", "report", store.parent / "page.html", "--store", store)
    assert done.exit_code == 0, done.stderr
    return Page(store.parent / "page.html")


def figures(store: Path, *options: object) -> Any:
    done = ekiden("store", "report", "--json", "--store", store, *options)
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_the_page_needs_nothing_else_and_runs_nothing(page: Page) -> None:
    assert page.tags["script"] == page.tags["link"] == page.tags["img"] == page.tags["iframe"] == 0
    inside = {f"#{name}" for name in page.ids}
    assert {reference.removeprefix("url(").removesuffix(")") for reference in page.references} <= inside
    assert len(page.ids) == len(set(page.ids))
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>)]+", page.source))
    assert addresses <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}, "namespaces alone"
    assert "default-src 'none'" in page.source


def test_names_are_shown_as_they_are_and_secrets_are_not(page: Page) -> None:
    said = page.says()
    for name in ("a <store> & co", RUNS[0], RUNS[1], MODELS[1], "unknown identifier <x> & $y$"):
        assert name in said
    assert KEY not in page.source
    assert "[redacted:github_token]" in said
    assert not any(theorem in page.source for theorem in AWKWARD)


def test_charts_hold_texts_in_the_colours_of_the_page_each_with_a_table(page: Page) -> None:
    assert page.tags["svg"] == page.tags["figure"] == page.tags["figcaption"] == 5
    assert page.tags["table"] >= page.tags["svg"]
    charts = page.source.partition("</style>")[2]
    assert "var(--positive)" in charts
    assert set(re.findall(r"#[0-9a-f]{6}\b", charts)) == set()
    assert page.source.count("prefers-color-scheme: dark") == 1
    assert ">iteration<" in charts


def test_the_page_says_what_the_figures_say(store: Path, page: Page) -> None:
    told = figures(store)
    success, outcomes = told["whole"]["success"], told["whole"]["outcomes"]
    assert f"{success['value']:.1%}{success['part']} of {success['whole']} attempted" in page.says()
    for each in told["iterations"]:
        name = "no iteration" if each["number"] is None else str(each["number"])
        counts, share = each["group"]["outcomes"], each["group"]["success"]
        row = next(cells for cells in page.cells if cells[0] == name and len(cells) == 8)
        assert row[1:4] == [str(counts["attempted"]), str(counts["proved"]), f"{share['value']:.1%}"]
        assert row[5] == str(each["new"])
    assert [each["number"] for each in told["iterations"]] == [0, 1, 2, None]
    assert {run["run_id"] for run in told["runs"]} == {*RUNS, "negatives"}
    assert (outcomes["gave_up"], told["copied"]) == (1, 5)
    assert sum(outcomes["lengths"].values()) == outcomes["proved"]
    spent = told["whole"]["spent"]
    assert f"≥ {money(spent['cost_nanodollars'])}" in page.says()
    assert f"{spent['unpriced_calls']:,} of {spent['calls']:,} calls of models bear no cost" in page.says()


def test_theorems_that_left_no_row_count_as_not_proved(store: Path, tmp_path: Path) -> None:
    asked = tmp_path / "asked.txt"
    asked.write_text("".join(f"theorem_{number}\n" for number in range(10, 30)), encoding="utf-8")
    told = figures(store, "--asked", asked)
    assert (told["asked"], told["not_attempted"], told["whole"]["success"]["whole"]) == (20, 10, 20)
    ekiden("store", "report", tmp_path / "page.html", "--store", store, "--asked", asked)
    said = Page(tmp_path / "page.html").says()
    assert "of 20 asked for; 10 left no row, and count as not proved." in said
    assert "that nobody asked for were proved too" in said


def test_one_run_is_told_alone(store: Path, tmp_path: Path) -> None:
    told = figures(store, "--run", RUNS[0])
    assert ([run["run_id"] for run in told["runs"]], told["run"]) == ([RUNS[0]], RUNS[0])
    ekiden("store", "report", tmp_path / "page.html", "--store", store, "--run", "no <such> run")
    said = Page(tmp_path / "page.html").says()
    assert "no rows; only the run no <such> run" in said
    assert "The store has no rows of this run." in said


def test_rows_that_name_no_iteration_are_told_over_runs(tmp_path: Path) -> None:
    rows = [
        Step(theorem_name=f"t{number}", kind="tactic", run_id=run, is_proof_complete=number < proved, timestamp_ms=when)
        for run, proved, when in (("later", 3, 2), ("zero <th>", 2, 1))
        for number in range(4)
    ]
    store = filled(tmp_path / "store", *rows)
    told = [(run["run_id"], run["new"], run["so_far"]["part"]) for run in figures(store)["runs"]]
    assert told == [("zero <th>", 2, 2), ("later", 1, 3)]
    ekiden("store", "report", tmp_path / "page.html", "--store", store)
    page = Page(tmp_path / "page.html")
    assert "Success over runs" in page.says()
    assert ["1. zero <th>", "4", "2", "50.0%"] in [cells[:4] for cells in page.cells]


def test_the_same_store_makes_the_same_bytes(store: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for out in (first, second):
        done = ekiden("store", "report", f"{out}.html", "--png", f"{out}.png", "--store", store)
        assert done.exit_code == 0, done.stderr
        Store(store).compact()
    assert first.with_suffix(".html").read_bytes() == second.with_suffix(".html").read_bytes()
    assert first.with_suffix(".png").read_bytes() == second.with_suffix(".png").read_bytes()


def test_a_name_that_ends_in_png_makes_a_picture(store: Path, tmp_path: Path) -> None:
    picture = tmp_path / "all.PNG"
    done = ekiden("store", "report", picture, "--store", store)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"{picture}: ")
    assert picture.read_bytes().startswith(PNG)
    twice = ekiden("store", "report", picture, "--png", tmp_path / "b.png", "--store", store)
    assert (twice.exit_code, "Two pictures are named" in twice.stderr) == (2, True)


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [Step(theorem_name="", kind="message")],
        [Step(theorem_name="a", kind="tactic", iteration=3, is_proof_complete=True, depth_from_root=90)],
        [Step(theorem_name="a", kind="tactic", origin="ground_truth", label="positive")],
        [Step(theorem_name="a", kind="model_call", tokens_in=5, timestamp_ms=2**63)],
        [Step(theorem_name=f"t{i}", kind="tactic", iteration=i, is_proof_complete=i % 2 == 0) for i in range(40)],
    ],
    ids=["none", "talk", "one", "copied", "calls", "many"],
)
def test_any_store_has_a_page_and_a_picture(tmp_path: Path, steps: list[Step]) -> None:
    store = filled(tmp_path / "store", *steps)
    out, picture = tmp_path / "page.html", tmp_path / "page.png"
    done = ekiden("store", "report", out, "--png", picture, "--store", store)
    assert done.exit_code == 0, done.stderr
    assert ("Nothing is here yet" in Page(out).says()) == (not steps)
    assert picture.read_bytes().startswith(PNG)


def test_costs_that_no_row_bears_are_unknown(tmp_path: Path) -> None:
    call = Step(theorem_name="a", kind="model_call")
    store = filled(tmp_path / "store", call, Step(theorem_name="a", kind="tactic", is_proof_complete=True))
    ekiden("store", "report", tmp_path / "page.html", "--store", store)
    page = Page(tmp_path / "page.html")
    assert "Cost of a proofunknownNo row bears a cost." in page.says()
    assert "Accepted by a judge–There are no verdicts." in page.says()
    assert "$0" not in page.says()


def test_what_cannot_be_written_or_is_not_named_is_told(store: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.html").mkdir()
    for arguments, reason in (
        ([], "Name the page or the picture"),
        ([tmp_path / "folder.html"], "is a folder"),
        (["--png", tmp_path / "folder.html"], "is a folder"),
        ([tmp_path / "nowhere" / "page.html"], "cannot be written"),
        ([tmp_path / "page.html", "--asked", store], "directory"),
    ):
        done = ekiden("store", "report", *arguments, "--store", store)
        assert (done.exit_code, done.stdout) == (2, ""), arguments
        assert reason in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]
    missing = ekiden("store", "report", tmp_path / "page.html", "--store", tmp_path / "none")
    assert (missing.exit_code, "There is no trajectory store" in missing.stderr) == (2, True)


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_a_missing_library_is_named_with_its_extra(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    done = ekiden("store", "report", tmp_path / "page.html", "--store", store)
    assert done.exit_code == 2
    assert f"need{'s' if library == 'jinja2' else ''} {library}" in done.stderr
    assert "pip install 'ekiden[report]'" in done.stderr
    assert not (tmp_path / "page.html").exists()
    assert figures(store)["whole"]["rows"]


def test_rows_that_are_missing_are_told_on_the_page(store: Path, tmp_path: Path) -> None:
    damaged = filled(tmp_path / "store", Step(theorem_name="a", kind="tactic"))
    Store(damaged).compact()
    filled(damaged, Step(theorem_name="b", kind="tactic"))
    part = next((damaged / "parts").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-20])
    done = ekiden("store", "report", tmp_path / "page.html", "--store", damaged)
    assert (done.exit_code, "damaged part" in done.stderr) == (0, True)
    assert "Files of the store are damaged, and their rows are missing below" in Page(tmp_path / "page.html").says()


def test_numbers_are_said_in_few_digits() -> None:
    assert [money(value) for value in (0, 1, 12_345_678, 999_999_999, 1_234_567_890_123)] == [
        "$0.00", "$0.0000000010", "$0.012", "$1.00", "$1,234.57",
    ]  # fmt: skip
    assert [amount(value) for value in (0, 9_999, 10_000, 999_999, 1_234_567, 45 * 10**9)] == [
        "0", "9,999", "10 K", "1,000 K", "1.23 M", "45 G",
    ]  # fmt: skip
    assert [duration(value) for value in (0, 999, 1_500, 7_199_000, 7_200_000)] == [
        "0 ms", "999 ms", "1.5 s", "120 min", "2.0 h",
    ]  # fmt: skip
    assert money(None) == amount(None) == duration(None) == "unknown"
