"""Hedgerow beside its peers: one run, one machine, one table. See README.md.

    run.py [--data DIR] [--sets mnist,usps] [--peers et,rf] [--threads 2] [--repeats 3] [--quick] [--out FILE]

This process stays small on purpose and loads no data: see datasets.py.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import machine
from datasets import CACHE, DATASETS, Dataset
from table import OURS, Measurement, Results, report

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEER_SCRIPTS = HERE / "peers"
DOCUMENT = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- bench:forest:begin -->", "<!-- bench:forest:end -->"
SKLEARN_PEERS = ("et", "rf", "hgb")
PEERS = (*SKLEARN_PEERS, "ranger")
# Slow, and there for context: once for each data set, and not for longer than --context-seconds.
ONCE = ("hgb", "ranger")
N_TREES = 100
N_DEEP_TREES = 1000


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    def names(known: tuple[str, ...]):
        def parse(text: str) -> list[str]:
            found = [name.strip() for name in text.split(",") if name.strip()]
            if unknown := [name for name in found if name not in known]:
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
            return found

        return parse

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description="Hedgerow beside its peers, in one table.")
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: $HEDGEROW_DATA)")
    parser.add_argument("--sets", type=names(tuple(DATASETS)), help=f"default: {','.join(DATASETS)}")
    parser.add_argument("--peers", type=names(PEERS), help=f"default: {','.join(PEERS)}; may be empty")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, help="default: 3 for the small sets, 1 for the big one")
    parser.add_argument("--context-seconds", type=float, default=600, help=f"limit for a run of {' or '.join(ONCE)}")
    parser.add_argument("--deep", action=argparse.BooleanOptionalAction, help="1,000 deep trees on MNIST")
    parser.add_argument("--quick", action="store_true", help="usps, letter and spam once, against ExtraTrees; no docs")
    parser.add_argument("--out", type=Path, help="Markdown file to write (default: its place in docs/benchmarks.md)")
    parser.add_argument("--hedgerow", type=Path, default=target / "release" / "hedgerow", help="the program to measure")
    args = parser.parse_args()
    if args.data is None and os.environ.get("HEDGEROW_DATA"):
        args.data = Path(os.environ["HEDGEROW_DATA"])
    if args.sets is None:
        args.sets = ["usps", "letter", "spam"] if args.quick else list(DATASETS)
    if args.peers is None:
        args.peers = ["et"] if args.quick else list(PEERS)
    if args.deep is None:
        args.deep = "mnist" in args.sets and not args.quick
    return args


class Failed(Exception):
    """A system that did not give a result."""


def run_json(command: list[str | Path], limit: float | None = None) -> dict:
    """Runs a program to its end, or for `limit` seconds, and reads the JSON object that it prints."""
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"stopped after {limit:.0f} s") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-3:]
        raise Failed(f"exit code {done.returncode}: {' / '.join(last)}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise Failed(f"no JSON on stdout: {error}") from error


class Bench:
    """Runs systems on data sets and keeps what they report."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.results: Results = {}
        self.raw: list[dict] = []
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        say(text)
        for folder in (self.args.data, ROOT):  # names of files, not where this machine keeps them
            text = text.replace(f"{folder}{os.sep}", "")
        self.notes.append(text)

    def measure_ours(self, dataset: Dataset, seed: int, params: dict[str, int]) -> dict:
        train, test = dataset.files(self.args.data)
        model = CACHE / "model.hedgerow"
        settings = [part for name, value in params.items() for part in ("--set", f"{name}={value}")]
        result = run_json([
            self.args.hedgerow, "fit", train, *dataset.target_args(), *dataset.read_args, *settings,
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

    def attempt(self, label: str, measure: Callable[[], dict]) -> Measurement | None:
        start = time.monotonic()
        try:
            result = measure()
            found = Measurement.from_json(result)
        except Failed as error:
            self.note(f"{label}: no result, {error}")
            return None
        except KeyError as error:
            self.note(f"{label}: no result, its JSON has no {error}")
            return None
        self.raw.append({"run": label} | result)
        say(
            f"{label}: accuracy {found.accuracy:.4f}, fit {found.fit:.2f} s, predict {found.predict:.3f} s "
            f"({time.monotonic() - start:.0f} s in all)"
        )
        return found

    def run_set(self, dataset: Dataset) -> None:
        """All systems in turn, then all again: the speed of a machine drifts, and so it drifts for all alike."""
        repeats = self.args.repeats or (1 if dataset.big or self.args.quick else 3)
        for repeat in range(repeats):
            for system in (OURS, *self.args.peers):
                runs = self.results.setdefault((dataset.name, system), [])
                if repeat > 0 and system in ONCE:
                    continue
                label = f"{dataset.name} {repeat + 1}/{repeats} {system}"
                runs.append(self.attempt(label, partial(self.measure, dataset, system, repeat)))

    def run_deep(self) -> Measurement | None:
        params = {"n_trees": N_DEEP_TREES, "max_height": 0, "min_leaf_rows": 1}
        return self.attempt("mnist, 1,000 deep trees", partial(self.measure_ours, DATASETS["mnist"], 0, params))

    def available_sets(self) -> list[Dataset]:
        """The sets whose files are there, made ready."""
        found = []
        for dataset in (DATASETS[name] for name in self.args.sets):
            if missing := dataset.missing(self.args.data):
                self.note(f"{dataset.name} left out: {', '.join(missing)} not found in the data folder")
                continue
            if not dataset.is_prepared():
                say(f"preparing {dataset.name}")
                subprocess.run([sys.executable, HERE / "datasets.py", self.args.data, dataset.name], check=True)
            found.append(dataset)
        return found


def write_document(text: str) -> None:
    """Puts the text between its markers; the rest of the document stays."""
    old = DOCUMENT.read_text(encoding="utf-8") if DOCUMENT.is_file() else f"# Benchmarks\n\n{BEGIN}\n{END}\n"
    if BEGIN not in old or END not in old:
        old = f"{old.rstrip()}\n\n{BEGIN}\n{END}\n"
    before, rest = old.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{text}{END}{after}", encoding="utf-8")


def main() -> int:
    args = arguments()
    if args.data is None or not args.data.is_dir():
        say("no benchmark: the data sets are absent. Set HEDGEROW_DATA or give --data; bench/README.md lists them.")
        return 0
    if not args.hedgerow.is_file():
        say("no benchmark: build the program first, with `cargo build --release -p hedgerow-cli`")
        return 2
    bench = Bench(args)
    ranger = machine.ranger_version() if "ranger" in args.peers else ""
    if "ranger" in args.peers and not ranger:
        args.peers.remove("ranger")
        bench.note("ranger left out: R with the package ranger is not installed")
    header = machine.header(str(args.hedgerow), args.threads, ranger)
    datasets = bench.available_sets()
    if not datasets:
        say("no benchmark: none of the data sets is there")
        return 0
    for dataset in datasets:
        bench.run_set(dataset)
    deep = bench.run_deep() if args.deep and DATASETS["mnist"] in datasets else None

    (CACHE / "results.json").write_text(json.dumps(bench.raw, indent=1))
    text = report(header, bench.results, deep, bench.notes)
    if args.out:
        args.out.write_text(text, encoding="utf-8")
    elif not args.quick:
        write_document(text)
    print(text)
    return 0 if all(bench.results[(dataset.name, OURS)][0] for dataset in datasets) else 1


if __name__ == "__main__":
    sys.exit(main())
