"""The tables of Relevance Vector Machines: spec 002's experiments on the data there are, beside the published figures.

Each table (a to f) is run and written on its own: `run.py --rvm --rvm-only b`.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import sys
from pathlib import Path
from statistics import mean, stdev

from common import PEER_SCRIPTS, Bench, Failed, names_of, run_json, say
from datasets import CACHE, LETTER, USPS
from rvm_sets import TABLES, Table, classes, sinc, split

SKLEARN_RVM, KERNLAB = "sklearn-rvm", "kernlab"
PEERS = QUICK_PEERS = (SKLEARN_RVM, KERNLAB)
SETS = QUICK_SETS = ("rvm",)
# On prepared columns: the thesis's width 3 is a length of 3/√2, and the column's deviation is 20/√12.
SINC_LENGTH = 3 / math.sqrt(2) / (20 / math.sqrt(12))
SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 64000)
PUBLISHED_SINC = {400: (0.017, 8), 1000: (0.01, 7.75), 3600: (0.007, 9)}
# Models that several classes are compared with, and their settings.
CLASS_MODELS = (("rvm", []), ("rvm", ["multi_class=rest"]), ("ivm", ["n_active=300"]), ("forest", []))
KERNELS = ("rbf", "matern1", "matern2", "matern3", "matern4", "compact")
VERDICTS = {"rbf": "converges, sparse", "matern1": "not sparse", "matern2": "mixed", "matern3": "sparser than rbf",
            "matern4": "sparsest, at times worse", "compact": "no convergence"}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Relevance Vector Machines")
    listed = "; ".join(f"{name}: {title}" for name, (title, _) in PARTS.items())
    group.add_argument("--rvm-only", type=names_of(PARTS), help=f"only these tables, such as a,d; {listed}")
    group.add_argument("--rvm-python", default=sys.executable, help="a Python that has scikit-learn and sklearn-rvm")


class RvmBench(Bench):
    """Runs one table after the other and keeps what the program reports."""

    results_file = CACHE / "results-rvm.json"

    def fit(self, train: Path, test: Path, target: str, task: str, *settings: str, model: str = "rvm") -> dict:
        command = [self.args.hedgerow, "fit", train, "--test", test, "--target", target, "--model", model, "--json",
                   "--frozen", "--threads", self.args.threads]  # fmt: skip
        if task == "regression":
            command += ["--task", task]
        for setting in settings:
            command += ["--set", setting]
        try:
            result = run_json(command, 1800)
        except Failed as error:
            self.note(f"{train.name} {' '.join(settings)}: no result, {error}")
            return {}
        self.raw.append({"run": f"{model} {train.name} {' '.join(settings)}"} | result)
        return result

    def several(self, runs: list[dict], key: str) -> dict[str, list[float]]:
        """Errors, relevance vectors and seconds of several runs."""
        done = [run for run in runs if run]
        errors = [run["metrics"][key] if key == "rmse" else 100 * (1 - run["metrics"]["accuracy"]) for run in done]
        return {
            "error": errors,
            "vectors": [run.get("active_rows", 0) for run in done],
            "seconds": [run["seconds"]["fit"] for run in done],
            "coverage": [run["metrics"].get("coverage90", math.nan) for run in done],
            "memory": [(run["peak_memory_bytes"] or 0) / 1e6 for run in done],
        }


def spread(values: list[float], digits: int) -> str:
    if not values:
        return "–"
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def table_of(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def sinc_table(bench: RvmBench) -> str:
    """a: error against the clean function."""
    rows = []
    for n, (error, vectors) in PUBLISHED_SINC.items():
        files = [sinc(n, seed) for seed in range(10)]
        for words, settings in (("width 3", [f"length_scale={SINC_LENGTH:.4f}"]), ("width searched", [])):
            runs = [bench.fit(*pair, "y", "regression", *settings, f"seed={i}") for i, pair in enumerate(files)]
            found = bench.several(runs, "rmse")
            rows.append([f"{n:,}", words, spread(found["error"], 4), f"{error}", spread(found["vectors"], 1), f"{vectors}",
                         f"{mean(found['seconds']):.3f}"])  # fmt: skip
            say(f"sinc {n} {words}: {rows[-1]}")
    return table_of(["rows", "kernel", "RMSE", "published", "vectors", "published", "fit s"], rows)


def set_row(bench: RvmBench, table: Table, *settings: str) -> list[str]:
    task = "regression" if table.is_regression else "classification"
    runs = []
    for seed in range(table.repeats):
        train, test = split(table, bench.args.data, seed)
        runs.append(bench.fit(train, test, table.target, task, f"seed={seed}", *settings))
    found = bench.several(runs, "rmse" if table.is_regression else "accuracy")
    digits = (4 if table.name.startswith("Puma") else 2) if table.is_regression else 1
    known = table.published
    return [
        table.name + (" (RMSE)" if table.is_regression else " (error %)"),
        f"{table.n_train:,} / {table.n_test:,} × {len(found['error'])}",
        spread(found["error"], digits),
        f"{known.error[0]} ± {known.error[1]}" if known else "–",
        spread(found["vectors"], 1),
        f"{known.vectors[0]} ± {known.vectors[1]}" if known else "–",
        f"{mean(found['seconds']):.2f}" if found["seconds"] else "–",
        spread(found["coverage"], 2) if table.is_regression else "",
    ]


def sets_table(bench: RvmBench) -> str:
    """b: the sets of the thesis."""
    rows = []
    for table in TABLES:
        if table.source and not any(bench.args.data.glob(f"{table.source}*")):
            bench.note(f"{table.name} left out: {table.source} not found in the data folder")
            continue
        rows.append(set_row(bench, table))
        say(f"{rows[-1]}")
    header = ["set", "train / test × repeats", "error", "published", "vectors", "published", "fit s (search included)",
              "coverage of 90 %"]  # fmt: skip
    return table_of(header, rows)


def peers_table(bench: RvmBench) -> str:
    """c: time beside sklearn-rvm and kernlab, in one run."""
    rows = []
    folder = CACHE / "rvm"
    folder.mkdir(parents=True, exist_ok=True)
    if SKLEARN_RVM in bench.args.rvm_peers:
        command = [bench.args.rvm_python, PEER_SCRIPTS / "sklearn_rvm_peer.py", folder]
        try:
            peer = run_json(command, 1800)
        except Failed as error:
            bench.note(f"sklearn-rvm: no result, {error}")
            peer = None
        if peer:
            bench.raw.append({"run": "sklearn-rvm breast cancer"} | peer)
            rows.append(["breast cancer of scikit-learn, 569 × 30", "sklearn-rvm (defaults, gamma=auto)",
                         f"{100 * peer['accuracy']:.1f} %", f"{peer['vectors']}", f"{peer['seconds']:.2f}", "1"])  # fmt: skip
            files = folder / "breast569-train.csv", folder / "breast569-test.csv"
            for words, settings in (("hedgerow, length given", ["length_scale=4"]), ("hedgerow, length searched", [])):
                run = bench.fit(*files, "label", "classification", *settings)
                if run:
                    seconds = run["seconds"]["fit"]
                    rows.append(["", words, f"{100 * run['metrics']['accuracy']:.1f} %", f"{run['active_rows']}",
                                 f"{seconds:.3f}", f"{peer['seconds'] / seconds:.0f}"])  # fmt: skip
    train, test = sinc(2000, 0)
    for words, settings in (("hedgerow, width 3", [f"length_scale={SINC_LENGTH:.4f}"]), ("hedgerow, searched", [])):
        run = bench.fit(train, test, "y", "regression", *settings)
        if run:
            rows.append(["Sinc, 2,000", words, f"RMSE {run['metrics']['rmse']:.4f}", f"{run['active_rows']}",
                         f"{run['seconds']['fit']:.3f}", ""])  # fmt: skip
    if KERNLAB in bench.args.rvm_peers and shutil.which("Rscript") is None:
        bench.note("kernlab left out: Rscript is not installed")
    return table_of(["data", "system", "test", "vectors", "fit s", "times as fast"], rows)


def exponent(sizes: list[int], seconds: list[float]) -> str:
    """The slope of log time over log N, with its standard error and R²."""
    x, y = [math.log(n) for n in sizes], [math.log(s) for s in seconds]
    mx, my = mean(x), mean(y)
    sxx = sum((a - mx) ** 2 for a in x)
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sxx
    rest = sum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y, strict=True))
    total = sum((b - my) ** 2 for b in y)
    error = math.sqrt(rest / max(len(x) - 2, 1) / sxx)
    return f"time grows as N^{slope:.2f} (standard error {error:.2f}, R² {1 - rest / total:.3f}; log-log least squares)"


def ladder_table(bench: RvmBench) -> str:
    """d: time over the number of rows."""
    text = ""
    for name, make, target, task, settings in (
        ("Sinc", sinc, "y", "regression", [f"length_scale={SINC_LENGTH:.4f}"]),
        ("two classes in ten dimensions", classes, "label", "classification", ["length_scale=0.6"]),
    ):
        rows, sizes, seconds = [], [], []
        for n in (*SIZES, 100_000):
            runs = [bench.fit(*make(n, 0), target, task, *settings, "trainer=working_set", f"seed={i}") for i in range(3)]
            found = bench.several(runs, "rmse" if task == "regression" else "accuracy")
            rows.append([f"{n:,}", spread(found["error"], 4 if task == "regression" else 2), spread(found["vectors"], 1),
                         spread(found["seconds"], 3), f"{max(found['memory']):.0f}"])  # fmt: skip
            say(f"{name} {rows[-1]}")
            if n in SIZES:
                sizes.append(n)
                seconds.append(mean(found["seconds"]))
        unit = "RMSE" if task == "regression" else "error %"
        text += f"\n{name}, Working Set, length given: from 1,000 to 64,000 rows {exponent(sizes, seconds)}.\n\n"
        text += table_of(["rows", unit, "vectors", "fit s", "peak MB, data included"], rows)
    return text


def classes_table(bench: RvmBench) -> str:
    """e: several classes, beside other models."""
    rows = []
    data = bench.args.data
    for dataset in filter(bench.ready, (USPS, LETTER)):
        train, test = dataset.files(data)
        runs = []
        for model, settings in CLASS_MODELS:
            command = [bench.args.hedgerow, "fit", train, *dataset.target_args(), *dataset.read_args, "--test", test,
                       "--model", model, "--frozen", "--json", "--threads", bench.args.threads]  # fmt: skip
            for setting in settings:
                command += ["--set", setting]
            runs.append((f"{model} {' '.join(settings)}".strip(), command))
        svm = [sys.executable, PEER_SCRIPTS / "sklearn_svm.py", dataset.cache, "--threads", bench.args.threads]
        for words, command in (*runs, ("SVM, RBF (scikit-learn)", svm)):
            try:
                run = run_json(command, 1800)
            except Failed as error:
                bench.note(f"{dataset.name} {words}: no result, {error}")
                continue
            bench.raw.append({"run": f"{dataset.name} {words}"} | run)
            rows.append([dataset.name, words, f"{100 * run['metrics']['accuracy']:.2f} %",
                         f"{run['metrics']['log_loss']:.3f}", str(run.get("active_rows", "–")),
                         f"{run['seconds']['fit']:.1f}"])  # fmt: skip
            say(f"{rows[-1]}")
    return table_of(["set", "model", "accuracy", "log-loss", "rows kept", "fit s"], rows)


def kernels_table(bench: RvmBench) -> str:
    """f: which kernels converge, and how sparse. On one split of Boston: on Pumadyn, the thesis's set, one length sees nothing."""
    table = next(table for table in TABLES if table.name == "Boston")
    if not (bench.args.data / table.source).is_file():
        return ""
    rows = []
    train, test = split(table, bench.args.data, 0)
    for kernel in KERNELS:
        run = bench.fit(train, test, table.target, "regression", f"kernel={kernel}", "search_rows=200", "folds=2")
        if run:
            rows.append([kernel, f"{run['metrics']['rmse']:.2f}", f"{run['active_rows']}", VERDICTS[kernel],
                         f"{run['seconds']['fit']:.1f}", "; ".join(first(note) for note in run["notes"]) or "–"])  # fmt: skip
            say(f"{rows[-1]}")
    return table_of(["kernel", "RMSE", "vectors of 481 rows", "the thesis, on Pumadyn", "fit s", "notes"], rows)


def first(note: str) -> str:
    """The first sentence of a note."""
    return note.split(". ")[0].split(": ")[0]


PARTS = {
    "a": ("Sinc, error against the clean function", sinc_table),
    "b": ("The sets of the thesis", sets_table),
    "c": ("Time beside other programs", peers_table),
    "d": ("Time over the number of rows", ladder_table),
    "e": ("Several classes", classes_table),
    "f": ("Kernels", kernels_table),
}
PLACES = tuple(f"rvm-{name}" for name in PARTS)


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    args.rvm_peers = peers
    if args.data is None or not args.data.is_dir():
        say("relevance vector machines: no data folder; give --data or set HEDGEROW_DATA")
        return {}, False
    texts = {}
    for name in args.rvm_only or ("c" if args.quick else PARTS):
        title, make = PARTS[name]
        bench = RvmBench(args)
        body = make(bench)
        notes = "".join(f"\n{note}.\n" for note in bench.notes)
        command = f"`python bench/run.py --rvm --rvm-only {name}`"
        texts[f"rvm-{name}"] = f"### {name}. {title}\n\n{body}{notes}\nMade by {command}.\n"
        bench.save()
    return texts, True


if __name__ == "__main__":
    sys.exit(os.EX_USAGE)
