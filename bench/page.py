"""Pages of benchmarks: tables that are kept as data, and the pages that are written from them.

What was measured lies in `results/NAME.json`, a section for each table, and says when, where, at which commit and by
which command it was made. A page is always written whole from that file. Its claims are sentences whose numbers are
computed from the rows of the tables, and one that does not hold is written as such. Nothing in a page is typed by hand.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS, RESULTS = ROOT / "docs", ROOT / "bench" / "results"
WIDTH = 100
NOT_MEASURED = "–"
NUMBER = re.compile(r"[-+−]?\d[\d,]*(?:\.\d+)?")


# How numbers are written.


def show(value: float | None, style: str, scale: float = 1.0) -> str:
    return NOT_MEASURED if value is None else format(value * scale, style)


def significant(value: float | None, scale: float = 1.0) -> str:
    """Three digits, without an exponent."""
    if value is None:
        return NOT_MEASURED
    value *= scale
    if value == 0:
        return "0"
    decimals = next((d for d, least in ((0, 100), (1, 10), (2, 1), (3, 0.1)) if abs(value) >= least), 4)
    return f"{value:,.{decimals}f}"


def percent(value: float) -> str:
    return f"{value:.2f} %"


def points(value: float) -> str:
    return f"{value:+.2f} points"


def times(value: float) -> str:
    return f"{value:,.2f} times"


def loss(value: float) -> str:
    return f"{value:.4f}"


def number(cell: str) -> float | None:
    """The first number of a cell: of `97.50 ± 0.07` the 97.50."""
    found = NUMBER.search(cell)
    return float(found[0].replace(",", "").replace("−", "-")) if found else None


def plain(cell: str) -> str:
    return cell.replace("**", "").strip()


# What a page is made of.


@dataclass(frozen=True)
class Table:
    """Cells as they are shown. The first columns are text."""

    columns: tuple[str, ...]
    rows: list[list[str]]
    n_text: int
    # What stands above it.
    before: str = ""

    def lines(self) -> list[str]:
        head = "|" + "---|" * self.n_text + "---:|" * (len(self.columns) - self.n_text)
        cells = [self.columns, *self.rows]
        shown = ["| " + " | ".join(row) + " |" for row in cells]
        above = [*wrapped(self.before), ""] if self.before else []
        return [*above, shown[0], head, *shown[1:]]

    def matching(self, *keys: str) -> list[list[str]]:
        """The rows whose first cells are these; an empty key is any."""
        return [
            row
            for row in self.rows
            if all(not key or plain(cell) == key for key, cell in zip(keys, row, strict=False))
        ]

    def value(self, column: str, *keys: str) -> float | None:
        """The number in a column of the first row with these keys."""
        found = self.matching(*keys)
        return number(found[0][self.columns.index(column)]) if found and column in self.columns else None

    def values(self, column: str, *keys: str) -> list[float]:
        """All numbers in a column, of the rows with these keys."""
        if column not in self.columns:
            return []
        found = (number(row[self.columns.index(column)]) for row in self.matching(*keys))
        return [value for value in found if value is not None]

    def keys(self, column: int = 0) -> list[str]:
        return list(dict.fromkeys(plain(row[column]) for row in self.rows))


@dataclass(frozen=True)
class Body:
    """What a measurement gives: tables, and the words around them."""

    tables: list[Table]
    before: str = ""
    after: str = ""


@dataclass(frozen=True)
class Made:
    """When, where and how a section was made."""

    date: str
    commit: str
    command: str
    computer: str
    versions: str


@dataclass(frozen=True)
class Section:
    """One table or a few, made in one run."""

    title: str
    made: Made
    body: Body
    commands: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        made = self.made
        stamp = f"Made on {made.date}; commit: {made.commit}; by `{made.command}`. {made.computer}. {made.versions}."
        out = [f"## {self.title}", "", *wrapped(stamp)]
        if self.body.before:
            out += ["", *wrapped(self.body.before)]
        for table in self.body.tables:
            out += ["", *table.lines()]
        if self.body.after:
            out += ["", *wrapped(self.body.after)]
        if self.notes:
            out += ["", "Notes:", "", *bullets(self.notes)]
        if self.commands:
            out += ["", "It runs:", "", "```", *(line for command in self.commands for line in shell(command)), "```"]
        return out


# The sections of a page by their names, in the page's order.
Sections = dict[str, Section]


def table_of(sections: Sections, name: str, index: int = 0) -> Table:
    """A table of a section; one without rows where it was not made, so that claims about it are not measured."""
    if name not in sections or index >= len(sections[name].body.tables):
        return Table((), [], 0)
    return sections[name].body.tables[index]


@dataclass(frozen=True)
class Claim:
    """A figure and what it should be. A value or limit of None was not measured."""

    what: str
    value: float | None
    limit: float | None
    at_least: bool
    write: Callable[[float], str]
    # Sections that its numbers are from.
    source: tuple[str, ...] = ()

    def is_about(self, sections: Sections) -> bool:
        return not self.source or any(name in sections for name in self.source)

    def line(self, sections: Sections) -> str:
        limit = NOT_MEASURED if self.limit is None else self.write(self.limit)
        wanted = f"at {'least' if self.at_least else 'most'} {limit}"
        if self.value is None or self.limit is None:
            return f"not measured: {self.what} (wanted: {wanted})."
        # As they are written: what reads the same is the same.
        value, bound = (number(self.write(v)) for v in (self.value, self.limit))
        holds = value >= bound if self.at_least else value <= bound
        commits = {sections[name].made.commit for name in self.source if name in sections}
        mixed = f"; from tables of different commits: {', '.join(sorted(commits))}" if len(commits) > 1 else ""
        word = "holds" if holds else "**does not hold**"
        return f"{word}: {self.what}: {self.write(self.value)} (wanted: {wanted}{mixed})."


@dataclass(frozen=True)
class Page:
    """One document in docs."""

    name: str
    title: str
    # What one must know before the tables, a paragraph each. Without figures: those are computed.
    intro: tuple[str, ...]
    # Names of its sections, in order.
    order: tuple[str, ...]
    claims: Callable[[Sections], Sequence[Claim | str]]
    # Markdown below the tables.
    outro: tuple[str, ...] = ()

    @property
    def document(self) -> Path:
        return DOCS / ("benchmarks.md" if self.name == "forest" else f"benchmarks-{self.name}.md")

    @property
    def data(self) -> Path:
        return RESULTS / f"{self.name}.json"

    def stored(self) -> Sections:
        """The sections that were made so far, in the page's order."""
        if not self.data.is_file():
            return {}
        kept = json.loads(self.data.read_text(encoding="utf-8"))
        return {name: section_from_json(kept[name]) for name in self.order if name in kept}

    def store(self, sections: Sections) -> None:
        """Keeps these sections instead of those of the same names, and writes the page."""
        known = self.stored() | sections
        RESULTS.mkdir(exist_ok=True)
        kept = {name: asdict(known[name]) for name in self.order if name in known}
        self.data.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        self.write()

    def write(self) -> None:
        self.document.write_text(self.text(self.stored()), encoding="utf-8")

    def text(self, sections: Sections, is_partial: bool = False) -> str:
        """All of it as Markdown. Of a part, claims about other sections are left out."""
        out = [f"# {self.title}"]
        for paragraph in (*self.intro, f"{origin(sections)} This page is written by `bench/run.py`; `bench/README.md` "
                          "describes the data, the systems and what is measured."):  # fmt: skip
            out += ["", *wrapped(paragraph)]
        claims = self.claims(sections)
        if is_partial:
            claims = [claim for claim in claims if isinstance(claim, str) or claim.is_about(sections)]
        if claims:
            lines = [claim if isinstance(claim, str) else claim.line(sections) for claim in claims]
            out += ["", "## Claims", "", "Computed from the tables below.", "", *bullets(lines)]
        for section in sections.values():
            out += ["", *section.lines()]
        for paragraph in self.outro:
            out += ["", *(wrapped(paragraph) if not paragraph.startswith("#") else [paragraph])]
        return "\n".join(out) + "\n"


