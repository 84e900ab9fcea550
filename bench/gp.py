"""The page of Gaussian processes and the Informative Vector Machine (IVM), beside numpy and scikit-learn.

Each section (a to f) can be run alone: `run.py --gp --gp-only d`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import machine
from common import HERE, Bench, Command, Part, Settings
from datasets import DATASETS, USPS
from forest import N_TREES, SYSTEM_NAMES
from gp_sets import N_MNIST_CLASSES, N_MNIST_ROWS, Binary, Digits
from page import Body, Claim, Page, Sections, Table, loss, percent, points, show, significant, table_of, times
from runs import COST_COLUMNS, OURS, QUALITY_COLUMNS, Run, Runs, cost, middle, quality, ratio

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
# Batches of a stream whose times are looked at, counted from 1: the first ones are small and find the kernel.
FIRST_BATCH = 5
LAST_TO_FIRST = f"batch {N_BATCHES} ÷ batch {FIRST_BATCH}"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    def setting(text: str) -> tuple[str, str]:
        name, is_given, value = text.partition("=")
        if not is_given:
            raise argparse.ArgumentTypeError(f"expected NAME=VALUE, got {text}")
        return name, value

    group = parser.add_argument_group("Gaussian processes")
    group.add_argument("--gp-set", type=setting, action="append", default=[], metavar="NAME=VALUE",
                       help="a parameter for every fit of Hedgerow's IVM, also against those below")  # fmt: skip
    group.add_argument("--gp-active", type=int, help=f"table d: active rows a class (default: {MNIST_ACTIVE})")
    group.add_argument("--gp-length", type=float, default=5.0, help="table d: length scale, on pixels from 0 to 1")
    group.add_argument("--gp-variance", type=float, default=30.0, help="table d: signal variance")
    group.add_argument("--gp-noise", type=float, default=1e-3, help="table d: noise variance")
    group.add_argument("--gp-rows", type=int, help=f"table d: training rows (default: {N_MNIST_ROWS})")
    group.add_argument("--gp-classes", type=int, default=N_MNIST_CLASSES,
                       help="table d: join the last digits, so that there are so many classes for both")  # fmt: skip


class GpBench(Bench):
    """Runs one section after the other and keeps what the systems report."""

    def begin(self) -> None:
        super().begin()
        self.versions = [machine.package(name) for name in ("scikit-learn", "numpy", "scipy")]

    def ours(self, label: str, verb: str, model: str, files: Command, settings: Settings, seed: int = 0) -> Run | None:
        more = dict(self.args.gp_set) if model == "ivm" else {}
        return super().ours(label, verb, model, files, {**settings, **more}, seed)

    def make(self, *command: str | Path) -> None:
        """Makes files, in a process of its own because it reads arrays."""
        subprocess.run([sys.executable, HERE / "gp_sets.py", *command], check=True)

    def repeats(self) -> range:
        return range(self.args.repeats or (1 if self.args.quick else 3))

    # The sections. Each gives its tables, or none if there is nothing to run.

    def label_regression(self) -> Body | None:
        if not self.there("usps"):
            return None
        run = self.ours("a", "fit", "gp", self.files("usps"), LABEL_REGRESSION)
        row = ["usps", "exact GP on ±1 labels", *quality([run]), *cost([run])]
        return Body([Table(("data", "model", *QUALITY_COLUMNS, *COST_COLUMNS), [row], 2)])

    def laplace(self) -> Body | None:
        """In turn with the peer, as the speed of a computer drifts."""
        if "usps" not in self.sets:
            return None
        binary = Binary(N_QUICK_BINARY_ROWS if self.args.quick else N_BINARY_ROWS)
        self.make("binary", str(binary.n_rows), "usps" if self.ready(USPS) else "generated")
        train, test = binary.files()
        files: Command = [train, "--target", "class", "--test", test]
        kernel = ["--length", BINARY_KERNEL["length_scale"], "--variance", BINARY_KERNEL["signal_variance"]]
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
        return Body(
            [Table(("system", "log evidence", *QUALITY_COLUMNS, *COST_COLUMNS, "fit ×"), rows, 1)],
            f"Two classes ({binary.kind()}), kernel given, logistic likelihood; medians of {len(self.repeats())}. × is "
            "how many times faster than scikit-learn, of which the faster of one thread and all counts.",
        )

    def ivm_usps(self) -> Body | None:
        if not self.there("usps"):
            return None
        rows = []
        for n_active in USPS_ACTIVE[: 1 if self.args.quick else None]:
            runs = [
                self.ours(f"c {n_active} {i + 1}", "fit", "ivm", self.files("usps"), {"n_active": n_active}, i)
                for i in self.repeats()
            ]
            kernels = " / ".join(dict.fromkeys(run.kernel for run in runs if run and run.kernel)) or "–"
            rows.append(["usps", str(n_active), kernels, *quality(runs), *cost(runs)])
        columns = ("data", "active rows a class", "hyper-parameters found", *QUALITY_COLUMNS, *COST_COLUMNS)
        text = f"The search for the hyper-parameters is part of fit. Medians of {len(self.repeats())} seeds."
        return Body([Table(columns, rows, 3)], text)

    def ivm_mnist(self) -> Body | None:
        if not self.there("mnist"):
            return None
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
        for digits in (all_digits, zero):
            if not digits.is_whole():
                self.make("mnist", args.data, str(digits.n_classes), str(n_rows))
        theirs: Runs = []
        if NUMPY_IVM in self.peers:
            kernel = ["--length", args.gp_length, "--variance", args.gp_variance, "--noise", args.gp_noise]
            options = [*all_digits.peer_args(), "--n-active", n_active, *kernel]
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
        return Body(
            [Table(columns, rows, 1)],
            f"MNIST, {n_rows:,} training rows, all of them candidates, {args.gp_classes} classes{joined}, {n_active} "
            f"active rows a class, kernel given: length scale {args.gp_length:g} on pixels from 0 to 1, signal variance "
            f"{args.gp_variance:g}, noise variance {args.gp_noise:g}. One run each. × is how many times faster than numpy.",
            "*0 or not*: for Hedgerow, a fit of its own to two classes; for numpy, the one-vs-rest classifier of class 0. "
            "Hedgerow's probabilities are calibrated, which its time to fit includes; numpy's are only made to sum to 1.",
        )

    def calibration(self) -> Body | None:
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
            return None
        return Body(
            [Table(("data", "system", *QUALITY_COLUMNS, *COST_COLUMNS), rows, 2)],
            f"IVM: {CALIBRATION_ACTIVE} active rows a class. The search for hyper-parameters is part of fit, for IVM and "
            "SVM. Both get the same prepared columns (`peers/rows.py`). One run each.",
        )

    def online(self) -> Body | None:
        if not self.there("usps"):
            return None
        settings: Settings = {"n_active": STREAM_ACTIVE}
        at_once = self.ours("f at once", "fit", "ivm", self.files("usps"), settings)
        files = [*self.files("usps"), "--batches", str(N_BATCHES)]
        batches = self.ours("f batches", "stream", "ivm", files, settings)
        rows = []
        for learnt, run in (("at once", at_once), (f"in {N_BATCHES} batches", batches)):
            later = run.batches[FIRST_BATCH - 1 :] if run else ()
            seconds = [sum(later) / len(later), max(later), growth(later), later[-1] / later[0]] if later else [None] * 4
            total = run.fit if run else None
            rows.append(["usps", learnt, *quality([run]), significant(total), *map(significant, seconds)])
        span = f"batches {FIRST_BATCH} to {N_BATCHES}"
        columns = (
            "data", "learnt", *QUALITY_COLUMNS, "fit s", f"s a batch, mean of {span}", "the longest",
            "second half of these ÷ first half", LAST_TO_FIRST,
        )  # fmt: skip
        text = (
            f"{STREAM_ACTIVE} active rows a class. One-vs-rest classifiers are trained again in some batches and not in "
            "others, so the times of single batches differ. One run each."
        )
        return Body([Table(columns, rows, 2)], text)


def growth(seconds: Sequence[float]) -> float:
    """How many times longer the second half takes than the first."""
    half = len(seconds) // 2
    return sum(seconds[-half:]) / sum(seconds[:half])


def claims(sections: Sections) -> list[Claim | str]:
    """What the Gaussian processes must show."""
    b, d, e, f = (table_of(sections, name) for name in "bdef")
    ours, theirs = (b.value("log evidence", system) for system in ("Hedgerow", "GaussianProcessClassifier"))
    apart = abs(ours - theirs) if ours is not None and theirs is not None else None
    found = [
        Claim("Laplace, log evidence apart from scikit-learn's", apart, 0.01, False, "{:.4f}".format, ("b",)),
        Claim("Laplace, fit against scikit-learn", b.value("fit ×", "Hedgerow"), 1, True, times, ("b",)),
        Claim("IVM on mnist, fit against numpy", d.value("fit ×", "Hedgerow"), 1, True, times, ("d",)),
        Claim("IVM on mnist, accuracy no less than numpy's", d.value("accuracy %", "Hedgerow"),
              d.value("accuracy %", "numpy"), True, percent, ("d",)),
    ]  # fmt: skip
    for name in CALIBRATION_SETS:
        for column, write in (("log-loss", loss), ("ECE", loss)):
            ivm, svm = (e.value(column, name, system) for system in ("Hedgerow IVM", "SVM, RBF"))
            found.append(Claim(f"{name}, {column} of the IVM no more than that of the SVM", ivm, svm, False, write, ("e",)))
        ivm, svm = (e.value("fit s", name, system) for system in ("Hedgerow IVM", "SVM, RBF"))
        faster = svm / ivm if ivm and svm else None
        found.append(Claim(f"{name}, fit of the IVM against that of the SVM", faster, 1, True, times, ("e",)))
    later = f.value("second half of these ÷ first half", "usps", in_batches := f"in {N_BATCHES} batches")
    once, batches = (f.value("accuracy %", "usps", learnt) for learnt in ("at once", in_batches))
    if None in (later, once, batches):
        return found
    online = f"usps, IVM {in_batches}: {points(batches - once)} of accuracy against one fit; later batches take {times(later)} as long."
    return [*found, online]


PARTS = {
    "a": Part("(a) exact GP, label regression", GpBench.label_regression),
    "b": Part("(b) Laplace beside scikit-learn's", GpBench.laplace),
    "c": Part("(c) IVM on USPS, search included", GpBench.ivm_usps),
    "d": Part("(d) IVM on MNIST beside numpy", GpBench.ivm_mnist),
    "e": Part("(e) probabilities of IVM, forest and SVM", GpBench.calibration),
    "f": Part("(f) IVM online", GpBench.online),
}
BENCH = GpBench
PAGE = Page("gp", "Benchmarks of Gaussian processes", (), tuple(PARTS), claims)
