"""The tables of the engine: training in slices, with its own choices side by side, and beside a fit.

Each table is run and written on its own: `run.py --engine --engine-only b`. Table a runs `hedgerow train` on MNIST with
the weakest job first, with the largest gain first and with each in its turn, and writes a CSV file for each run and one
picture of all curves (SVG) to `--engine-out`. See README.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import machine
from common import ROOT, Bench, Failed, names_of, run_json, say
from datasets import CACHE
from gp_table import lines, section

PEERS = QUICK_PEERS = ()
SETS = ("mnist", "usps")
QUICK_SETS = ("usps",)
POLICIES = ("weakest", "gain", "round-robin")
COLORS = {"weakest": "#c2410c", "gain": "#15803d", "round-robin": "#1d4ed8"}
WIDTH, HEIGHT, EDGE = 720, 420, 56
FILES = {
    "mnist": ("mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz"),
    "usps": ("usps/zip.train.gz", "usps/zip.test.gz"),
}
# What USPS's files are read as.
READING = {"mnist": (), "usps": ("--format", "txt", "--target", "0", "--no-header")}
KINDS = ("forest", "ivm", "leaf-gp", "forest-ivm", "forest-kernel")
# What answers are timed of while they train: fewer active rows, so that there is a machine soon.
LATENCY_KINDS = ("forest", "ivm", "forest-ivm n_active=100", "forest-ivm n_active=100 combine=route")
# A fit of forest-ivm takes many times as long as all others together.
FITTED = ("forest", "ivm", "leaf-gp")


@dataclass(frozen=True)
class Run:
    """One run of one policy: seconds and macro accuracy on the test rows of each snapshot."""

    policy: str
    seed: int
    points: list[tuple[float, float]]
    final: float
    stop: str

    def area(self, seconds: float) -> float:
        """The mean accuracy over the whole time; before there is a model it is 0."""
        ends = [time for time, _ in self.points[1:]] + [seconds]
        parts = ((max(0.0, end - start), value) for (start, value), end in zip(self.points, ends, strict=True))
        return sum(length * value for length, value in parts) / seconds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the engine")
    listed = "; ".join(f"{name}: {title}" for name, (title, _) in PARTS.items())
    group.add_argument("--engine-only", type=names_of(PARTS), help=f"only these tables, such as a,b; {listed}")
    group.add_argument("--engine-seconds", type=float, default=60, help="how long each run of table a trains")
    group.add_argument("--engine-model", default="ivm", choices=KINDS, help="the model of table a")
    group.add_argument("--engine-set", action="append", help="its parameters (default: n_active=400)")
    group.add_argument("--engine-seeds", default="1,2", help="such as 1,2,3")
    group.add_argument("--engine-latency-seconds", type=float, default=24, help="how long each run of table c asks")
    group.add_argument("--engine-latency-rows", type=int, help="rows that table c trains with (default: all)")
    folder = ROOT / "out" / "trainer"
    group.add_argument("--engine-out", type=Path, default=folder, help="folder for curves and picture")


class EngineBench(Bench):
    """Runs one table after the other and keeps what the program reports."""

    results_file = CACHE / "results-engine.json"

    def __init__(self, args: argparse.Namespace, sets: list[str]) -> None:
        super().__init__(args)
        self.sets = sets
        self.commands: list[str] = []
        self.n_results = 0
        self.done = True

    def files(self, name: str) -> list[str | Path] | None:
        """Data, test data and how to read them; none if the set is not asked for or not there."""
        if name not in self.sets or self.args.data is None:
            return None
        train, test = (self.args.data / file for file in FILES[name])
        if not (train.is_file() and test.is_file()):
            self.note(f"{name}: not there")
            return None
        return [train, "--test", test, *READING[name]]

    def ours(self, verb: str, files: list[str | Path], *options: str | Path | float) -> dict | None:
        always = ("--threads", self.args.threads, "--frozen", "--json")
        command = [str(part) for part in (self.args.hedgerow, verb, *files, *always, *options)]
        shown = " ".join(["hedgerow", *command[1:]])
        self.commands.append(shown.replace(str(self.args.data), "$HEDGEROW_DATA").replace(f"{ROOT}/", ""))
        try:
            result = run_json(command, 3600)
        except Failed as error:
            self.note(f"{verb} {' '.join(str(option) for option in options)}: no result, {error}")
            self.done = False
            return None
        self.raw.append(result)
        self.n_results += 1
        return result

    def policies(self) -> list[str]:
        args = self.args
        files = self.files("mnist")
        if files is None:
            return []
        args.engine_out.mkdir(parents=True, exist_ok=True)
        settings = [part for setting in args.engine_set or ["n_active=400"] for part in ("--set", setting)]
        runs: list[Run] = []
        for seed in (int(seed) for seed in args.engine_seeds.split(",")):
            # In turn, so that a machine that changes its speed does so to both.
            for policy in POLICIES:
                curve = args.engine_out / f"{args.engine_model}-{policy}-{seed}.csv"
                options = ("--model", args.engine_model, "--policy", policy, "--seed", seed)
                limits = ("--max-seconds", args.engine_seconds, "--curve", curve)
                result = self.ours("train", files, *options, *limits, *settings)
                if result is None:
                    continue
                with curve.open() as file:
                    found = list(csv.DictReader(file))
                points = [(float(row["seconds"]), float(row["test_macro_accuracy"])) for row in found]
                runs.append(Run(policy, seed, points, result["metrics"]["balanced_accuracy"], result["stop"]))
                say(f"{policy}, seed {seed}: {100 * runs[-1].final:.2f} % at the end ({runs[-1].stop})")
        (args.engine_out / f"{args.engine_model}.svg").write_text(picture(runs, args.engine_seconds))
        rows = []
        for run in runs:
            mean = f"{100 * run.area(args.engine_seconds):.2f} %"
            rows.append([run.policy, str(run.seed), str(len(run.points)), f"{100 * run.final:.2f} %", mean, run.stop])
        columns = ("policy", "seed", "snapshots", "final macro accuracy", "mean over the time", "ended by")
        return [f"{args.engine_model} on MNIST's test rows, {args.engine_seconds:.0f} s.", "", *lines(columns, rows, 1)]

    def beside_fits(self) -> list[str]:
        rows = []
        for name in self.sets:
            files = self.files(name)
            for kind in FITTED if files else ():
                for verb in ("fit", "train"):
                    found = self.ours(verb, files, "--model", kind, "--seed", 1)
                    if found:
                        accuracy, loss = found["metrics"]["accuracy"], found["metrics"]["log_loss"]
                        figures = [f"{100 * accuracy:.2f}", f"{loss:.4f}", f"{found['seconds']['fit']:.1f}"]
                        rows.append([name, kind, verb, *figures])
        columns = ("set", "model", "how", "accuracy %", "log-loss", "training s")
        text = (
            "Trained to the end, defaults, seed 1, judged on the test rows. "
            "In slices a part of the rows (2,000 at most) judges and is not learnt."
        )
        return [text, "", *lines(columns, rows, 3)] if rows else []


    def latency(self) -> list[str]:
        """One row at a time, asked of an idle engine and of one that trains."""
        program = self.args.hedgerow.parent / "examples" / "latency"
        if self.files("mnist") is None:
            return []
        if not program.is_file():
            self.note("no latency: build it first, with `cargo build --release -p hedgerow --example latency`")
            return []
        rows = []
        for kind in LATENCY_KINDS:
            for way in ("gives-way", "eager"):
                command = [program, *kind.split(), self.args.engine_latency_seconds, way]
                if self.args.engine_latency_rows:
                    command.append(f"rows={self.args.engine_latency_rows}")
                shown = " ".join(str(part) for part in ("cargo run --release --example latency --", *command[1:]))
                self.commands.append(shown)
                try:
                    found = run_json([*command, "json"], 3600, {"HEDGEROW_DATA": str(self.args.data)})
                except Failed as error:
                    self.note(f"{kind}, {way}: no result, {error}")
                    self.done = False
                    continue
                self.raw.append(found)
                self.n_results += 1
                if not found["is_whole"]:
                    self.note(f"{kind}, {way}: it had not all of its parts when it was asked")
                if not found["still_training"]:
                    self.note(f"{kind}, {way}: training ended before all was asked")
                times = [" / ".join(f"{value:.1f}" for value in found[when]) for when in ("idle", "training", "snapshot")]
                rows.append([kind, way, *times, f"{found['ratio']:.2f}"])
        of = "p50 / p99 / p99.9"
        columns = ("model", "training threads", f"idle {of}", f"training {of}", f"taking a snapshot {of}", "p99, training / idle")
        text = (
            f"One row of MNIST at a time from a published snapshot, {self.args.engine_latency_seconds / 2:.0f} s while the engine trains "
            "on all cores and as long while it is idle; microseconds. The goal is a ratio of 2 at most."
        )
        return [text, "", *lines(columns, rows, 2)] if rows else []


PARTS: dict[str, tuple[str, Callable[[EngineBench], list[str]]]] = {
    "a": ("which job is next", EngineBench.policies),
    "b": ("trained in slices beside a fit", EngineBench.beside_fits),
    "c": ("answers while it trains", EngineBench.latency),
}


def place(part: str) -> str:
    """Where a table stands in its document."""
    return f"engine-{part}"


PLACES = tuple(place(part) for part in PARTS)


def run(args: argparse.Namespace, sets: list[str], _peers: list[str]) -> tuple[dict[str, str], bool]:
    """The tables as Markdown by their places, and whether Hedgerow gave a result each time."""
    bench = EngineBench(args, sets)
    texts = {}
    for part in args.engine_only or PARTS:
        title, table = PARTS[part]
        bench.commands, bench.notes, bench.n_results = [], [], 0
        header = machine.header(str(args.hedgerow), args.threads, [])
        body = table(bench)
        if not body or bench.n_results == 0:
            say(f"no table {part}: its data were not asked for or are not there, or nothing gave a result")
            continue
        bench.save()
        commands = [f"bench/run.py --engine --engine-only {part}   # runs all of these:", *bench.commands]
        texts[place(part)] = section(f"({part}) {title}", header, body, commands, bench.notes)
    return texts, bench.done


def picture(runs: list[Run], seconds: float) -> str:
    """All curves as an SVG file: steps, since a snapshot answers until the next one comes."""
    values = [value for run in runs for _, value in run.points]
    low = min([*values, 0.999])
    low = max(low, max(values, default=1.0) - 0.2)
    high = min(1.0, max([*values, low]) + 0.005)

    def place(time: float, value: float) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * min(time / seconds, 1.0)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (max(value, low) - low) / (high - low)
        return f"{x:.1f},{y:.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    for step in range(5):
        value = low + (high - low) * step / 4
        x, y = place(0, value).split(",")
        parts.append(f'<line x1="{x}" y1="{y}" x2="{WIDTH - EDGE}" y2="{y}" stroke="#ddd"/>')
        parts.append(f'<text x="{EDGE - 6}" y="{y}" text-anchor="end" dy="4">{100 * value:.1f} %</text>')
        time = seconds * step / 4
        x = place(time, low).split(",")[0]
        parts.append(f'<text x="{x}" y="{HEIGHT - EDGE + 18}" text-anchor="middle">{time:.0f} s</text>')
    for run in runs:
        corners: list[str] = []
        for i, (time, value) in enumerate(run.points):
            end = run.points[i + 1][0] if i + 1 < len(run.points) else seconds
            corners += [place(time, value), place(end, value)]
        line = f'fill="none" stroke="{COLORS[run.policy]}" stroke-width="1.6" opacity="0.8"'
        parts.append(f'<polyline points="{" ".join(corners)}" {line}/>')
    for i, policy in enumerate(POLICIES):
        y = EDGE + 16 * i
        parts.append(f'<text x="{WIDTH - EDGE - 110}" y="{y + HEIGHT // 2}" fill="{COLORS[policy]}">{policy}</text>')
    parts.append(f'<text x="{EDGE}" y="24">Accuracy over classes on MNIST\'s test rows, from published snapshots</text></svg>')
    return "\n".join(parts)
