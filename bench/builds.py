"""The page of two builds side by side, and of training runs beside fits.

    run.py --builds OLD NEW          # two hedgerow programs, as PATH or NAME=PATH
    run.py --fit-vs-train [PROGRAM]  # `hedgerow train`, run to the end, beside `hedgerow fit`

The same fits on the same sets in alternation: what differs is the build, or the way of training.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import machine
from common import Bench, Command, Part, names_of
from datasets import CACHE, DATASETS
from page import NOT_MEASURED, Body, Page, Sections, Table, number, plain, show, significant, table_of
from runs import Run, Runs

PEERS = QUICK_PEERS = ()
SETS = ("usps", "letter", "spam", "waveform", "mnist")
QUICK_SETS = ("usps", "spam", "waveform")
KINDS = ("forest", "ivm", "leaf-gp", "forest-ivm", "forest-kernel", "rvm", "gp", "kde", "knn")
TRAINED_KINDS = KINDS[:5]
TRAINED_SETS = ("usps", "letter")
# An exact GP is for a few thousand rows: it gets the first ones of each set.
N_GP_ROWS = 2000
# What counts as worse: points of accuracy, and percent of the others.
MOST_POINTS, MOST_LOSS_PERCENT, MOST_COST_PERCENT = 0.2, 3.0, 10.0
LIMIT_SECONDS = 1800
# A fit shorter than this varies by more than what counts as worse: it is timed so many times more.
SHORT_SECONDS, MORE_TIMES = 1.0, 8


class Build(NamedTuple):
    """A program to compare, and what the page calls it."""

    name: str
    path: Path


def build(text: str) -> Build:
    name, is_named, path = text.rpartition("=")
    found = Build(name if is_named else Path(text).name, Path(path if is_named else text))
    if not found.path.is_file():
        raise argparse.ArgumentTypeError(f"no such program: {found.path}")
    return found


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("builds")
    group.add_argument("--builds", type=build, nargs=2, metavar=("OLD", "NEW"),
                       help="compare two hedgerow programs, each given as PATH or NAME=PATH")  # fmt: skip
    group.add_argument("--fit-vs-train", type=build, nargs="?", const=False, metavar="PROGRAM",
                       help="compare `train`, run to the end, with `fit` (default: the program of --hedgerow)")  # fmt: skip
    group.add_argument("--kinds", type=names_of(KINDS), default=list(KINDS), help="kinds of models to compare; default: all")
    group.add_argument("--builds-seconds", type=float, default=LIMIT_SECONDS, help="limit for one fit")


class Measure(NamedTuple):
    """A pair of columns that is compared."""

    name: str
    style: str
    # Whether the difference is in points or in percent, how much of it matters, and whether more is worse.
    unit: str
    most: float
    more_is_worse: bool

    def difference(self, old: float | None, new: float | None) -> float | None:
        if old is None or new is None:
            return None
        return new - old if self.unit == "points" else 100 * (new / old - 1) if old else None

    def is_worse(self, difference: float) -> bool:
        return (difference if self.more_is_worse else -difference) > self.most


ACCURACY = Measure("accuracy %", ".2f", "points", MOST_POINTS, False)
LOSS = Measure("log-loss", ".4f", "%", MOST_LOSS_PERCENT, True)
FIT = Measure("fit s", "", "%", MOST_COST_PERCENT, True)
MEMORY = Measure("peak MB", "", "%", MOST_COST_PERCENT, True)
MEASURES = (ACCURACY, LOSS, FIT, MEMORY)


def values_of(runs: Runs) -> list[float | None]:
    """Means of accuracy and log-loss over the seeds, the best time, the least peak; none where a run is missing."""
    found = [run for run in runs if run is not None]
    if not found or len(found) < len(runs):
        return [None] * len(MEASURES)
    losses = [run.log_loss for run in found if run.log_loss is not None]
    memories = [run.memory for run in found if run.memory]
    return [
        100 * mean(run.accuracy for run in found),
        mean(losses) if losses else None,
        min(run.fit for run in found),
        min(memories) / 1e6 if memories else None,
    ]


def columns_of(measures: Sequence[Measure], sides: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"{measure.name}, {side}" for measure in measures for side in (*sides, f"Δ {measure.unit}"))


def cells_of(measures: Sequence[Measure], first: list[float | None], second: list[float | None]) -> list[str]:
    cells = []
    for measure, a, b in zip(measures, first, second, strict=False):
        shown = (show(value, measure.style) if measure.style else significant(value) for value in (a, b))
        cells += [*shown, show(measure.difference(a, b), "+.2f" if measure.unit == "points" else "+.1f")]
    return cells


class BuildsBench(Bench):
    """Runs the same fits with two programs, or two ways to train with one, in alternation."""

    def shown(self, command: Sequence[object]) -> str:
        names = {self.args.fit_vs_train.path: "hedgerow"} if self.args.fit_vs_train else {}
        if self.args.builds:
            names |= {build.path: f"${name}" for name, build in zip(("OLD", "NEW"), self.args.builds, strict=True)}
        return super().shown([names.get(command[0], command[0]), *command[1:]])

    def one(self, label: str, program: Path, verb: str, kind: str, files: Command, seed: int) -> Run | None:
        command = [program, verb, "--model", kind, *files, "--seed", seed, "--threads", self.args.threads, "--frozen", "--json"]
        return self.needed(label, partial(self.execute, command, self.args.builds_seconds))

    def fewer_rows(self, name: str) -> Command | None:
        """The first training rows of a set as a file of their own; none where the set is not a table."""
        dataset = DATASETS[name]
        train, test = dataset.tables()
        if not train.is_file():
            return None
        path = CACHE / "builds" / f"{name}-{N_GP_ROWS}.csv"
        path.parent.mkdir(parents=True, exist_ok=True)
        with train.open(encoding="utf-8") as whole, path.open("w", encoding="utf-8") as part:
            part.writelines(islice(whole, N_GP_ROWS + 1))
        return [path, "--target", dataset.table_target(), "--test", test]

    def pair(
        self, name: str, kind: str, files: Command, ways: Sequence[tuple[str, Path, str]], repeats: int
    ) -> list[Runs]:
        """Both ways (name, program, command), with the same seeds; who goes first changes."""
        found: list[Runs] = [[], []]
        for repeat in range(repeats):
            order = (0, 1) if repeat % 2 == 0 else (1, 0)
            for side in order:
                side_name, program, verb = ways[side]
                label = f"{name} {kind}, seed {repeat}, {side_name}"
                found[side].append(self.one(label, program, verb, kind, files, repeat))
        firsts = [runs[0] for runs in found if runs[0] is not None]
        if len(firsts) == 2 and max(run.fit for run in firsts) < SHORT_SECONDS:
            for again, side in product(range(MORE_TIMES), (0, 1)):
                side_name, program, verb = ways[side]
                run = self.one(f"{name} {kind}, time {again + 1}, {side_name}", program, verb, kind, files, 0)
                if run is not None and run.fit < found[side][0].fit:
                    found[side][0] = replace(found[side][0], fit=run.fit)
        return found

    def repeats(self, big: bool) -> int:
        return self.args.repeats or (1 if big or self.args.quick else 3)

    def two_builds(self) -> Body | None:
        if not self.args.builds:
            return None
        programs: list[Build] = self.args.builds
        told = [f"{program.name} ({machine.digest(program.path)})" for program in programs]
        self.commit = f"{told[0]} and {told[1]} (names given by the caller and SHA-256 of the programs)"
        self.invocation = "--builds OLD NEW"
        ways = [(name, program.path, "fit") for name, program in zip(("OLD", "NEW"), programs, strict=True)]
        rows = []
        for name in (name for name in self.sets if self.there(name)):
            for kind in self.args.kinds:
                files = self.fewer_rows(name) if kind == "gp" else self.files(name)
                if files is None:
                    continue
                repeats = self.repeats(DATASETS[name].big)
                old, new = self.pair(name, kind, files, ways, repeats)
                shown = f"{kind}, {N_GP_ROWS:,} rows" if kind == "gp" else kind
                rows.append([name, shown, str(repeats), *cells_of(MEASURES, values_of(old), values_of(new))])
        if not rows:
            return None
        text = (
            f"OLD is {told[0]}, NEW is {told[1]}. Repeat i has seed i with both; accuracy and log-loss are means, fit s is "
            f"the best and peak MB the least of the repeats; fits shorter than {SHORT_SECONDS:.0f} s were timed {MORE_TIMES} "
            "times more. Defaults. Δ is NEW against OLD."
        )
        return Body([Table(("set", "kind", "seeds", *columns_of(MEASURES, ("OLD", "NEW"))), rows, 2)], text)

    def fit_vs_train(self) -> Body | None:
        program = self.args.fit_vs_train.path if self.args.fit_vs_train else self.args.hedgerow
        if self.args.fit_vs_train:
            name = self.args.fit_vs_train.name
            self.commit = f"{name} (name given by the caller, SHA-256 {machine.digest(program)})"
        self.invocation = "--fit-vs-train"
        rows = []
        for name in (name for name in TRAINED_SETS if self.there(name)):
            for kind in (kind for kind in self.args.kinds if kind in TRAINED_KINDS):
                ways = [(verb, program, verb) for verb in ("fit", "train")]
                repeats = self.args.repeats or 1
                fits, trained = self.pair(name, kind, self.files(name), ways, repeats)
                rows.append([name, kind, str(repeats), *cells_of(MEASURES[:3], values_of(fits), values_of(trained))])
        if not rows:
            return None
        text = (
            "`train` runs to the end; same rows, seeds and defaults for both. Accuracy and log-loss are means over the "
            "seeds, fit s is the best. Δ is train against fit."
        )
        return Body([Table(("set", "kind", "seeds", *columns_of(MEASURES[:3], ("fit", "train"))), rows, 2)], text)


def differences(table: Table, measures: Sequence[Measure], sides: tuple[str, str], word: str) -> list[str]:
    """A line for each difference that matters, and how many of how many there are. Without a table there are none."""
    if not table.rows:
        return []
    lines, missing = [], []
    n_compared = n_worse = 0
    for row in table.rows:
        cells = dict(zip(table.columns, row, strict=True))
        name = f"{plain(row[0])}, {plain(row[1])}"
        for measure in measures:
            shown = [cells[f"{measure.name}, {side}"] for side in sides]
            change = number(cells[f"{measure.name}, Δ {measure.unit}"])
            if change is None:
                if measure is ACCURACY:
                    lost = [side for side, cell in zip(sides, shown, strict=True) if cell == NOT_MEASURED]
                    missing.append(f"no result: {name}, {' and '.join(lost)}.")
                continue
            n_compared += 1
            if measure.is_worse(change):
                n_worse += 1
                lines.append(f"**{word}**: {name}: {measure.name} {shown[0]} → {shown[1]} ({change:+g} {measure.unit}).")
    limits = ", ".join(f"{measure.most:g} {measure.unit} ({measure.name})" for measure in measures)
    total = f"{n_worse} of {n_compared} figures are worse by more than {limits}."
    return [total, *lines, *missing]


def claims(sections: Sections) -> list[str]:
    builds, trained = table_of(sections, "builds"), table_of(sections, "fit-vs-train")
    found = [f"NEW against OLD: {line}" for line in differences(builds, MEASURES, ("OLD", "NEW"), "worse")]
    return [*found, *(f"train against fit: {line}"
                      for line in differences(trained, MEASURES[:2], ("fit", "train"), "worse"))]  # fmt: skip


PARTS = {
    "builds": Part("Two builds side by side", BuildsBench.two_builds),
    "fit-vs-train": Part("Training runs beside fits", BuildsBench.fit_vs_train),
}
BENCH = BuildsBench
PAGE = Page("builds", "Benchmarks of builds, and of training runs beside fits", (), tuple(PARTS), claims)
