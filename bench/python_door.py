"""The table of the Python package: what it costs beside Rust, and how it stands beside scikit-learn, on MNIST."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import machine
from common import PEER_SCRIPTS, ROOT, Bench, Failed, run_json, say
from datasets import CACHE, DATASETS
from table import Goal, times

PLACE = "python"
SETS = QUICK_SETS = ("mnist",)
ET = "et"
PEERS = QUICK_PEERS = (ET,)


@dataclass
class Times:
    """What one program printed."""

    result: dict

    def brief(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.result.items())

    def best(self, name: str) -> float:
        value = self.result[name]
        return min(value) if isinstance(value, list) else value


class PythonBench(Bench):
    """Runs the same task from Rust, from Python and by scikit-learn."""

    results_file = CACHE / "results-python.json"

    def measure(self, label: str, command: list[str | Path]) -> Times | None:
        others = machine.OtherPrograms()
        found = self.attempt(label, partial(run_json, command), Times)
        if found is not None and (cores := others.cores()) > 0.2:
            self.note(f"{label}: other programs took {cores:.1f} cores meanwhile, so its times say little")
        return found


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


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    bench = PythonBench(args)
    mnist = DATASETS["mnist"]
    if "mnist" not in sets or not bench.ready(mnist):
        return {}, True
    try:
        install()
    except (subprocess.CalledProcessError, OSError, Failed) as error:
        say(f"no table of the Python package: {error}")
        return {}, False
    arrays, threads = CACHE / "mnist", ["--threads", str(args.threads)]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    rust = bench.measure("mnist rust", [target / "release" / "examples" / "in_memory", arrays, str(args.threads)])
    python = bench.measure("mnist python", [sys.executable, PEER_SCRIPTS / "python_hedgerow.py", arrays, *threads])
    peer = None
    if ET in peers:
        peer = bench.measure("mnist et", [sys.executable, PEER_SCRIPTS / "sklearn_forest.py", ET, arrays, *threads])
    bench.save()
    if rust is None or python is None:
        return {}, False
    header = machine.header(str(args.hedgerow), args.threads, [machine.package("scikit-learn")] if peers else [])
    return {PLACE: "\n".join([*header, "", *lines(rust, python, peer), "", *notes(bench)]) + "\n"}, True


def lines(rust: Times, python: Times, peer: Times | None) -> list[str]:
    told = python.result
    more = {name: python.best(name) / rust.best(name) - 1 for name in ("fit_seconds", "predict_seconds")}
    one_row = python.best("row_seconds") - rust.best("row_seconds")
    alone, together = told["rows_a_second"]
    copies = (told["added_bytes"] - told["model_bytes"]) / told["data_bytes"]
    table = [
        "| MNIST, 100 trees | Rust | Python |",
        "|---|---:|---:|",
        *(
            f"| {what} | {rust.best(name):.3f} s | {python.best(name):.3f} s |"
            for what, name in (("fit", "fit_seconds"), ("answer 10,000 rows", "predict_seconds"))
        ),
        f"| answer one row | {1e6 * rust.best('row_seconds'):.0f} µs | {1e6 * python.best('row_seconds'):.0f} µs |",
        f"| accuracy | {rust.result['accuracy']:.2%} | {told['accuracy']:.2%} |",
        "",
        "The best of 3 fits and 5 answers each; the middle one of 1,000 single rows. Rows are float32 in C order, and the"
        " fitted model keeps them to go on learning.",
        "",
    ]
    def share(value: float) -> str:
        return f"{value:.1%}"

    goals = [
        Goal("fit: more than through Rust", more["fit_seconds"], 0.05, False, share),
        Goal("answers: more than through Rust", more["predict_seconds"], 0.05, False, share),
        Goal("one row: more than through Rust, in µs", 1e6 * one_row, 50, False, "{:.1f}".format),
        Goal("memory beside data and model, in copies of the data", copies, 1.0, False, "{:.2f}".format),
        Goal("two threads of Python at once, beside one", together / alone, 1.7, True, times),
    ]
    for kind, took in told["seconds_to_stop"].items():
        goals.append(Goal(f"from Ctrl-C to the exception, {kind}, longest of 3, in s", max(took), 0.2, False, "{:.3f}".format))
    if peer is not None:
        fit, answer = (peer.result["seconds"][name] for name in ("fit", "predict"))
        goals += [
            Goal("fit against ExtraTrees", fit / python.best("fit_seconds"), 5.0, True, times),
            Goal("answers against ExtraTrees", answer / python.best("predict_seconds"), 2.0, True, times),
        ]
    return [*table, *(goal.line() for goal in goals)]


def notes(bench: PythonBench) -> list[str]:
    return [f"- {note}" for note in bench.notes]
