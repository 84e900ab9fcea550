"""The page of the Python package: what it costs beside Rust, and how it stands beside scikit-learn, on MNIST.

The three are treated alike: each fits and predicts as often in one process, the first time of each is warm-up and does
not count, and the median of the rest does.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import machine
from common import PEER_SCRIPTS, Bench, Failed, Part
from datasets import CACHE, DATASETS
from page import ROOT, Body, Claim, Page, Sections, Table, show, table_of, times

SETS = QUICK_SETS = ("mnist",)
ET = "et"
PEERS = QUICK_PEERS = (ET,)
# Also written in crates/hedgerow/examples/in_memory.rs; what a program reports is compared with these.
N_FITS, N_PREDICTIONS, N_SINGLE_ROWS = 3, 5, 1000
SYSTEMS = ("Rust", "Python", "scikit-learn")
FIT, PREDICT, ONE_ROW = "fit s", "predict 10,000 rows s", "predict one row µs"


@dataclass(frozen=True)
class Times:
    """What one program printed."""

    result: dict

    @classmethod
    def from_json(cls, result: dict) -> Times:
        """Fails if something that the tables need is missing."""
        found = cls(result)
        found.fit, found.predict, found.one_row, result["accuracy"]  # noqa: B018
        return found

    def brief(self) -> str:
        return f"fit {self.fit:.3f} s, predict {self.predict:.4f} s, one row {1e6 * self.one_row:.1f} µs"

    def middle(self, name: str, n_times: int) -> float:
        """The median, without the first, which is warm-up. All programs must have measured as often."""
        values = self.result[name]
        if len(values) != n_times:
            raise Failed(f"{name}: expected {n_times} times, got {len(values)}")
        return median(values[1:])

    @property
    def fit(self) -> float:
        return self.middle("fit_seconds", N_FITS)

    @property
    def predict(self) -> float:
        return self.middle("predict_seconds", N_PREDICTIONS)

    @property
    def one_row(self) -> float:
        return self.result["row_seconds"]


def install() -> None:
    """Builds the wheel and installs it here, and builds the program in Rust that it is compared with."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "maturin>=1.9,<2"], check=True)
    wheels = CACHE / "wheels"
    for old in wheels.glob("*.whl"):
        old.unlink()
    build = [sys.executable, "-m", "maturin", "build", "--release", "--quiet"]
    subprocess.run([*build, "--manifest-path", ROOT / "python" / "Cargo.toml", "--out", wheels], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", *wheels.glob("*.whl")], check=True)
    example = ["cargo", "build", "--release", "--quiet", "--package", "hedgerow", "--example", "in_memory"]
    subprocess.run(example, cwd=ROOT, check=True)


class PythonBench(Bench):
    """Runs the same task from Rust, from Python and by scikit-learn."""

    def run(self, label: str, command: Sequence[object]) -> Times | None:
        return self.attempt(label, partial(self.execute, command), Times.from_json)

    def programs(self, arrays: Path) -> list[Times | None]:
        """What each of the systems reports, in their order."""
        threads = ["--threads", self.args.threads]
        example = self.args.target / "release" / "examples" / "in_memory"
        rust = self.run("rust", [example, arrays, self.args.threads])
        python = self.run("python", [sys.executable, PEER_SCRIPTS / "python_hedgerow.py", arrays, *threads])
        peer = None
        if ET in self.peers:
            counts = ["--fits", N_FITS, "--predictions", N_PREDICTIONS, "--single-rows", N_SINGLE_ROWS]
            script = PEER_SCRIPTS / "sklearn_forest.py"
            peer = self.run("et", [sys.executable, script, ET, arrays, *threads, *counts])
        self.done = rust is not None and python is not None
        return [rust, python, peer]

    def package(self) -> Body | None:
        if not self.there("mnist"):
            return None
        try:
            install()
        except (subprocess.CalledProcessError, OSError, Failed) as error:
            self.note(f"the Python package could not be built: {error}")
            self.done = False
            return None
        self.versions = [machine.package("scikit-learn")]
        found = self.programs(DATASETS["mnist"].cache)
        if not self.done:
            return None
        return Body(
            [main_table(found), more_table(found[1].result)],
            f"MNIST, 100 trees; scikit-learn's are ExtraTrees. Each program makes {N_FITS} fits and {N_PREDICTIONS} times "
            "predictions for all test rows in one process; the first of each does not count, and the median of the rest "
            f"is shown. One row: the median of {N_SINGLE_ROWS:,} rows, one at a time. Rows are float32 in C order; the "
            "fitted model of Hedgerow retains them to go on learning.",
        )


def main_table(found: list[Times | None]) -> Table:
    def cells(what: str, style: str, scale: float = 1.0) -> list[str]:
        return [show(getattr(times, what) if times else None, style, scale) for times in found]

    accuracy = [show(times.result["accuracy"] if times else None, ".2f", 100) for times in found]
    rows = [
        [FIT, *cells("fit", ".3f")],
        [PREDICT, *cells("predict", ".4f")],
        [ONE_ROW, *cells("one_row", ".1f", 1e6)],
        ["accuracy %", *accuracy],
    ]
    return Table(("", *SYSTEMS), rows, 1)


def more_table(told: dict) -> Table:
    """What only the Python package is asked."""
    alone, together = told["rows_a_second"]
    copies = (told["added_bytes"] - told["model_bytes"]) / told["data_bytes"]
    rows = [
        ["memory beside data and model, in copies of the data", f"{copies:.2f}"],
        ["two threads of Python at once, rows/s beside one", f"{together / alone:.2f}"],
        *([f"from Ctrl-C to the exception, {kind}, longest of {len(took)}, s", f"{max(took):.3f}"]
          for kind, took in told["seconds_to_stop"].items()),
    ]  # fmt: skip
    return Table(("the Python package", "found"), rows, 1)


def claims(sections: Sections) -> list[Claim]:
    """What the Python package must show."""
    main, more = table_of(sections, "python"), table_of(sections, "python", 1)
    found = []
    for what in (FIT, PREDICT):
        rust, python = (main.value(system, what) for system in ("Rust", "Python"))
        share = 100 * (python / rust - 1) if rust and python else None
        found.append(Claim(f"{what}: more than in Rust", share, 5, False, "{:.1f} %".format))
    rust, python = (main.value(system, ONE_ROW) for system in ("Rust", "Python"))
    added = python - rust if rust and python else None
    found.append(Claim(f"{ONE_ROW}: more than in Rust", added, 50, False, "{:.1f}".format))
    for row in more.rows:
        limit, at_least = (0.2, False) if "Ctrl-C" in row[0] else (1.7, True) if "threads" in row[0] else (1.0, False)
        found.append(Claim(row[0], more.value("found", row[0]), limit, at_least, "{:.3f}".format))
    for what, least in ((FIT, 5), (PREDICT, 2)):
        python, peer = (main.value(system, what) for system in ("Python", "scikit-learn"))
        faster = peer / python if python and peer else None
        found.append(Claim(f"{what}: Python against ExtraTrees", faster, least, True, times))
    return found


PARTS = {"python": Part("The Python package on MNIST", PythonBench.package)}
BENCH = PythonBench
PAGE = Page("python", "Benchmarks of the Python package", (), tuple(PARTS), claims)
