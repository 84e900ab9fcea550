"""Weakest first against each in its turn: how good the snapshots of an engine are over time, on MNIST's test rows.

    trainer.py [--data DIR] [--seconds 60] [--model ivm] [--set n_active=400] [--seeds 1,2,3] [--threads 2] [--out out/trainer]

Writes a CSV file for each run, one picture of all curves (SVG), and prints a table. See README.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from common import ROOT, say

POLICIES = ("weakest", "round-robin")
COLORS = {"weakest": "#c2410c", "round-robin": "#1d4ed8"}
WIDTH, HEIGHT, EDGE = 720, 420, 56


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


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("HEDGEROW_DATA"), help="folder with the data sets")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--model", default="ivm", choices=("ivm", "forest-ivm", "forest"))
    parser.add_argument("--set", dest="settings", action="append", default=[], help="a parameter, such as n_active=400")
    parser.add_argument("--seeds", default="1", help="such as 1,2,3")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "trainer", help="folder for curves and picture")
    args = parser.parse_args()
    if args.data is None:
        parser.error("give --data DIR or set HEDGEROW_DATA")
    return args


def run(args: argparse.Namespace, policy: str, seed: int) -> Run:
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "hedgerow"
    mnist = Path(args.data) / "mnist"
    curve = args.out / f"{args.model}-{policy}-{seed}.csv"
    command = [program, "train", mnist / "train-images-idx3-ubyte.gz", "--test", mnist / "t10k-images-idx3-ubyte.gz"]
    command += ["--model", args.model, "--policy", policy, "--seed", seed, "--threads", args.threads]
    command += ["--max-seconds", args.seconds, "--curve", curve, "--frozen", "--json"]
    for setting in args.settings:
        command += ["--set", setting]
    done = subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    with curve.open() as file:
        rows = list(csv.DictReader(file))
    points = [(float(row["seconds"]), float(row["test_macro_accuracy"])) for row in rows]
    return Run(policy, seed, points, result["metrics"]["balanced_accuracy"], result["stop"])


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


def main() -> None:
    args = arguments()
    args.out.mkdir(parents=True, exist_ok=True)
    runs = []
    for seed in (int(seed) for seed in args.seeds.split(",")):
        # In turn, so that a machine that changes its speed does so to both.
        for policy in POLICIES:
            runs.append(run(args, policy, seed))
            say(f"{policy}, seed {seed}: {100 * runs[-1].final:.2f} % at the end ({runs[-1].stop})")
    (args.out / f"{args.model}.svg").write_text(picture(runs, args.seconds))
    print("| policy | seed | snapshots | final macro accuracy | mean over the time | ended by |")
    print("|---|---|---|---|---|---|")
    for found in runs:
        mean = f"{100 * found.area(args.seconds):.2f} %"
        print(f"| {found.policy} | {found.seed} | {len(found.points)} | {100 * found.final:.2f} % | {mean} | {found.stop} |")


if __name__ == "__main__":
    main()
