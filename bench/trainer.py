"""The page of the engine: its policies side by side, and how long predictions take while it trains.

Each section can be run alone: `run.py --engine --engine-only a`. Section a runs `hedgerow train` on MNIST with each
policy, and writes a CSV file for each run and one picture of all curves (SVG) to `--engine-out`. That training runs end
where fits do is the subject of `--fit-vs-train`.
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from common import Bench, Part
from page import ROOT, Body, Claim, Page, Sections, Table, number, percent, show, table_of, times

PEERS = QUICK_PEERS = ()
SETS = QUICK_SETS = ("mnist",)
POLICIES = ("weakest", "gain", "round-robin")
COLORS = {"weakest": "#c2410c", "gain": "#15803d", "round-robin": "#1d4ed8"}
WIDTH, HEIGHT, EDGE = 720, 420, 56
KINDS = ("forest", "ivm", "leaf-gp", "forest-ivm", "forest-kernel")
# Of the models whose predictions are timed, those with IVMs have fewer active rows, so that there is an IVM soon.
LATENCY_KINDS = ("forest", "ivm", "forest-ivm n_active=100", "forest-ivm n_active=100 combine=route")
LIMIT_SECONDS = 3600
FINAL, RATIO, SAMPLES, COMPLETE = "final macro accuracy %", "p99, training / idle", "samples while training", "until when"
THROUGHOUT, ENDED = "training ran throughout", "training ended early"


@dataclass(frozen=True)
class Curve:
    """One run of one policy: seconds and macro accuracy on the test rows of each snapshot."""

    policy: str
    seed: int
    points: list[tuple[float, float]]
    final: float
    stop: str

    def brief(self) -> str:
        return f"{100 * self.final:.2f} % at the end ({self.stop})"

    def area(self, seconds: float) -> float:
        """The mean accuracy over the whole time; before there is a model it is 0."""
        ends = [time for time, _ in self.points[1:]] + [seconds]
        parts = ((max(0.0, end - start), value) for (start, value), end in zip(self.points, ends, strict=True))
        return sum(length * value for length, value in parts) / seconds


@dataclass(frozen=True)
class Latency:
    """What the latency example prints."""

    result: dict

    def brief(self) -> str:
        return f"{self.result['samples']}, ratio {self.result['ratio']}"

    @classmethod
    def from_json(cls, result: dict) -> Latency:
        for name in ("samples", "ratio", "is_whole", "is_complete", "idle", "training", "snapshot"):
            result[name]  # noqa: B018 (a KeyError tells which is missing)
        return cls(result)

    def cells(self) -> list[str]:
        quantiles = []
        for name in ("idle", "training", "snapshot"):
            values = self.result[name]
            quantiles.append(" / ".join(f"{value:.1f}" for value in values) if values else "–")
        n = self.result["samples"]["training"]
        until = THROUGHOUT if self.result["is_complete"] else ENDED
        return [until, f"{n:,}", *quantiles, show(self.result["ratio"], ".2f")]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the engine")
    group.add_argument("--engine-seconds", type=float, default=60, help="how long each run of section a trains")
    group.add_argument("--engine-model", default="ivm", choices=KINDS, help="the model of section a")
    group.add_argument("--engine-set", action="append", help="its parameters (default: n_active=400)")
    group.add_argument("--engine-seeds", default="1,2,3", help="such as 1,2,3")
    group.add_argument("--engine-latency-seconds", type=float, default=24, help="how long each run of section c samples")
    group.add_argument("--engine-latency-rows", type=int, help="rows that section c trains with (default: all)")
    folder = ROOT / "out" / "trainer"
    group.add_argument("--engine-out", type=Path, default=folder, help="folder for curves and picture")


class EngineBench(Bench):
    """Runs one section after the other and keeps what the programs report."""

    def curve(self, policy: str, seed: int) -> Curve | None:
        args = self.args
        settings = [part for setting in args.engine_set or ["n_active=400"] for part in ("--set", setting)]
        path = args.engine_out / f"{args.engine_model}-{policy}-{seed}.csv"
        command = [args.hedgerow, "train", *self.files("mnist"), "--model", args.engine_model, "--policy", policy,
                   "--seed", seed, "--max-seconds", args.engine_seconds, "--curve", path, *settings, "--frozen",
                   "--threads", args.threads, "--json"]  # fmt: skip

        def read(result: dict) -> Curve:
            with path.open() as file:
                found = list(csv.DictReader(file))
            points = [(float(row["seconds"]), float(row["test_balanced_accuracy"])) for row in found]
            return Curve(policy, seed, points, result["metrics"]["balanced_accuracy"], result["stop"])

        curve = self.attempt(f"a {policy} {seed}", partial(self.execute, command, LIMIT_SECONDS), read)
        self.done = self.done and curve is not None
        return curve

    def policies(self) -> Body | None:
        args = self.args
        if not self.there("mnist"):
            return None
        args.engine_out.mkdir(parents=True, exist_ok=True)
        # In turn, so that a computer that changes its speed does so to all.
        seeds = [int(seed) for seed in args.engine_seeds.split(",")]
        curves = [curve for seed in seeds for policy in POLICIES if (curve := self.curve(policy, seed))]
        (args.engine_out / f"{args.engine_model}.svg").write_text(picture(curves, args.engine_seconds))
        rows = [
            [curve.policy, str(curve.seed), curve.stop, str(len(curve.points)), f"{100 * curve.final:.2f}",
             f"{100 * curve.area(args.engine_seconds):.2f}"]
            for curve in curves
        ]  # fmt: skip
        columns = ("policy", "seed", "ended by", "snapshots", FINAL, "mean over the time %")
        text = (
            f"{args.engine_model} on MNIST, {args.engine_seconds:.0f} s each, on the test rows. `docs/math/trainer.md` has "
            "the three rules."
        )
        return Body([Table(columns, rows, 3)], text)

    def latency(self) -> Body | None:
        """One row at a time, from the snapshot of an engine that trains and of an idle one."""
        program = self.args.latency
        if not self.there("mnist"):
            return None
        if not program.is_file():
            self.note("no latency: build it first, with `cargo build --release -p hedgerow --example latency`")
            return None
        rows = []
        for kind in LATENCY_KINDS:
            for way in ("gives-way", "eager"):
                command = [program, *kind.split(), self.args.engine_latency_seconds, way, "json"]
                if self.args.engine_latency_rows:
                    command.append(f"rows={self.args.engine_latency_rows}")
                extra = {"HEDGEROW_DATA": str(self.args.data)}
                measure = partial(self.execute, command, LIMIT_SECONDS, extra)
                found = self.attempt(f"{kind}, {way}", measure, Latency.from_json)
                self.done = self.done and found is not None
                if found is None:
                    continue
                if not found.result["is_whole"]:
                    self.note(f"{kind}, {way}: the snapshot did not have all parts of the model")
                rows.append([kind, way, *found.cells()])
        of = "p50 / p99 / p99.9"
        columns = ("model", "training threads", COMPLETE, SAMPLES, f"idle {of}", f"training {of}",
                   f"taking a snapshot {of}", RATIO)  # fmt: skip
        text = (
            f"One row of MNIST at a time from a published snapshot, for {self.args.engine_latency_seconds / 2:.0f} s while "
            "the engine trains on all cores and as long while it is idle; microseconds. A sample counts as taken while "
            "training only if training still ran after it. One run each."
        )
        return Body([Table(columns, rows, 3)], text) if rows else None

    def shown(self, command: list[object]) -> str:
        return super().shown(command).replace(str(self.args.latency), "cargo run --release --example latency --")


def claims(sections: Sections) -> list[Claim | str]:
    """What the engine must show."""
    a, c = table_of(sections, "a"), table_of(sections, "c")
    # A run counts if training ran throughout, or if only samples until its end were counted and there were enough.
    counted = [row for row in c.rows if number(row[7]) is not None and (row[2] == THROUGHOUT or number(row[3]) is not None)]
    found: list[Claim | str] = []
    if c.rows:
        ratios = Table(c.columns, counted, c.n_text).values(RATIO)
        what = f"one row: p99 while training against idle, the worst of {len(ratios)} of {len(c.rows)} runs"
        found.append(Claim(what, max(ratios, default=None), 2, False, times, ("c",)))
        lost = [f"{row[0]}, {row[1]} (samples while training: {row[3]})" for row in c.rows if row not in counted]
        if lost:
            found.append(f"training ended too early, so these runs do not count: {'; '.join(lost)}.")
    finals = {policy: a.values(FINAL, policy) for policy in POLICIES}
    means = {policy: mean(values) if values else None for policy, values in finals.items()}
    for policy in ("weakest", "gain"):
        what = f"{policy}, mean final macro accuracy of {len(finals[policy])} seeds, no less than that of round-robin"
        found.append(Claim(what, means[policy], means["round-robin"], True, percent, ("a",)))
    gains = [max(values) - min(values) for values in finals.values() if values]
    if gains:
        found.append(f"seeds of one policy differ by up to {max(gains):.2f} points.")
    return found


def picture(runs: list[Curve], seconds: float) -> str:
    """All curves as an SVG file: steps, since a snapshot is served until the next one comes."""
    values = [value for run in runs for _, value in run.points]
    low = min([*values, 0.999])
    low = max(low, max(values, default=1.0) - 0.2)
    high = min(1.0, max([*values, low]) + 0.005)

    def place(time: float, value: float) -> str:
        x = EDGE + (WIDTH - 2 * EDGE) * min(time / seconds, 1.0)
        y = HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (max(value, low) - low) / (high - low)
        return f"{x:.1f},{y:.1f}"

    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>']
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
    title = "Macro accuracy on MNIST's test rows, from published snapshots"
    parts.append(f'<text x="{EDGE}" y="24">{title}</text></svg>')
    return "\n".join(parts)


PARTS = {
    "a": Part("(a) which job is next", EngineBench.policies),
    "c": Part("(c) predictions while it trains", EngineBench.latency),
}
BENCH = EngineBench
PAGE = Page(
    "engine",
    "Benchmarks of the engine",
    (
        "Training runs beside fits, which were table (b), are in `docs/benchmarks-builds.md`; the durable store is in "
        "`docs/store.md`. `gain` was written down before it was run, and became the default after table (a). Curves of a "
        "run of (a) are in `docs/pictures/engine-policies.svg`.",
    ),
    tuple(PARTS),
    claims,
)
