"""The tables of Gaussian processes and the Informative Vector Machine, beside numpy and scikit-learn.

Each table (a to f) is run and written on its own: `run.py --gp --gp-only d`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import machine
from common import HERE, PEER_SCRIPTS, ROOT, Bench, names_of, run_json, say
from datasets import CACHE, DATASETS, USPS
from forest import N_TREES
from gp_sets import N_MNIST_CLASSES, N_MNIST_ROWS, Binary, Digits
from gp_table import (
    COST_COLUMNS, FIRST_BATCH, QUALITY_COLUMNS, Run, Runs, cost, lines, middle, quality, ratio, section,
)  # fmt: skip
from table import OURS, SYSTEM_NAMES, show, significant

NUMPY_IVM, SKLEARN_GP, SVM = "numpy-ivm", "sklearn-gp", "svm"
PEERS = QUICK_PEERS = (NUMPY_IVM, SKLEARN_GP, SVM)
CALIBRATION_SETS = ("usps", "letter", "spam", "waveform")
SETS = (*CALIBRATION_SETS, "mnist")
QUICK_SETS = ("usps", "spam", "waveform")

# Names and values of `hedgerow fit --model gp --set`.
LABEL_REGRESSION = {"method": "labels"}
LAPLACE = {"method": "laplace", "likelihood": "logistic"}
# Of the two classes, on pixels between 0 and 1. scikit-learn gets no noise, Hedgerow as little as makes no difference.
BINARY_KERNEL = {"length_scale": 4.0, "signal_variance": 25.0, "noise_variance": 1e-9}
N_BINARY_ROWS, N_QUICK_BINARY_ROWS = 2000, 500
USPS_ACTIVE = (100, 300)
MNIST_ACTIVE, QUICK_MNIST_ACTIVE, QUICK_MNIST_ROWS = 800, 50, 6000
CALIBRATION_ACTIVE = 300
STREAM_ACTIVE, N_BATCHES = 100, 20
# Programs whose threads wait for each other by spinning suffer out of proportion when they have to share cores.
MOST_OTHER_CORES = 0.2

Settings = dict[str, object]
Command = list[str | Path]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    def setting(text: str) -> tuple[str, str]:
        name, is_given, value = text.partition("=")
        if not is_given:
            raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text}")
        return name, value

    group = parser.add_argument_group("Gaussian processes")
    listed = "; ".join(f"{name}: {title}" for name, (title, _) in PARTS.items())
    group.add_argument("--gp-only", type=names_of(PARTS), help=f"only these tables, such as a,d; {listed}")
    group.add_argument("--gp-set", type=setting, action="append", default=[], metavar="NAME=VALUE",
                       help="a parameter for every fit of Hedgerow's IVM, also against those below")  # fmt: skip
    group.add_argument("--gp-active", type=int, help=f"table d: active rows a class (default: {MNIST_ACTIVE})")
    group.add_argument("--gp-length", type=float, default=5.0, help="table d: length scale, on pixels from 0 to 1")
    group.add_argument("--gp-variance", type=float, default=30.0, help="table d: variance of the kernel")
    group.add_argument("--gp-noise", type=float, default=1e-3, help="table d: noise variance")
    group.add_argument("--gp-rows", type=int, help=f"table d: training rows (default: {N_MNIST_ROWS})")
    group.add_argument("--gp-classes", type=int, default=N_MNIST_CLASSES,
                       help="table d: join the last digits, so that there are so many classes for both")  # fmt: skip


class GpBench(Bench):
    """Runs one table after the other and keeps what the systems report."""

    results_file = CACHE / "results-gp.json"
    # What is taken from the JSON of a run.
    read = staticmethod(Run.from_json)

    def __init__(self, args: argparse.Namespace, sets: list[str], peers: list[str]) -> None:
        super().__init__(args)
        self.sets, self.peers = sets, peers
        self.commands: list[str] = []
        # Runs of the table at hand that gave a result.
        self.n_results = 0
        # What run.py is given beside the name of the table.
        self.options = ""
        # Whether Hedgerow gave a result each time.
        self.done = True

    def measure(self, label: str, command: Command) -> Run | None:
        """Runs a command, and remembers it for those who read the table."""
        shown = " ".join(map(str, command))
        # The names that a reader would use, not where this machine keeps things.
        names = {str(self.args.hedgerow): OURS, sys.executable: "bench/.venv/bin/python"}
        names |= {f"{folder}{os.sep}": name for folder, name in ((self.args.data, "$HEDGEROW_DATA/"), (ROOT, ""))}
        for text, name in names.items():
            shown = shown.replace(text, name)
        if shown not in self.commands:
            self.commands.append(shown)
        others = machine.OtherPrograms()
        found = self.attempt(label, partial(run_json, command), self.read)
        self.n_results += found is not None
        if found is not None and (cores := others.cores()) > MOST_OTHER_CORES:
            self.note(f"{label}: other programs took {cores:.1f} cores meanwhile, so its times say little")
        return found

    def ours(self, label: str, verb: str, model: str, files: Command, settings: Settings, seed: int = 0) -> Run | None:
        if model == "ivm":
            settings = settings | dict(self.args.gp_set)
        sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        running = ["--seed", str(seed), "--threads", str(self.args.threads), "--json"]
        command = [self.args.hedgerow, verb, "--model", model, *files, *sets, *running]
        found = self.measure(f"{label} {OURS} {model}", command)
        self.done = self.done and found is not None
        return found

    def peer(self, label: str, script: str, *options: str | Path, threads: int | None = None) -> Run | None:
        command = [sys.executable, PEER_SCRIPTS / script, *options, "--threads", str(threads or self.args.threads)]
        return self.measure(f"{label} {script.removesuffix('.py')}", command)

    def files(self, name: str) -> Command:
        """How hedgerow reads a data set."""
        dataset = DATASETS[name]
        train, test = dataset.files(self.args.data)
        return [train, *dataset.target_args(), *dataset.read_args, "--test", test]

    def make(self, *command: str | Path) -> None:
        """Makes files, in a process of its own because it reads arrays."""
        subprocess.run([sys.executable, HERE / "gp_sets.py", *command], check=True)

    def there(self, name: str) -> bool:
        return name in self.sets and self.ready(DATASETS[name])

    def repeats(self) -> range:
        return range(self.args.repeats or (1 if self.args.quick else 3))

    # The tables. Each gives its lines, or none if there is nothing to run.

    def label_regression(self) -> list[str]:
        if not self.there("usps"):
            return []
        run = self.ours("a", "fit", "gp", self.files("usps"), LABEL_REGRESSION)
        row = ["usps", "exact GP on ±1 labels", *quality([run]), *cost([run])]
        return lines(("data", "model", *QUALITY_COLUMNS, *COST_COLUMNS), [row], 2)

    def laplace(self) -> list[str]:
        """In turn with the peer, as the speed of a machine drifts."""
        if "usps" not in self.sets:
            return []
        binary = Binary(N_QUICK_BINARY_ROWS if self.args.quick else N_BINARY_ROWS)
        self.make("binary", str(binary.n_rows), "usps" if self.ready(USPS) else "generated")
        train, test = binary.files()
        files: Command = [train, "--target", "class", "--test", test]
        kernel = ["--length", str(BINARY_KERNEL["length_scale"]), "--variance", str(BINARY_KERNEL["signal_variance"])]
        ours: Runs = []
        theirs: Runs = []
        for repeat in self.repeats():
            ours.append(self.ours(f"b {repeat + 1}", "fit", "gp", files, LAPLACE | BINARY_KERNEL))
            if SKLEARN_GP in self.peers:
                measure = partial(self.peer, f"b {repeat + 1}", "sklearn_gp.py", binary.folder, *kernel)
                found = [measure(threads=threads) for threads in sorted({1, self.args.threads})]
                theirs.append(min((run for run in found if run), key=lambda run: run.fit, default=None))
        rows = [
            [
                name,
                show(middle(runs, lambda run: run.log_evidence), ",.4f"),
                *quality(runs),
                *cost(runs),
                significant(ratio(theirs, runs, lambda run: run.fit)),
            ]
            for name, runs in ((SYSTEM_NAMES[OURS], ours), ("GaussianProcessClassifier", theirs))
        ]
        columns = ("system", "log evidence", *QUALITY_COLUMNS, *COST_COLUMNS, "fit ×")
        return [
            f"Two classes ({binary.kind()}), kernel given, logistic likelihood; medians of {len(self.repeats())}. "
            "× is how many times faster than scikit-learn, of which the faster of one thread and all counts.",
            "",
            *lines(columns, rows, 1),
        ]

    def ivm_usps(self) -> list[str]:
        if not self.there("usps"):
            return []
        rows = []
        for n_active in USPS_ACTIVE[: 1 if self.args.quick else None]:
            runs = [
                self.ours(f"c {n_active} {i + 1}", "fit", "ivm", self.files("usps"), {"n_active": n_active}, i)
                for i in self.repeats()
            ]
            kernels = " / ".join(dict.fromkeys(run.kernel for run in runs if run and run.kernel)) or "–"
            rows.append(["usps", kernels, str(n_active), *quality(runs), *cost(runs)])
        columns = ("data", "kernel found", "points a class", *QUALITY_COLUMNS, *COST_COLUMNS)
        return [
            f"The search for the kernel's parameters is part of fit. Medians of {len(self.repeats())} seeds.",
            "",
            *lines(columns, rows, 2),
        ]

    def ivm_mnist(self) -> list[str]:
        if not self.there("mnist"):
            return []
        args = self.args
        n_active = args.gp_active or (QUICK_MNIST_ACTIVE if args.quick else MNIST_ACTIVE)
        n_rows = args.gp_rows or (QUICK_MNIST_ROWS if args.quick else N_MNIST_ROWS)
        all_digits, zero = Digits(args.gp_classes, n_rows), Digits(2, n_rows)
        settings: Settings = {
            "n_active": n_active,
            "n_candidates": 0,
            "length_scale": args.gp_length,
            "signal_variance": args.gp_variance,
            "noise_variance": args.gp_noise,
            # numpy does not do it either.
            "refit": "false",
        }
        self.options += (
            f" --gp-active {n_active} --gp-rows {n_rows} --gp-classes {args.gp_classes} --gp-length {args.gp_length:g}"
            f" --gp-variance {args.gp_variance:g} --gp-noise {args.gp_noise:g}"
        )
        for digits in (all_digits, zero):
            if not digits.is_whole():
                self.make("mnist", args.data, str(digits.n_classes), str(n_rows))
        theirs: Runs = []
        if NUMPY_IVM in self.peers:
            kernel = ["--length", str(args.gp_length), "--variance", str(args.gp_variance)]
            noise = ["--noise", str(args.gp_noise)]
            options = [*all_digits.peer_args(), "--n-active", str(n_active), *kernel, *noise]
            theirs = [self.peer("d", "numpy_ivm.py", DATASETS["mnist"].cache, *options)]
        ours = [self.ours("d", "fit", "ivm", all_digits.fit_args(args.data), settings)]
        of_zero = [self.ours("d zero", "fit", "ivm", zero.fit_args(args.data), settings)]
        shown = (
            (SYSTEM_NAMES[OURS], ours, middle(of_zero, lambda run: run.accuracy)),
            ("numpy", theirs, middle(theirs, lambda run: run.first_class)),
        )
        rows = [
            [
                name,
                *quality(runs)[:1],
                show(is_zero, ".2f", 100),
                *quality(runs)[1:],
                *cost(runs),
                significant(ratio(theirs, runs, lambda run: run.fit)),
            ]
            for name, runs, is_zero in shown
        ]
        columns = ("system", QUALITY_COLUMNS[0], "0 or not %", *QUALITY_COLUMNS[1:], *COST_COLUMNS, "fit ×")
        joined = "" if args.gp_classes >= N_MNIST_CLASSES else f" (the digits from {args.gp_classes - 1} on are one)"
        return [
            f"MNIST, {n_rows:,} training rows, all of them candidates, {args.gp_classes} classes{joined}, {n_active} "
            f"points a class, kernel given: length scale {args.gp_length:g} on pixels from 0 to 1, variance "
            f"{args.gp_variance:g}, noise {args.gp_noise:g}. × is how many times faster than numpy.",
            "",
            *lines(columns, rows, 1),
            "",
            "*0 or not*: for Hedgerow, a fit of its own to two classes; for numpy, the machine of class 0. Hedgerow's "
            "probabilities are calibrated, which its time to fit includes; numpy's are only made to sum to 1.",
        ]

    def calibration(self) -> list[str]:
        rows = []
        for name in (name for name in CALIBRATION_SETS if self.there(name)):
            label, files = f"e {name}", self.files(name)
            found = [
                ("**Hedgerow IVM**", self.ours(label, "fit", "ivm", files, {"n_active": CALIBRATION_ACTIVE})),
                ("**Hedgerow forest**", self.ours(label, "fit", "forest", files, {"n_trees": N_TREES})),
            ]
            if SVM in self.peers:
                found.append(("SVM, RBF", self.peer(label, "sklearn_svm.py", DATASETS[name].cache)))
            rows += [[name, system, *quality([run]), *cost([run])] for system, run in found]
        if not rows:
            return []
        return [
            f"IVM: {CALIBRATION_ACTIVE} points a class. The search for parameters is part of fit, for IVM and SVM.",
            "",
            *lines(("data", "system", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 2),
        ]

    def online(self) -> list[str]:
        if not self.there("usps"):
            return []
        settings: Settings = {"n_active": STREAM_ACTIVE}
        at_once = self.ours("f at once", "fit", "ivm", self.files("usps"), settings)
        files = [*self.files("usps"), "--batches", str(N_BATCHES)]
        batches = self.ours("f batches", "stream", "ivm", files, settings)
        rows = []
        for learnt, run in (("at once", at_once), (f"in {N_BATCHES} batches", batches)):
            later = run.later_batches if run else ()
            seconds = [sum(later) / len(later), max(later), growth(later), later[-1] / later[0]] if later else [None] * 4
            total = run.fit if run else None
            rows.append(["usps", learnt, *quality([run]), significant(total), *map(significant, seconds)])
        span = f"batches {FIRST_BATCH} to {N_BATCHES}"
        columns = (
            "data", "learnt", *QUALITY_COLUMNS, "fit s", f"s a batch, mean of {span}", "the longest",
            "second half of these ÷ first half", f"batch {N_BATCHES} ÷ batch {FIRST_BATCH}",
        )  # fmt: skip
        note = "Machines are trained again two or three times in a batch, so single batches differ by a third."
        return [f"{STREAM_ACTIVE} points a class. {note}", "", *lines(columns, rows, 2)]


def growth(seconds: Sequence[float]) -> float:
    """How many times longer the second half takes than the first."""
    half = len(seconds) // 2
    return sum(seconds[-half:]) / sum(seconds[:half])


PARTS: dict[str, tuple[str, Callable[[GpBench], list[str]]]] = {
    "a": ("exact GP, label regression", GpBench.label_regression),
    "b": ("Laplace beside scikit-learn's", GpBench.laplace),
    "c": ("IVM on USPS, search included", GpBench.ivm_usps),
    "d": ("IVM on MNIST beside numpy", GpBench.ivm_mnist),
    "e": ("probabilities of IVM, forest and SVM", GpBench.calibration),
    "f": ("IVM online", GpBench.online),
}


def place(part: str) -> str:
    """Where a table stands in its document."""
    return f"gp-{part}"


PLACES = tuple(place(part) for part in PARTS)


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    """The tables as Markdown by their places, and whether Hedgerow gave a result each time."""
    bench = GpBench(args, sets, peers)
    versions = [machine.package(name) for name in ("scikit-learn", "numpy", "scipy")]
    texts = {}
    for part in args.gp_only or PARTS:
        title, table = PARTS[part]
        bench.commands, bench.notes, bench.n_results = [], [], 0
        bench.options = " --quick" if args.quick else ""
        header = machine.header(str(args.hedgerow), args.threads, versions)
        body = table(bench)
        if not body:
            say(f"no table {part}: its data were not asked for or are not there")
            continue
        bench.save()
        if bench.n_results == 0:
            say(f"no table {part}: nothing gave a result")  # what the document has is better than that
            continue
        commands = [f"bench/run.py --gp --gp-only {part}{bench.options}   # runs all of these:", *bench.commands]
        texts[place(part)] = section(f"({part}) {title}", header, body, commands, bench.notes)
    return texts, bench.done
