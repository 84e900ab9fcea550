"""The tables of hybrids: trees with Gaussian processes in their leaves, and forests with Informative Vector Machines.

Each table (a to f) is run and written on its own: `run.py --hybrid --hybrid-only c`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import machine
from common import names_of, say
from datasets import CACHE, DATASETS
from gp import Command, GpBench, Settings
from gp_table import COST_COLUMNS, QUALITY_COLUMNS, Run, cost, lines, quality, section
from table import show

PEERS = QUICK_PEERS = ()
TOGETHER_SETS = ("usps", "letter", "spam", "waveform")
SETS = (*TOGETHER_SETS, "mnist")
QUICK_SETS = ("usps", "spam", "waveform")

LEAF_SIZES = (5, 20, 50, 100, 200, 500)
FEW_TREES, MORE_TREES, MNIST_TREES = 5, 20, 10
MORE_SIZES, MNIST_SIZES = (200, 500), (500, 1500)
IVM_ACTIVE = 400
WEAK_FOREST: Settings = {"n_trees": 320, "max_height": 14}
WAYS = ("pool", "gate", "route")
KEPT_OUT = 0.2
N_BATCHES = 10
STREAMED: tuple[tuple[str, Settings], ...] = (
    ("forest", {}),
    ("leaf-gp", {"n_trees": 5, "leaf_rows": 200}),
    ("forest-ivm", {"n_active": 100, "max_rows": 2000}),
)


@dataclass(frozen=True)
class HybridRun:
    """A run and what is told of hybrids only."""

    run: Run
    # Right answers to rows that nobody had seen, of the forest and of all together.
    unseen: tuple[float, float] | None
    # Right answers to the test rows after each batch.
    curve: tuple[float, ...]

    @classmethod
    def from_json(cls, result: dict) -> HybridRun:
        takeover = result.get("takeover")
        unseen = (takeover["accuracy_before"], takeover["accuracy_after"]) if takeover else None
        curve = tuple(batch["metrics"]["accuracy"] for batch in result.get("batches", []) if batch.get("metrics"))
        return cls(Run.from_json(result), unseen, curve)

    def brief(self) -> str:
        return self.run.brief()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("hybrids")
    listed = "; ".join(f"{name}: {title}" for name, (title, _) in PARTS.items())
    group.add_argument("--hybrid-only", type=names_of(PARTS), help=f"only these tables, such as a,c; {listed}")


class HybridBench(GpBench):
    """Runs one table after the other and keeps what the models report."""

    results_file = CACHE / "results-hybrid.json"
    read = staticmethod(HybridRun.from_json)

    def row(self, names: list[str], found: HybridRun | None) -> list[str]:
        run = found.run if found else None
        return [*names, *quality([run]), *cost([run])]

    def kept_out(self, name: str) -> Command:
        """The training rows of a set, some of them kept out to judge by."""
        files = self.files(name)
        return [*files[: files.index("--test")], "--holdout", str(KEPT_OUT)]

    # The tables. Each gives its lines, or none if there is nothing to run.

    def leaf_usps(self) -> list[str]:
        if not self.there("usps"):
            return []
        files, rows = self.files("usps"), []
        forest = self.ours("a forest", "fit", "forest", files, {"n_trees": FEW_TREES})
        rows.append(self.row(["forest", str(FEW_TREES), "–"], forest))
        sizes = [(FEW_TREES, size) for size in LEAF_SIZES] + [(MORE_TREES, size) for size in MORE_SIZES]
        for n_trees, size in sizes[:: 3 if self.args.quick else 1]:
            found = self.ours(f"a {n_trees} {size}", "fit", "leaf-gp", files, {"n_trees": n_trees, "leaf_rows": size})
            rows.append(self.row(["leaf GP", str(n_trees), str(size)], found))
        exact = self.ours("a exact", "fit", "gp", files, {"method": "labels"})
        rows.append(self.row(["exact GP", "–", "all"], exact))
        return lines(("model", "trees", "rows a leaf", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 1)

    def leaf_mnist(self) -> list[str]:
        if not self.there("mnist"):
            return []
        rows = []
        for size in MNIST_SIZES:
            settings: Settings = {"n_trees": MNIST_TREES, "leaf_rows": size}
            found = self.ours(f"b {size}", "fit", "leaf-gp", self.files("mnist"), settings)
            rows.append(self.row(["leaf GP", str(MNIST_TREES), str(size)], found))
        return lines(("model", "trees", "rows a leaf", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 1)

    def together(self) -> list[str]:
        rows = []
        for name in (name for name in SETS if self.there(name)):
            files = self.files(name)
            for model, settings in (("forest", {}), ("ivm", {"n_active": IVM_ACTIVE}), ("forest-ivm", {})):
                found = self.ours(f"c {name}", "fit", model, files, settings)
                rows.append(self.row([name, f"**{model}**" if model == "forest-ivm" else model], found))
        if not rows:
            return []
        text = f"100 trees; the machine has {IVM_ACTIVE} points a class. The search for the kernel is part of fit."
        return [text, "", *lines(("data", "model", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 2)]

    def weak(self) -> list[str]:
        if not self.there("mnist"):
            return []
        files = self.files("mnist")
        rows = [
            self.row([model], self.ours("d", "fit", model, files, WEAK_FOREST)) for model in ("forest", "forest-ivm")
        ]
        text = f"{WEAK_FOREST['n_trees']} trees of height {WEAK_FOREST['max_height']}, as in the thesis."
        return [text, "", *lines(("model", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 1)]

    def ways(self) -> list[str]:
        rows = []
        for name in (name for name in TOGETHER_SETS if self.there(name) and name != "letter"):
            for way in WAYS:
                found = self.ours(f"e {name} {way}", "fit", "forest-ivm", self.kept_out(name), {"combine": way})
                unseen = found.unseen if found else None
                before, after = (show(value, ".2f", 100) for value in unseen or (None, None))
                rows.append([*self.row([name, way], found)[:5], before, after])
        if not rows:
            return []
        columns = ("data", "combine", *QUALITY_COLUMNS, "unseen, forest %", "unseen, together %")
        text = (
            f"Training rows only, {KEPT_OUT:.0%} of them kept out and answered. *Unseen* are the rows by which the model itself decided: "
            "out of bag for the forest, left out for the machine."
        )
        return [text, "", *lines(columns, rows, 2)]

    def online(self) -> list[str]:
        if not self.there("mnist"):
            return []
        files = [*self.files("mnist"), "--batches", str(N_BATCHES)]
        rows = []
        for model, settings in STREAMED:
            found = self.ours("f", "stream", model, files, settings)
            curve = found.curve if found else ()
            shown = [show(value, ".2f", 100) for value in curve] or ["–"] * N_BATCHES
            rows.append([model, *shown, *(cost([found.run])[:1] if found else ["–"])])
        columns = ("model", *(str(batch + 1) for batch in range(N_BATCHES)), "learning s")
        return [
            f"MNIST in {N_BATCHES} batches of 6,000; accuracy on the test rows, in %, after each.",
            "",
            *lines(columns, rows, 1),
        ]


PARTS: dict[str, tuple[str, Callable[[HybridBench], list[str]]]] = {
    "a": ("leaf GP on USPS", HybridBench.leaf_usps),
    "b": ("leaf GP on MNIST", HybridBench.leaf_mnist),
    "c": ("forest, IVM, and both together", HybridBench.together),
    "d": ("from a weak forest, MNIST", HybridBench.weak),
    "e": ("three ways to combine", HybridBench.ways),
    "f": ("online, MNIST", HybridBench.online),
}


def place(part: str) -> str:
    """Where a table stands in its document."""
    return f"hybrid-{part}"


PLACES = tuple(place(part) for part in PARTS)


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    """The tables as Markdown by their places, and whether Hedgerow gave a result each time."""
    bench = HybridBench(args, sets, peers)
    texts = {}
    for part in args.hybrid_only or PARTS:
        title, table = PARTS[part]
        bench.commands, bench.notes, bench.n_results = [], [], 0
        options = " --quick" if args.quick else ""
        header = machine.header(str(args.hedgerow), args.threads, [])
        body = table(bench)
        if not body or bench.n_results == 0:
            say(f"no table {part}: its data were not asked for or are not there, or nothing gave a result")
            continue
        bench.save()
        commands = [f"bench/run.py --hybrid --hybrid-only {part}{options}   # runs all of these:", *bench.commands]
        texts[place(part)] = section(f"({part}) {title}", header, body, commands, bench.notes)
    return texts, bench.done
