"""The page of hybrids: trees with Gaussian processes in their leaves, and forests blended with IVMs.

Each section (a to f) can be run alone: `run.py --hybrid --hybrid-only c`.
"""

from __future__ import annotations

from common import Bench, Command, Part, Settings
from page import Body, Claim, Page, Sections, Table, loss, percent, points, show, table_of
from runs import COST_COLUMNS, QUALITY_COLUMNS, Run, cost, quality

PEERS = QUICK_PEERS = ()
TOGETHER_SETS = ("usps", "letter", "spam", "waveform")
SETS = (*TOGETHER_SETS, "mnist")
QUICK_SETS = ("usps", "spam", "waveform")

LEAF_SIZES = (5, 20, 50, 100, 200, 500)
FEW_TREES, MORE_TREES, MNIST_TREES = 5, 20, 10
MORE_SIZES, MNIST_SIZES = (200, 500), (500, 1500)
LEAF_COLUMNS = ("model", "trees", "rows a leaf", *QUALITY_COLUMNS, *COST_COLUMNS)
IVM_ACTIVE = 400
WEAK_FOREST: Settings = {"n_trees": 320, "max_height": 14}
WAYS = ("pool", "gate", "route")
HELD_OUT = 0.2
N_BATCHES = 10
STREAMED: tuple[tuple[str, Settings], ...] = (
    ("forest", {}),
    ("leaf-gp", {"n_trees": 5, "leaf_rows": 200}),
    ("forest-ivm", {"n_active": 100, "max_rows": 2000}),
)


