"""Three tables of the page of streams, of Hedgerow alone: what calibration gains, what the mixture of memories loses against the
best single one in hindsight, and how soon predictions are calibrated again after a change."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from page import Body, Claim, Table, loss, number, points, show
from passes import Pass
from stream_sets import FOLDER, STREAMS, Stream

if TYPE_CHECKING:
    from stream import StreamBench

# Kinds whose calibration is looked at. Those but the forest report the log-loss without it themselves.
KINDS = ("forest", "ivm")
CALIBRATION_COLUMNS = ("stream", "kind", "log-loss without", "log-loss", "Δ %", "accuracy %", "ECE", "rows/s")
# The memory that a forest is given where it has one alone, in rows; 0 is the forest without short memories.
SINGLE = (20, 100, 300, 1000, 0)
MEMORIES_COLUMNS = ("stream", "mixture %", *(f"{n:,} rows %" if n else "all rows %" for n in SINGLE), "lost, points")
# After so many rows the predictions should be calibrated again, over the next so many.
BACK_AFTER, WITHIN = 500, 500
CHANGES_ROWS, CHANGES_SEEDS, QUICK_CHANGES_SEEDS = 20_000, 10, 2
CHANGES_EVERY, GRADUAL_WIDTH = 5_000, 1_000
CHANGES_COLUMNS = ("stream", "drift", "kind", "changes", "ECE, rows 1 to 500", "ECE, rows 501 to 1,000", "ECE of all")
GENERATORS = ("sea", "rtg", "led", "hyperplane")
BINS = 15
MOST_ECE = 0.03
# Of the log-loss without calibration: chance, where there is nothing to gain.
NOISE_PERCENT = 0.5
LONG_STREAM = 5_000


def streams(bench: StreamBench) -> Iterable[Stream]:
    return (STREAMS[name] for name in bench.sets if name in STREAMS and bench.is_there(STREAMS[name]))


def stream_args(bench: StreamBench, stream: Stream, kind: str, settings: dict[str, object]) -> list[object]:
    sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    options = ["--target", stream.target, "--model", kind, *sets, *bench.model_args(0)]
    return [bench.args.hedgerow, "stream", stream.file(), *options]


def run(bench: StreamBench, stream: Stream, kind: str, settings: dict[str, object]) -> dict | None:
    """What a stream reports."""
    found: dict = {}

    def measure() -> dict:
        found.update(bench.execute(stream_args(bench, stream, kind, settings)))
        return found

    label = " ".join([stream.name, kind, *(f"{name}={value}" for name, value in settings.items())])
    return found if bench.attempt(label, measure, Pass.from_json) else None


def calibration(bench: StreamBench) -> Body | None:
    rows = []
    for stream in streams(bench):
        for kind in KINDS:
            result = run(bench, stream, kind, {})
            if result is None:
                continue
            made = Pass.from_json(result)
            if kind == "forest":
                plain = run(bench, stream, kind, {"calibrate": "false"})
                without = plain and plain["prequential"]["log_loss"]
            else:
                without = result["calibration"]["log_loss_before"]
            change = 100 * (made.log_loss / without - 1) if without else None
            rows.append([
                stream.name, kind, show(without, ".4f"), show(made.log_loss, ".4f"), show(change, "+.1f"),
                show(made.accuracy, ".2f", 100), show(made.ece, ".4f"), f"{made.rate:,.0f}",
            ])  # fmt: skip
    text = (
        "Prequential log-loss and ECE with calibration by prequential predictions, and the log-loss without: of a forest with "
        "`calibrate=false`, of the IVM before what this calibration changes."
    )
    return Body([Table(CALIBRATION_COLUMNS, rows, 2)], text) if rows else None


def memories(bench: StreamBench) -> Body | None:
    rows = []
    for stream in streams(bench):
        mixture = run(bench, stream, "forest", {})
        singles = []
        for n in SINGLE:
            limits = {"pool_rows": n, "forget": "false"} if n else {}
            result = run(bench, stream, "forest", {"horizons": "false", **limits})
            singles.append(result and result["prequential"]["accuracy"])
        if mixture is None or None in singles:
            continue
        accuracy = mixture["prequential"]["accuracy"]
        cells = [show(value, ".2f", 100) for value in (accuracy, *singles)]
        rows.append([stream.name, *cells, show(max(singles) - accuracy, "+.2f", 100)])
    text = (
        "Accuracy of the mixture, and of a forest of 100 trees that has one memory alone, of so many of the newest rows. What "
        "the mixture has lost against the best of these in hindsight is negative where it is better than each."
    )
    return Body([Table(MEMORIES_COLUMNS, rows, 1)], text) if rows else None


def changes(bench: StreamBench) -> Body | None:
    """ECE after each change, over several seeds: that of a single window is mostly chance."""
    n_seeds = QUICK_CHANGES_SEEDS if bench.args.quick else CHANGES_SEEDS
    rows = []
    for generator in GENERATORS:
        for drift, width in (("abrupt", 0), ("gradual", GRADUAL_WIDTH)):
            for kind in KINDS:
                parts: list[list[tuple[float, bool]]] = [[], [], []]
                measure = partial(changed, bench, generator, drift, width, kind, parts)
                label = f"{generator} {drift} {kind}, ECE after changes"
                if all(bench.attempt(f"{label}, seed {seed}", partial(measure, seed), Pass.from_json)
                       for seed in range(1, n_seeds + 1)):  # fmt: skip
                    n_changes = n_seeds * (CHANGES_ROWS // CHANGES_EVERY - 1)
                    figures = [show(ece(part), ".4f") for part in parts]
                    rows.append([generator, drift, kind, f"{n_changes}", *figures])
    text = (
        f"Streams of {CHANGES_ROWS:,} rows with a change after every {CHANGES_EVERY:,}, {n_seeds} seeds; a gradual change "
        f"takes {GRADUAL_WIDTH:,} rows, and rows are counted from its end. ECE over the rows of all changes together."
    )
    return Body([Table(CHANGES_COLUMNS, rows, 3)], text) if rows else None


def changed(
    bench: StreamBench, generator: str, drift: str, width: int, kind: str, parts: list[list[tuple[float, bool]]], seed: int
) -> dict:
    """Runs a stream with changes, and adds its predictions: of the rows after a change, of the next, and of all."""
    path, predictions = FOLDER / "changes.csv", FOLDER / "predictions.csv"
    how = ["--drift", drift, "--every", CHANGES_EVERY, *(["--width", width] if width else [])]
    made = ["--rows", CHANGES_ROWS, "--seed", seed, *how, "--out", path, "--json"]
    bench.execute([bench.args.hedgerow, "generate", generator, *made])
    options = ["--target", "class", "--model", kind, "--predictions", predictions, *bench.model_args(0)]
    result = bench.execute([bench.args.hedgerow, "stream", path, *options])
    for row, (probability, right) in enumerate(read(predictions)):
        parts[2].append((probability, right))
        since = row % CHANGES_EVERY - width // 2
        if row >= CHANGES_EVERY and 0 <= since < BACK_AFTER + WITHIN:
            parts[0 if since < BACK_AFTER else 1].append((probability, right))
    return result


def read(path: Path) -> Iterable[tuple[float, bool]]:
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            yield float(row["probability"]), row["label"] == row["prediction"]


def ece(predictions: list[tuple[float, bool]]) -> float:
    """The expected calibration error, with equal bins of the probability."""
    bins = [[0.0, 0.0] for _ in range(BINS)]
    for probability, right in predictions:
        bin_ = bins[min(int(probability * BINS), BINS - 1)]
        bin_[0] += probability
        bin_[1] += right
    return sum(abs(sure - right) for sure, right in bins) / max(len(predictions), 1)


def claims(calibrated: Table, single: Table, after: Table, rows_of: Callable[[str], float | None]) -> list[Claim]:
    """What the three tables must show."""
    found = []
    for row in calibrated.rows:
        stream, kind = row[:2]
        known = STREAMS.get(stream)
        rows = rows_of(stream)
        if rows is not None and rows > LONG_STREAM:
            change = number(row[4])
            what = f"{stream}, {kind}: log-loss with calibration against without"
            found.append(Claim(what, change, NOISE_PERCENT, False, "{:+.1f} %".format, ("calibration",)))
        if known and known.dataset is None and kind != "forest":
            most = 0.01 if known.stored else MOST_ECE
            found.append(Claim(f"{stream}, {kind}: ECE", number(row[6]), most, False, loss, ("calibration",)))
    lost = single.values("lost, points")
    what = "most that the mixture loses against the best single memory, on any stream"
    found.append(Claim(what, max(lost, default=None), 0.3, False, points, ("memories",)))
    worst = after.values("ECE, rows 501 to 1,000")
    what = "largest ECE from row 501 to 1,000 after a change, of any generator and kind"
    found.append(Claim(what, max(worst, default=None), MOST_ECE, False, loss, ("changes",)))
    return found
