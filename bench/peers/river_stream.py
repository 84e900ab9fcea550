"""Runs one of River's forests over a CSV file, each row first predicted and then learnt, and prints what it cost and how
good it was, as one JSON object.

Usage: river_stream.py arf|amf FILE --target class [--test FILE] [--seed 0] [--limit-seconds 90]

Only predicting and learning is on the clock. Rows are read, and made the dictionaries that River wants, a chunk at a time
with the clock stopped, so that the memory counted is that of the model and not of the file.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

from metrics import LEAST_PROBABILITY, N_BINS
from process import peak_memory_bytes
from river import forest

N_TREES = 10
CHUNK_ROWS = 1000

Row = dict[str, float | str]


def make_model(kind: str, seed: int):
    if kind == "arf":
        return forest.ARFClassifier(n_models=N_TREES, seed=seed)
    return forest.AMFClassifier(n_estimators=N_TREES, seed=seed)


def lines(path: Path) -> Iterator[list[str]]:
    """The rows of a CSV file as text, without the line of names."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        next(reader)
        yield from reader


class Columns:
    """What the columns of a file hold, and how a line becomes a row of River's.

    Numbers become floats. Categories stay strings, which the Hoeffding trees of ARF split by value, and so do the
    columns of a `nominal` file. Mondrian trees know numbers only: for AMF a category becomes a column of zeros and ones
    for each value, and numbers stay numbers, scaled to lie between 0 and 1 in the whole file, as it asks for.
    """

    def __init__(self, path: Path, target: str, nominal: bool, for_amf: bool) -> None:
        with path.open(newline="", encoding="utf-8") as file:
            self.names = next(csv.reader(file))
        self.target = self.names.index(target)
        self.features = [i for i in range(len(self.names)) if i != self.target]
        self.for_amf = for_amf
        self.n_rows = 0
        self.values: dict[int, dict[str, None]] = {i: {} for i in self.features} if nominal and not for_amf else {}
        self.range: dict[int, tuple[float, float]] = {}
        self.classes: set[str] = set()
        for line in lines(path):
            self.n_rows += 1
            self.classes.add(line[self.target])
            for i in self.features:
                if i not in self.values and not self.widen(i, line[i]):
                    self.values[i] = {}
                if i in self.values:
                    self.values[i][line[i]] = None

    def widen(self, column: int, text: str) -> bool:
        """Takes a value into the column's range; false if it is not a number."""
        try:
            value = float(text)
        except ValueError:
            return False
        least, greatest = self.range.get(column, (value, value))
        self.range[column] = (min(least, value), max(greatest, value))
        return True

    def row(self, line: list[str]) -> Row:
        row: Row = {}
        for i in self.features:
            name, text = self.names[i], line[i]
            if i not in self.values:
                row[name] = self.scaled(i, float(text)) if self.for_amf else float(text)
            elif self.for_amf:
                row |= {f"{name}={value}": float(text == value) for value in self.values[i]}
            else:
                row[name] = text
        return row

    def scaled(self, column: int, value: float) -> float:
        least, greatest = self.range[column]
        return (value - least) / (greatest - least) if greatest > least else 0.0

    def chunks(self, path: Path) -> Iterator[list[tuple[Row, str]]]:
        chunk = []
        for line in lines(path):
            chunk.append((self.row(line), line[self.target]))
            if len(chunk) == CHUNK_ROWS:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


class Run:
    """One pass over a stream."""

    def __init__(self, model, limit: float, n_classes: int) -> None:
        self.model = model
        self.limit = limit
        self.n_classes = n_classes
        self.rows = 0
        self.right = 0
        self.repeated = 0
        self.last: str | None = None
        self.loss = 0.0
        # The sums of confidence less right predictions, for each bin of the confidence.
        self.gaps = [0.0] * N_BINS
        self.predict = 0.0
        self.learn = 0.0

    def seconds(self) -> float:
        return self.predict + self.learn

    def done(self) -> bool:
        return self.limit > 0 and self.seconds() >= self.limit

    def go(self, chunk: list[tuple[Row, str]]) -> None:
        for x, y in chunk:
            if self.done():
                return
            start = time.perf_counter()
            proba = self.model.predict_proba_one(x)
            predicted = time.perf_counter()
            self.model.learn_one(x, y)
            learnt = time.perf_counter()
            self.predict += predicted - start
            self.learn += learnt - predicted
            self.note(proba, y)

    def note(self, proba: dict[str, float], label: str) -> None:
        """Takes a prediction into the metrics. Before it knows any class a model gives none a probability."""
        total = sum(proba.values())
        prediction = max(proba, key=proba.__getitem__) if total > 0 else None
        even = 1 / self.n_classes
        confidence, of_label = (proba[prediction] / total, proba.get(label, 0.0) / total) if prediction is not None else (even, even)
        self.rows += 1
        self.right += prediction == label
        self.repeated += label == self.last
        self.last = label
        self.loss -= math.log(max(of_label, LEAST_PROBABILITY))
        self.gaps[min(int(confidence * N_BINS), N_BINS - 1)] += confidence - (prediction == label)

    def prequential(self) -> dict[str, float]:
        accuracy, same = self.right / self.rows, self.repeated / self.rows
        return {
            "accuracy": accuracy,
            "kappa_temporal": (accuracy - same) / (1 - same) if same < 1 else 0.0,
            "log_loss": self.loss / self.rows,
            "ece": sum(map(abs, self.gaps)) / self.rows,
        }


def test_accuracy(model, columns: Columns, path: Path) -> float:
    rows = right = 0
    for chunk in columns.chunks(path):
        rows += len(chunk)
        right += sum(model.predict_one(x) == y for x, y in chunk)
    return right / rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["arf", "amf"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--test", type=Path, help="rows to evaluate the model on after a whole pass")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit-seconds", type=float, default=0, help="stop then, with the rows done so far; 0: never")
    parser.add_argument("--nominal", action="store_true", help="all columns hold categories")
    args = parser.parse_args()

    start = time.perf_counter()
    columns = Columns(args.file, args.target, args.nominal, args.kind == "amf")
    run = Run(make_model(args.kind, args.seed), args.limit_seconds, len(columns.classes))
    for chunk in columns.chunks(args.file):
        run.go(chunk)
        if run.done():
            break
    read = time.perf_counter() - start - run.seconds()
    # Before the test, whose rows are no part of the stream.
    peak = peak_memory_bytes()

    result = {
        "model": type(run.model).__name__,
        "rows": run.rows,
        "features": len(columns.features),
        "seconds": {"read": read, "learn": run.learn, "predict": run.predict},
        "rows_per_second": run.rows / run.seconds(),
        "prequential": run.prequential(),
        "peak_memory_bytes": peak,
        # Whether the time ended before the rows did.
        "stopped": run.rows < columns.n_rows,
    }
    if args.test and run.rows == columns.n_rows:
        result["metrics_from"] = "test"
        result["metrics"] = {"accuracy": test_accuracy(run.model, columns, args.test)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
