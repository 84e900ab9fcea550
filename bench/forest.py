"""The table of forests that are fitted once: Hedgerow beside scikit-learn's and ranger's."""

from __future__ import annotations

import argparse
import sys
from functools import partial

import machine
from common import PEER_SCRIPTS, Bench, run_json, say
from datasets import CACHE, DATASETS, Dataset
from table import OURS, Measurement, Results, report

# Where the table stands in its document.
PLACE = "forest"
SKLEARN_PEERS = ("et", "rf", "hgb")
PEERS = (*SKLEARN_PEERS, "ranger")
SETS = ("mnist", "usps", "letter", "shuttle", "spam")
QUICK_SETS, QUICK_PEERS = ("usps", "letter", "spam"), ("et",)
# Slow, and there for context: once for each data set, and not for longer than --context-seconds.
ONCE = ("hgb", "ranger")
N_TREES = 100
N_DEEP_TREES = 1000


class ForestBench(Bench):
    """Runs systems on data sets and keeps what they report."""

    results_file = CACHE / "results.json"

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.results: Results = {}

    def measure_ours(self, dataset: Dataset, seed: int, params: dict[str, int]) -> dict:
        train, test = dataset.files(self.args.data)
        model = CACHE / "model.hedgerow"
        settings = [part for name, value in params.items() for part in ("--set", f"{name}={value}")]
        result = run_json([
            self.args.hedgerow, "fit", train, "--frozen", *dataset.target_args(), *dataset.read_args, *settings,
            "--seed", str(seed), "--threads", str(self.args.threads), "--out", model, "--test", test, "--json",
        ])  # fmt: skip
        answers = CACHE / "answers.csv"
        single = run_json([
            self.args.hedgerow, "predict", model, test, *dataset.read_args, "--out", answers, "--latency", "--json",
        ])  # fmt: skip
        model.unlink(missing_ok=True)
        answers.unlink(missing_ok=True)
        return result | {"one_row_seconds": single["one_row_seconds"]}

    def measure(self, dataset: Dataset, system: str, seed: int) -> dict:
        if system == OURS:
            return self.measure_ours(dataset, seed, {"n_trees": N_TREES})
        threads = str(self.args.threads)
        limit = self.args.context_seconds if system in ONCE else None
        if system == "ranger":
            return run_json(["Rscript", PEER_SCRIPTS / "ranger.R", dataset.cache, threads, str(seed)], limit)
        script = PEER_SCRIPTS / "sklearn_forest.py"
        options = ["--threads", threads, "--seed", str(seed)]
        return run_json([sys.executable, script, system, dataset.cache, *options], limit)

    def run_set(self, dataset: Dataset, peers: list[str]) -> None:
        """All systems in turn, then all again: the speed of a machine drifts, and so it drifts for all alike."""
        repeats = self.args.repeats or (1 if dataset.big or self.args.quick else 3)
        for repeat in range(repeats):
            for system in (OURS, *peers):
                runs = self.results.setdefault((dataset.name, system), [])
                if repeat > 0 and system in ONCE:
                    continue
                label = f"{dataset.name} {repeat + 1}/{repeats} {system}"
                runs.append(self.attempt(label, partial(self.measure, dataset, system, repeat), Measurement.from_json))

    def run_deep(self) -> Measurement | None:
        params = {"n_trees": N_DEEP_TREES, "max_height": 0, "min_leaf_rows": 1}
        measure = partial(self.measure_ours, DATASETS["mnist"], 0, params)
        return self.attempt("mnist, 1,000 deep trees", measure, Measurement.from_json)


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    """The table as Markdown by its place, and whether Hedgerow gave a result for every set. None if nothing was run."""
    bench = ForestBench(args)
    versions = [machine.package("scikit-learn"), machine.package("numpy")]
    if "ranger" in peers:
        if ranger := machine.ranger_version():
            versions.append(f"ranger {ranger}")
        else:
            peers = [peer for peer in peers if peer != "ranger"]
            bench.note("ranger left out: R with the package ranger is not installed")
    header = machine.header(str(args.hedgerow), args.threads, versions)
    datasets = [DATASETS[name] for name in sets if bench.ready(DATASETS[name])]
    if not datasets:
        say("no table of forests: none of the data sets is there. bench/README.md lists them.")
        return {}, True
    for dataset in datasets:
        bench.run_set(dataset, peers)
        bench.save()
    deep = None
    wanted = not args.quick if args.deep is None else args.deep
    if wanted and DATASETS["mnist"] in datasets:
        deep = bench.run_deep()
        bench.save()
    done = all(bench.results[(dataset.name, OURS)][0] for dataset in datasets)
    return {PLACE: report(header, bench.results, deep, bench.notes)}, done
