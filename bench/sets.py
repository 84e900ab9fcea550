"""The page of prediction sets and rejection: sets beside MAPIE's, coverage on streams, accuracy where rows are rejected.

Each section (a to c) can be run alone: `run.py --conformal --conformal-only a`.
"""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from common import HERE, Bench, Part
from datasets import CACHE
from page import NOT_MEASURED, Body, Claim, Page, Sections, Table, show, table_of
from set_splits import TARGETS, sources
from stream_sets import FOLDER as STREAM_FOLDER
from stream_sets import STREAMS

MAPIE = "mapie"
SETS = tuple(TARGETS) + ("electricity", "moving-squares", "chessboard", "sea-abrupt", "sea-gradual", "sea-recurring", "hyperplane", "rtg", "led", "label-swap")
QUICK_SETS = ("german", "pima", "sea-abrupt")
PEERS = QUICK_PEERS = (MAPIE,)
FOLDER = CACHE / "sets"
LEVEL = 0.9
# Classes with fewer training rows are not looked at by themselves.
LEAST_ROWS = 200
STREAM_ROWS = 100_000
WINDOW = 1_000
MEAN = "mean"


@dataclass(frozen=True)
class Evaluated:
    """What `evaluate` tells of one split."""

    coverage: float
    size: float
    # Rows and covered rows of each class.
    classes: dict[str, tuple[int, int]]
    area: float
    accuracy80: float
    n_rows: int

    @classmethod
    def from_json(cls, result: dict) -> Evaluated:
        sets, rejected = result["sets"], result["rejection"]
        classes = {name: (own["rows"], own["covered"]) for name, own in zip(result["classes"], sets["classes"], strict=False)}
        at80 = next(point["accuracy"] for point in rejected["curve"] if point["kept"] >= 0.8 - 1e-9)
        return cls(sets["coverage"], sets["mean_size"], classes, rejected["area"], at80, result["rows"])

    def brief(self) -> str:
        return f"{100 * self.coverage:.2f} % covered, {self.size:.3f} classes"


@dataclass(frozen=True)
class Peers:
    """What `peers/mapie_sets.py` tells."""

    same: tuple[float, float]
    sklearn: tuple[float, float]
    area: float
    accuracy80: float

    @classmethod
    def from_json(cls, result: dict) -> Peers:
        same, sklearn = ((result[name]["coverage"], result[name]["mean_size"]) for name in ("same", "sklearn"))
        return cls(same, sklearn, result["rejection"]["area"], result["rejection"]["accuracy80"])

    def brief(self) -> str:
        return f"{100 * self.same[0]:.2f} % covered, {self.same[1]:.3f} classes"


@dataclass(frozen=True)
class Streamed:
    """Coverage of the windows of a stream."""

    windows: list[float]
    coverage: float
    size: float
    accuracy: float

    @classmethod
    def from_json(cls, result: dict) -> Streamed:
        windows = [batch["prequential_set_coverage90"] for batch in result["batches"] if batch["rows"] == WINDOW]
        return cls(windows, result["sets"]["coverage"], result["sets"]["mean_size"], result["prequential"]["accuracy"])

    def brief(self) -> str:
        return f"{100 * min(self.windows):.1f} to {100 * max(self.windows):.1f} % covered, {self.size:.3f} classes"


