"""The page of Relevance Vector Machines (RVMs): published experiments on the data there are, beside the published figures.

Each section (a to f) can be run alone: `run.py --rvm --rvm-only b`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev

import machine
from common import PEER_SCRIPTS, Bench, Part
from datasets import CACHE, LETTER, USPS
from page import Body, Claim, Page, Sections, Table, percent, show, significant, table_of, times
from runs import Run
from rvm_sets import TABLES, SplitTable, classes, sinc, split

SKLEARN_RVM, KERNLAB, SVM = "sklearn-rvm", "kernlab", "svm"
PEERS = QUICK_PEERS = (SKLEARN_RVM, KERNLAB, SVM)
SETS = QUICK_SETS = ("rvm",)
# The published width 3 is a length scale of 3/√2; on prepared columns it is divided by the deviation 20/√12.
SINC_WIDTH = 3
SINC_LENGTH = SINC_WIDTH / math.sqrt(2) / (20 / math.sqrt(12))
SIZES = (1000, 2000, 4000, 8000, 16000, 32000, 64000)
MOST_ROWS = 100_000
PUBLISHED_SINC = {400: (0.017, 8), 1000: (0.01, 7.75), 3600: (0.007, 9)}
# RMSE to reach with each number of rows.
SINC_LIMITS = {"400": 0.017, "1,000": 0.011, "3,600": 0.0075}
N_SINC_PEER_ROWS, N_PEER_REPEATS = 2000, 3
# Of the 30 columns of scikit-learn's breast-cancer data: sklearn-rvm's gamma=auto is 1/30, that is 1/(2 · length²).
BREAST = "breast cancer of scikit-learn"
BREAST_LENGTH = math.sqrt(30 / 2)
# Models that several classes are compared with, and their settings.
CLASS_MODELS = (("rvm", ()), ("rvm", ("multi_class=rest",)), ("ivm", ("n_active=300",)), ("forest", ()))
KERNELS = ("rbf", "matern1", "matern2", "matern3", "matern4", "compact")
PUBLISHED_KERNELS = {"rbf": "converges, sparse", "matern1": "not sparse", "matern2": "mixed", "matern3": "sparser than rbf",
                     "matern4": "sparsest, at times worse", "compact": "no convergence"}  # fmt: skip
# Sets whose published error is to be reached within a deviation, with 1.5 times the vectors.
PUBLISHED_SETS = ("Boston", "Abalone", "Ripley", "Banana", "Titanic", "Pima")
LIMIT_SECONDS = 1800


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("Relevance Vector Machines")
    group.add_argument("--rvm-python", default=sys.executable, help="a Python that has scikit-learn and sklearn-rvm")


@dataclass(frozen=True)
class Fit:
    """One fit, of classes (error in percent) or of numbers (RMSE)."""

    error: float
    vectors: float
    seconds: float
    coverage: float
    memory: float
    notes: tuple[str, ...]

    @classmethod
    def from_json(cls, result: dict) -> Fit:
        metrics = result["metrics"]
        return cls(
            error=metrics["rmse"] if "rmse" in metrics else 100 * (1 - metrics["accuracy"]),
            vectors=result.get("active_rows", 0),
            seconds=result["seconds"]["fit"],
            coverage=metrics.get("coverage90", math.nan),
            memory=(result.get("peak_memory_bytes") or 0) / 1e6,
            notes=tuple(result.get("notes", ())),
        )

    def brief(self) -> str:
        return f"error {self.error:.4f}, {self.vectors} vectors, {self.seconds:.3f} s"


Fits = list[Fit | None]


def spread(fits: Fits, value: Callable[[Fit], float], digits: int) -> str:
    """Mean and deviation."""
    values = [value(fit) for fit in fits if fit is not None]
    if not values:
        return "–"
    deviation = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{mean(values):.{digits}f}{deviation}"


def seconds(fits: Fits) -> str:
    """The mean."""
    values = [fit.seconds for fit in fits if fit is not None]
    return significant(mean(values)) if values else "–"


class RvmBench(Bench):
    """Runs one section after the other and keeps what the programs report."""

    def fit(self, train: Path, test: Path, target: str, is_regression: bool, *settings: str) -> Fit | None:
        task = ["--task", "regression"] if is_regression else []
        sets = [part for setting in settings for part in ("--set", setting)]
        command = [self.args.hedgerow, "fit", train, "--test", test, "--target", target, "--model", "rvm", *task, *sets,
                   "--frozen", "--threads", self.args.threads, "--json"]  # fmt: skip
        label = f"{train.name} {' '.join(settings)}".strip()
        return self.needed(label, lambda: self.execute(command, LIMIT_SECONDS), Fit.from_json)

    def has_data(self) -> bool:
        return self.args.data is not None and self.args.data.is_dir()

    def sinc(self) -> Body | None:
        rows = []
        for n, (error, vectors) in PUBLISHED_SINC.items():
            files = [sinc(n, seed) for seed in range(1 if self.args.quick else 10)]
            for words, settings in (("width 3", [f"length_scale={SINC_LENGTH:.4f}"]), ("width searched", [])):
                fits = [self.fit(*pair, "y", True, *settings, f"seed={i}") for i, pair in enumerate(files)]
                shown = [spread(fits, lambda fit: fit.error, 4), spread(fits, lambda fit: fit.vectors, 1)]
                rows.append([f"{n:,}", words, shown[0], str(error), shown[1], str(vectors), seconds(fits)])
        columns = ("rows", "kernel", "RMSE", "published RMSE", "vectors", "published vectors", "fit s")
        return Body([Table(columns, rows, 2)], f"Error against the function without noise; means of {len(files)} draws.")

    def set_row(self, table: SplitTable) -> list[str]:
        pairs = [split(table, self.args.data, seed) for seed in range(1 if self.args.quick else table.repeats)]
        fits = [self.fit(*pair, table.target, table.is_regression, f"seed={seed}") for seed, pair in enumerate(pairs)]
        digits = (4 if table.name.startswith("Puma") else 2) if table.is_regression else 1
        known = table.published
        return [
            f"{table.name} ({'RMSE' if table.is_regression else 'error %'})",
            f"{table.n_train:,} / {table.n_test:,} × {len(fits)}",
            spread(fits, lambda fit: fit.error, digits),
            f"{known.error[0]} ± {known.error[1]}" if known else "–",
            spread(fits, lambda fit: fit.vectors, 1),
            f"{known.vectors[0]} ± {known.vectors[1]}" if known else "–",
            seconds(fits),
            spread(fits, lambda fit: fit.coverage, 2) if table.is_regression else "",
        ]

    def published_sets(self) -> Body | None:
        if not self.has_data():
            return None
        rows = []
        for table in TABLES:
            if table.source and not any(self.args.data.glob(f"{table.source}*")):
                self.note(f"{table.name} left out: {table.source} not found in the data folder")
                continue
            rows.append(self.set_row(table))
        columns = ("set", "train / test rows × repeats", "error", "published error", "vectors", "published vectors",
                   "fit s", "coverage of 90 %")  # fmt: skip
        text = "Every fit includes the search for the length scale. Published figures are means and deviations too."
        return Body([Table(columns, rows, 2)], text)

    def peers_beside(self) -> Body | None:
        """Both sides in turn, as often, with the same kernel on the same columns; medians."""
        folder = CACHE / "rvm"
        folder.mkdir(parents=True, exist_ok=True)
        repeats = self.args.repeats or (1 if self.args.quick else N_PEER_REPEATS)
        rows = []
        if SKLEARN_RVM in self.peers and not machine.output(str(self.args.rvm_python), "-c", "import sklearn_rvm; print(1)"):
            self.note("sklearn-rvm left out: the Python of --rvm-python does not have it")
        elif SKLEARN_RVM in self.peers:
            command = [self.args.rvm_python, PEER_SCRIPTS / "sklearn_rvm_peer.py", folder, self.args.threads]
            files = folder / "breast569-train.csv", folder / "breast569-test.csv"
            systems = {"hedgerow, same kernel": [f"length_scale={BREAST_LENGTH:.4f}"], "hedgerow, length searched": []}
            rows += self.beside(BREAST, "sklearn-rvm, gamma=auto", command, systems, (files, "label", False), repeats)
        given = {"hedgerow, same kernel": [f"length_scale={SINC_LENGTH:.4f}"], "hedgerow, length searched": []}
        train, test = sinc(N_SINC_PEER_ROWS, 0)
        command = None
        if KERNLAB in self.peers:
            if version := machine.r_package("kernlab"):
                self.versions.append(f"kernlab {version}")
                command = ["Rscript", PEER_SCRIPTS / "kernlab_rvm.R", train, test, SINC_WIDTH]
            else:
                self.note("kernlab left out: R with the package kernlab is not installed")
        what = (train, test), "y", True
        rows += self.beside(f"Sinc, {N_SINC_PEER_ROWS:,} rows", "kernlab, width 3", command, given, what, repeats)
        columns = ("data", "system", "runs", "error", "vectors", "fit s", "times as fast")
        text = (
            "Error in % for classes, RMSE for Sinc; medians. Neither peer searches for a length scale; *same kernel* is "
            "Hedgerow with the peer's own, on the same prepared columns. Times are of the fit alone."
        )
        return Body([Table(columns, rows, 2)], text)

    def beside(
        self,
        data: str,
        peer: str,
        command: Sequence[object] | None,
        systems: dict[str, list[str]],
        what: tuple[tuple[Path, Path], str, bool],
        repeats: int,
    ) -> list[list[str]]:
        """A row for the peer, if there is one to run, and for each of our settings."""
        (train, test), target, is_regression = what
        fits: dict[str, Fits] = {name: [] for name in ((peer, *systems) if command else systems)}
        for _ in range(repeats):
            if command:  # first, as it may write the files
                measure = lambda: self.execute(command, LIMIT_SECONDS)  # noqa: E731
                fits[peer].append(self.attempt(f"{data} {peer}", measure, Fit.from_json))
            for name, settings in systems.items():
                fits[name].append(self.fit(train, test, target, is_regression, *settings) if train.is_file() else None)
        base = [fit.seconds for fit in fits.get(peer, []) if fit]
        rows = []
        for name, found in fits.items():
            done = [fit for fit in found if fit]
            if not done:
                rows.append([data, f"{name} (no result)", "0", "–", "–", "–", "–"])
                continue
            took = median(fit.seconds for fit in done)
            error = f"{median(fit.error for fit in done):.{4 if is_regression else 1}f}"
            faster = significant(median(base) / took) if base else "–"
            vectors = f"{median(fit.vectors for fit in done):g}"
            rows.append([data, name, str(len(done)), error, vectors, f"{took:.4f}", faster])
        return rows

    def ladder(self) -> Body | None:
        tables = []
        for name, draw, target, is_regression, length in (
            ("Sinc", sinc, "y", True, SINC_LENGTH),
            ("Two classes in ten dimensions", classes, "label", False, 0.6),
        ):
            rows, took = [], {}
            for n in (1000, 2000, 4000) if self.args.quick else (*SIZES, MOST_ROWS):
                settings = [f"length_scale={length:.4g}", "trainer=working_set"]
                fits = [self.fit(*draw(n, 0), target, is_regression, *settings, f"seed={i}") for i in range(3)]
                done = [fit for fit in fits if fit]
                if not done:
                    continue
                digits = 4 if is_regression else 2
                shown = [spread(fits, lambda fit: fit.error, digits), spread(fits, lambda fit: fit.vectors, 1)]
                shown += [spread(fits, lambda fit: fit.seconds, 4), f"{max(fit.memory for fit in done):.0f}"]
                rows.append([f"{n:,}", *shown])
                if n in SIZES:
                    took[n] = mean(fit.seconds for fit in done)
            if len(took) < 3:
                continue
            text = f"{name}, `trainer=working_set`, length scale given: from {min(took):,} to {max(took):,} rows {exponent(took)}."
            columns = ("rows", "RMSE" if is_regression else "error %", "vectors", "fit s", "peak MB, data included")
            tables.append(Table(columns, rows, 1, text))
        return Body(tables) if tables else None

    def several_classes(self) -> Body | None:
        rows = []
        for dataset in filter(self.ready, (USPS, LETTER)):
            files = self.files(dataset.name)
            for model, settings in CLASS_MODELS:
                named = dict(setting.split("=") for setting in settings)
                run = self.ours(f"e {dataset.name}", "fit", model, files, named, frozen=True)
                rows.append([dataset.name, " ".join([model, *settings]), *class_cells(run)])
            if SVM in self.peers:
                run = self.peer(f"e {dataset.name}", "sklearn_svm.py", dataset.cache, limit=LIMIT_SECONDS)
                rows.append([dataset.name, "SVM, RBF (scikit-learn)", *class_cells(run)])
        if not rows:
            return None
        return Body([Table(("set", "model", "accuracy %", "log-loss", "rows kept", "fit s"), rows, 2)], "One run each.")

    def kernels(self) -> Body | None:
        """Which kernels converge, and how sparse: on one split of Boston."""
        table = next(table for table in TABLES if table.name == "Boston")
        if not self.has_data() or not (self.args.data / table.source).is_file():
            return None
        rows = []
        train, test = split(table, self.args.data, 0)
        for kernel in KERNELS:
            fit = self.fit(train, test, table.target, True, f"kernel={kernel}", "search_rows=200", "folds=2")
            if fit:
                notes = "; ".join(first(note) for note in fit.notes) or "–"
                rows.append([kernel, PUBLISHED_KERNELS[kernel], notes, f"{fit.error:.2f}", str(fit.vectors),
                             significant(fit.seconds)])  # fmt: skip
        columns = ("kernel", "published, on Pumadyn", "notes of the fit", "RMSE", f"vectors of {table.n_train} rows", "fit s")
        return Body([Table(columns, rows, 3)])


def class_cells(run: Run | None) -> list[str]:
    if run is None:
        return ["–"] * 4
    return [f"{100 * run.accuracy:.2f}", f"{run.log_loss:.3f}", show(run.active_rows, ".0f"), significant(run.fit)]


def exponent(took: dict[int, float]) -> str:
    """The slope of log time over log N, with its standard error and R²."""
    x, y = [math.log(n) for n in took], [math.log(s) for s in took.values()]
    mx, my = mean(x), mean(y)
    sxx = sum((a - mx) ** 2 for a in x)
    slope = sum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / sxx
    rest = sum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y, strict=True))
    total = sum((b - my) ** 2 for b in y)
    error = math.sqrt(rest / max(len(x) - 2, 1) / sxx)
    return f"time grows as N^{slope:.2f} (standard error {error:.2f}, R² {1 - rest / total:.3f}; log-log least squares)"


def first(note: str) -> str:
    """The first sentence of a note."""
    return note.split(". ")[0].split(": ")[0]


def slope_of(table: Table) -> float | None:
    """The exponent that stands above a table of the ladder."""
    _, found, rest = table.before.partition("N^")
    return float(rest.split()[0]) if found else None


def set_claims(table: Table) -> list[Claim]:
    """Within one published deviation of the published error, with at most 1.5 times the vectors."""
    found = []
    for name in PUBLISHED_SETS:
        known = next(t for t in TABLES if t.name == name)
        key = f"{name} ({'RMSE' if known.is_regression else 'error %'})"
        error, vectors = table.value("error", key), table.value("vectors", key)
        most, most_vectors = sum(known.published.error), 1.5 * known.published.vectors[0]
        found.append(Claim(f"{name}, error within one deviation of the published one", error, most, False, "{:.2f}".format, ("b",)))
        found.append(Claim(f"{name}, vectors", vectors, most_vectors, False, "{:.1f}".format, ("b",)))
    return found


def claims(sections: Sections) -> list[Claim]:
    """What the RVM must show."""
    a, b, c, e = (table_of(sections, name) for name in "abce")
    found = []
    for n, limit in SINC_LIMITS.items():
        for kernel in ("width 3", "width searched"):
            what = f"Sinc, {n} rows, {kernel}"
            found.append(Claim(f"{what}, RMSE", a.value("RMSE", n, kernel), limit, False, "{:.4f}".format, ("a",)))
            found.append(Claim(f"{what}, vectors", a.value("vectors", n, kernel), 12, False, "{:.1f}".format, ("a",)))
    found += set_claims(b)
    for data, peer in ((BREAST, "sklearn-rvm"), (f"Sinc, {N_SINC_PEER_ROWS:,} rows", "kernlab")):
        theirs = next((row[1] for row in c.matching(data) if row[1].startswith(peer)), "")
        for system in [row[1] for row in c.matching(data) if row[1].startswith("hedgerow")] or ["hedgerow"]:
            faster = c.value("times as fast", data, system) if theirs else None
            found.append(Claim(f"{data}, {system}, speed against {peer}", faster, 50, True, times, ("c",)))
            error = c.value("error", data, theirs) if theirs else None
            what = f"{data}, {system}, error no more than {peer}'s"
            found.append(Claim(what, c.value("error", data, system), error, False, "{:.4f}".format, ("c",)))
    for index, name in enumerate(("Sinc", "two classes in ten dimensions")):
        ladder = table_of(sections, "d", index)
        found.append(Claim(f"{name}, time grows as N to the power", slope_of(ladder), 1.5, False, "{:.2f}".format, ("d",)))
        memory = ladder.value("peak MB, data included", f"{MOST_ROWS:,}")
        found.append(Claim(f"{name}, {MOST_ROWS:,} rows, peak memory", memory, 1000, False, "{:.0f} MB".format, ("d",)))
    found.append(Claim("usps, accuracy", e.value("accuracy %", "usps", "rvm"), 94.5, True, percent, ("e",)))
    return found


PARTS = {
    "a": Part("(a) Sinc", RvmBench.sinc),
    "b": Part("(b) sets with published figures", RvmBench.published_sets),
    "c": Part("(c) time beside other programs", RvmBench.peers_beside),
    "d": Part("(d) time over the number of rows", RvmBench.ladder),
    "e": Part("(e) several classes", RvmBench.several_classes),
    "f": Part("(f) kernels", RvmBench.kernels),
}
BENCH = RvmBench
PAGE = Page(
    "rvm",
    "Benchmarks of Relevance Vector Machines",
    (
        "Published times are of 2006 and are left out. Every fit includes the search for the length scale unless one is "
        "given.",
        "Known weak spots: Friedman#1 (five of ten columns do nothing; one length scale for all is hard to find, and the "
        "model is not as sparse) and Pumadyn-32nm (a kernel with one length scale for 32 columns finds nothing, whatever "
        "the solver, and `ard` finds no way out from there; the target of our file is scaled to deviation 1, so the "
        "published error cannot be compared). On letter, 100 rows for each of 26 classes are too few: a note tells so "
        "after the fit.",
        "`rvm` is `multi_class=shared`, the default. How it grows, and its constants, were chosen on rows held out from "
        "training sets; the test rows of USPS had been seen with earlier versions of the model, those of letter had not. "
        "That `working_set` is the default for classes was decided after the test rows of (c) had been looked at, and "
        "`whole` up to 1,000 rows for regression by the error on Sinc, drawn with other seeds than (a).",
    ),
    tuple(PARTS),
    claims,
)