def origin(sections: Sections) -> str:
    """Which commits the tables are of."""
    if not sections:
        return "No table has been made yet."
    commits: dict[str, list[str]] = {}
    for name, section in sections.items():
        commits.setdefault(section.made.commit, []).append(name)
    if len(commits) == 1:
        return f"All tables are of one commit: {next(iter(commits))}."
    listed = "; ".join(f"{', '.join(names)}: {commit}" for commit, names in commits.items())
    return f"The tables are of different commits, so figures of two of them do not compare. Commits: {listed}."


def section_from_json(kept: dict) -> Section:
    body = kept["body"]
    tables = [Table(tuple(t["columns"]), t["rows"], t["n_text"], t["before"]) for t in body["tables"]]
    return Section(
        kept["title"], Made(**kept["made"]), Body(tables, body["before"], body["after"]), kept["commands"], kept["notes"]
    )


# Markdown.


def wrapped(text: str, first: str = "", rest: str = "") -> list[str]:
    """Lines of a paragraph. A percent sign stays with its number."""
    lines = textwrap.wrap(
        text.replace(" %", "\u00a0%"), WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return [line.replace("\u00a0", " ") for line in lines]


def bullets(texts: Sequence[str]) -> list[str]:
    return [line for text in texts for line in wrapped(text, "- ", "  ")]


def shell(command: str) -> list[str]:
    """A command in lines that a shell joins."""
    lines = textwrap.wrap(
        command, WIDTH - 2, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
    return [f"{line} \\" for line in lines[:-1]] + lines[-1:]