class HybridBench(Bench):
    """Runs one section after the other and keeps what the models report."""

    def row(self, names: list[str], run: Run | None) -> list[str]:
        return [*names, *quality([run]), *cost([run])]

    def held_out(self, name: str) -> Command:
        """The training rows of a set, some of them held out to estimate quality."""
        files = self.files(name)
        return [*files[: files.index("--test")], "--holdout", str(HELD_OUT)]

    # The sections. Each gives its tables, or none if there is nothing to run.

    def leaf_usps(self) -> Body | None:
        if not self.there("usps"):
            return None
        files, rows = self.files("usps"), []
        forest = self.ours("a forest", "fit", "forest", files, {"n_trees": FEW_TREES})
        rows.append(self.row(["forest", str(FEW_TREES), "–"], forest))
        sizes = [(FEW_TREES, size) for size in LEAF_SIZES] + [(MORE_TREES, size) for size in MORE_SIZES]
        for n_trees, size in sizes[:: 3 if self.args.quick else 1]:
            run = self.ours(f"a {n_trees} {size}", "fit", "leaf-gp", files, {"n_trees": n_trees, "leaf_rows": size})
            rows.append(self.row(["leaf GP", str(n_trees), str(size)], run))
        rows.append(self.row(["exact GP", "–", "all"], self.ours("a exact", "fit", "gp", files, {"method": "labels"})))
        return Body([Table(LEAF_COLUMNS, rows, 1)])

    def leaf_mnist(self) -> Body | None:
        if not self.there("mnist"):
            return None
        rows = []
        for size in MNIST_SIZES:
            settings: Settings = {"n_trees": MNIST_TREES, "leaf_rows": size}
            run = self.ours(f"b {size}", "fit", "leaf-gp", self.files("mnist"), settings)
            rows.append(self.row(["leaf GP", str(MNIST_TREES), str(size)], run))
        return Body([Table(LEAF_COLUMNS, rows, 1)])

    def together(self) -> Body | None:
        rows = []
        for name in (name for name in SETS if self.there(name)):
            for model, settings in (("forest", {}), ("ivm", {"n_active": IVM_ACTIVE}), ("forest-ivm", {})):
                run = self.ours(f"c {name}", "fit", model, self.files(name), settings)
                rows.append(self.row([name, f"**{model}**" if model == "forest-ivm" else model], run))
        if not rows:
            return None
        text = (
            f"Defaults; the IVM alone has {IVM_ACTIVE} active rows a class, as the hybrid's. The search for the kernel's "
            "hyper-parameters is part of fit. One run each."
        )
        return Body([Table(("data", "model", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 2)], text)

    def weak(self) -> Body | None:
        if not self.there("mnist"):
            return None
        models, files = ("forest", "forest-ivm"), self.files("mnist")
        rows = [self.row([model], self.ours("d", "fit", model, files, WEAK_FOREST)) for model in models]
        text = f"{WEAK_FOREST['n_trees']} trees of height {WEAK_FOREST['max_height']}, as published."
        return Body([Table(("model", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 1)], text)

    def ways(self) -> Body | None:
        rows = []
        for name in (name for name in TOGETHER_SETS if self.there(name) and name != "letter"):
            for way in WAYS:
                run = self.ours(f"e {name} {way}", "fit", "forest-ivm", self.held_out(name), {"combine": way})
                both = run.out_of_sample if run else None
                before, after = (show(value, ".2f", 100) for value in both or (None, None))
                rows.append([name, way, *quality([run]), before, after])
        if not rows:
            return None
        columns = ("data", "combine", *QUALITY_COLUMNS, "out-of-sample, forest %", "out-of-sample, blend %")
        text = (
            f"Training rows only, {HELD_OUT:.0%} of them held out; accuracy, log-loss and ECE are of those. "
            "*Out-of-sample* are the predictions by which the model itself decided: out-of-bag for the forest, "
            "of rows that the IVM was not trained on."
        )
        return Body([Table(columns, rows, 2)], text)

    def online(self) -> Body | None:
        if not self.there("mnist"):
            return None
        files = [*self.files("mnist"), "--batches", str(N_BATCHES)]
        rows = []
        for model, settings in STREAMED:
            run = self.ours("f", "stream", model, files, settings)
            shown = [show(value, ".2f", 100) for value in run.curve] if run else ["–"] * N_BATCHES
            rows.append([model, *shown, cost([run])[0]])
        columns = ("model", *(str(batch + 1) for batch in range(N_BATCHES)), "learning s")
        text = f"MNIST in {N_BATCHES} batches of 6,000 rows; accuracy on the test rows, in %, after each."
        return Body([Table(columns, rows, 1)], text)


def claims(sections: Sections) -> list[Claim]:
    """What forest and IVM together must show: a good accuracy, and no less than the better of the two."""
    c, d = table_of(sections, "c"), table_of(sections, "d")
    found = [
        Claim("mnist, from a weak forest, accuracy", d.value("accuracy %", "forest-ivm"), 96.5, True, percent, ("d",)),
        Claim("mnist, from a strong forest, accuracy", c.value("accuracy %", "mnist", "forest-ivm"), 98.2, True, percent,
              ("c",)),
        Claim("usps, accuracy", c.value("accuracy %", "usps", "forest-ivm"), 95, True, percent, ("c",)),
    ]  # fmt: skip
    for name, slack in (("mnist", 0.0), ("usps", 0.2), ("letter", 0.2), ("spam", 0.2), ("waveform", 0.2)):
        both = c.value("accuracy %", name, "forest-ivm")
        parts = [value for part in ("forest", "ivm") for value in c.values("accuracy %", name, part)]
        more = both - max(parts) if both is not None and len(parts) == 2 else None
        found.append(Claim(f"{name}, accuracy of the blend less that of its better part", more, 0.0 - slack, True, points, ("c",)))
        both = c.value("log-loss", name, "forest-ivm")
        parts = [value for part in ("forest", "ivm") for value in c.values("log-loss", name, part)]
        best = min(parts) if len(parts) == 2 else None
        found.append(Claim(f"{name}, log-loss of the blend no more than that of its better part", both, best, False, loss, ("c",)))
    return found


PARTS = {
    "a": Part("(a) leaf GP on USPS", HybridBench.leaf_usps),
    "b": Part("(b) leaf GP on MNIST", HybridBench.leaf_mnist),
    "c": Part("(c) forest, IVM, and both blended", HybridBench.together),
    "d": Part("(d) from a weak forest, MNIST", HybridBench.weak),
    "e": Part("(e) three ways to combine", HybridBench.ways),
    "f": Part("(f) online, MNIST", HybridBench.online),
}
BENCH = HybridBench
PAGE = Page(
    "hybrid",
    "Benchmarks of hybrids",
    (
        "The figures of forest and IVM together on test rows are not blind. That of waveform led to a change of the rows "
        "by which IVMs are evaluated, and in the same step `n_active` was raised without evidence from held-out rows. "
        "That `combine=pool` is the default rests on one held-out split of waveform.",
    ),
    tuple(PARTS),
    claims,
)