class SetBench(Bench):
    """Runs one section after the other and keeps what the programs report."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        # Of each set the outcomes of its splits: (a) and (c) look at the same.
        self.known: dict[str, list[tuple[Evaluated, Peers | None, dict[str, int]]]] = {}

    def split(self, name: str, seed: int) -> tuple[Evaluated, Peers | None, dict[str, int]] | None:
        subprocess.run([sys.executable, HERE / "set_splits.py", self.args.data, name, str(seed), FOLDER], check=True)
        ours, target = self.args.hedgerow, ["--target", TARGETS[name]]
        usual = ["--seed", seed, "--threads", self.args.threads]
        models = [FOLDER / f"{part}.hedgerow" for part in ("train", "fit")]

        def measure() -> dict:
            self.execute([ours, "fit", FOLDER / "train.csv", *target, "--out", models[0], *usual, "--json"])
            return self.execute([ours, "evaluate", models[0], FOLDER / "test.csv", *target, "--json"])

        found = self.needed(f"{name}, split {seed}", measure, Evaluated.from_json)
        if found is None:
            return None
        n_rows = {}
        with (FOLDER / "train.csv").open(encoding="utf-8") as file:
            place = next(file).rstrip("\n").split(",").index(TARGETS[name])
            for line in file:
                label = line.rstrip("\n").split(",")[place].strip('"')
                n_rows[label] = n_rows.get(label, 0) + 1
        return found, self.peers_of(name, seed, models[1], usual) if MAPIE in self.peers else None, n_rows

    def peers_of(self, name: str, seed: int, model: Path, usual: list[object]) -> Peers | None:
        ours, target = self.args.hedgerow, TARGETS[name]

        def measure() -> dict:
            self.execute([ours, "fit", FOLDER / "fit.csv", "--target", target, "--out", model, *usual, "--json"])
            for part in ("calibrate", "test"):
                out = FOLDER / f"{part}-proba.csv"
                self.execute([ours, "predict", model, FOLDER / f"{part}.csv", "--proba", "--out", out, "--json"])
            script = HERE / "peers" / "mapie_sets.py"
            return self.execute([sys.executable, script, FOLDER, target, *usual])

        return self.attempt(f"{name}, split {seed}, {MAPIE}", measure, Peers.from_json)

    def splits(self, name: str) -> list[tuple[Evaluated, Peers | None, dict[str, int]]]:
        if name not in self.known:
            missing = [s for s in sources(self.args.data, name) if not s.is_file()] if self.args.data else [Path(name)]
            if missing:
                self.note(f"{name} left out: {missing[0]} not found in the data folder")
                return []
            n_splits = 2 if self.args.quick else self.args.repeats or 10
            self.known[name] = [found for seed in range(n_splits) if (found := self.split(name, seed))]
        else:
            # Run for the section before.
            self.n_results += len(self.known[name])
        return self.known[name]

    def tables(self) -> Body | None:
        rows = []
        for name in (name for name in TARGETS if name in self.sets):
            if not (found := self.splits(name)):
                continue
            ours = [one[0] for one in found]
            peers = [one[1] for one in found if one[1]]
            # All splits together; they share rows, so the band is that of one test set.
            band = 257.6 * math.sqrt(LEVEL * (1 - LEVEL) / ours[0].n_rows)
            theirs = [(mean(p.same[i] for p in peers), mean(p.sklearn[i] for p in peers)) if peers else (None, None) for i in (0, 1)]
            size = mean(one.size for one in ours)
            ratio = size / theirs[1][0] if theirs[1][0] else None
            rows.append([name, str(len(ours)), show(100 * mean(one.coverage for one in ours), ".2f"), f"{band:.2f}",
                         show(worst_class(found), ".1f"), show(size, ".3f"), show(theirs[1][0], ".3f"), show(ratio, ".3f"),
                         show(theirs[1][1], ".3f"), *(show(value, ".2f", 100) for value in theirs[0])])  # fmt: skip
        columns = ("set", "splits", "covered %", "99 % band ±", "worst class %", "classes", "classes, MAPIE, same forest", "ratio",
                   "classes, MAPIE, random forest", "covered %, MAPIE, same forest", "covered %, MAPIE, random forest")  # fmt: skip
        text = (
            f"Sets of {LEVEL:.0%}, means over random splits of 80 % training rows; the band is the binomial one of a test set. Ours are made of "
            "out-of-bag predictions; MAPIE's (LAC) need a fifth of the training rows. The worst class is that with the lowest coverage "
            f"over all splits, of those with {LEAST_ROWS} training rows or more."
        )
        return Body([Table(columns, rows, 1)], text) if rows else None

    def streams(self) -> Body | None:
        rows = []
        for name in (name for name in STREAMS if name in self.sets and STREAMS[name].dataset is None):
            stream = STREAMS[name]
            STREAM_FOLDER.mkdir(parents=True, exist_ok=True)
            if stream.stored and not (self.args.data and stream.unpack(self.args.data)):
                self.note(f"{name} left out: streams/{stream.stored} not found in the data folder")
                continue
            n_rows = 20_000 if self.args.quick else STREAM_ROWS
            if stream.generate:
                with stream.file().open("wb") as out:
                    made = [self.args.hedgerow, "generate", *stream.generate, "--rows", n_rows, "--seed", 1]
                    subprocess.run([str(word) for word in made], check=True, stdout=out)
            command = [self.args.hedgerow, "stream", stream.file(), "--target", stream.target, "--batch-rows", WINDOW,
                       "--threads", self.args.threads, "--json"]  # fmt: skip
            found = self.needed(name, lambda command=command: self.execute(command), Streamed.from_json)
            if found:
                rows.append([name, stream.drift, str(len(found.windows)), show(100 * found.coverage, ".2f"), show(100 * min(found.windows), ".1f"),
                             show(100 * max(found.windows), ".1f"), show(found.size, ".3f"), show(100 * found.accuracy, ".2f")])  # fmt: skip
        columns = ("stream", "drift", "windows", "covered %", "least %", "most %", "classes", "accuracy %")
        text = f"Prequential sets of {LEVEL:.0%}, as they come with `stream`; windows are of {WINDOW:,} rows."
        return Body([Table(columns, rows, 2)], text) if rows else None

    def rejected(self) -> Body | None:
        rows = []
        for name in (name for name in TARGETS if name in self.sets):
            if not (found := self.splits(name)):
                continue
            both = [(ours, peers) for ours, peers, _ in found if peers] or [(ours, None) for ours, _, _ in found]
            cells = []
            for value in ("area", "accuracy80"):
                ours = 100 * mean(getattr(one, value) for one, _ in both)
                theirs = 100 * mean(getattr(peers, value) for _, peers in both) if both[0][1] else None
                cells += [show(ours, ".2f"), show(theirs, ".2f"), show(None if theirs is None else ours - theirs, "+.2f")]
            rows.append([name, str(len(both)), *cells])
        columns = ("set", "splits", "area", "area, ExtraTrees", "area gained", "at 80 %", "at 80 %, ExtraTrees", "gained at 80 %")
        text = (
            "The area under the accuracy-rejection curve, and the accuracy on the most certain 80 % of the test rows, in %. Rows are rejected "
            "by the largest probability; ExtraTrees is scikit-learn's with 100 trees, fitted to the same rows."
        )
        return Body([Table(columns, rows, 1)], text) if rows else None


def worst_class(found: list[tuple[Evaluated, Peers | None, dict[str, int]]]) -> float | None:
    """The lowest coverage of a class over all splits, in percent."""
    totals: dict[str, list[int]] = {}
    for ours, _, n_rows in found:
        large = {canonical(name) for name, n in n_rows.items() if n >= LEAST_ROWS}
        for name, (rows, covered) in ours.classes.items():
            if canonical(name) in large:
                total = totals.setdefault(name, [0, 0])
                total[0] += rows
                total[1] += covered
    return min((100 * covered / rows for rows, covered in totals.values() if rows), default=None)


def canonical(label: str) -> str:
    try:
        return f"{float(label):g}"
    except ValueError:
        return label


def claims(sections: Sections) -> list[Claim]:
    """What the default must show."""
    found = []
    tables = table_of(sections, "a")
    for name in TARGETS:
        covered, band = (tables.value(column, name) for column in ("covered %", "99 % band ±"))
        off = None if covered is None else abs(covered - 100 * LEVEL)
        found.append(Claim(f"{name}, coverage off by points", off, band, False, "{:.2f}".format, ("a",)))
        found.append(Claim(f"{name}, worst class covered", tables.value("worst class %", name), 85, True, "{:.1f} %".format, ("a",)))
        found.append(Claim(f"{name}, size beside MAPIE's with the same forest", tables.value("ratio", name), 1.02, False, "{:.3f}".format, ("a",)))
    streams = table_of(sections, "b")
    for name in (name for name in STREAMS if STREAMS[name].dataset is None):
        for column, limit, is_least in (("least %", 85, True), ("most %", 95, False)):
            found.append(Claim(f"{name}, {column.removesuffix(' %')} covered in a window", streams.value(column, name), limit, is_least, "{:.1f} %".format, ("b",)))
    for name in TARGETS:
        gained = table_of(sections, "c").value("area gained", name)
        found.append(Claim(f"{name}, area under the rejection curve over ExtraTrees", gained, 0, True, "{:+.2f}".format, ("c",)))
    return found


PARTS = {
    "a": Part("(a) tables", SetBench.tables),
    "b": Part("(b) streams", SetBench.streams),
    "c": Part("(c) rejection", SetBench.rejected),
}
BENCH = SetBench
PAGE = Page(
    "conformal",
    "Benchmarks of prediction sets and rejection",
    (
        "Sets of 90 % by the default method of a forest with the default parameters, beside those of MAPIE, made of the same forest and of "
        "scikit-learn's; coverage of every window of 1,000 rows on streams that drift; accuracy where uncertain rows are rejected.",
        "Splits are random, as nothing can be promised about rows that are unlike those a model was fitted to. USPS is split anew too: its "
        "test rows are harder than its training rows.",
    ),
    tuple(PARTS),
    claims,
)
