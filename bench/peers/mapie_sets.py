"""MAPIE's prediction sets and scikit-learn's rejection curve for one split of a table, as one JSON object.

Usage: mapie_sets.py FOLDER TARGET [--level 0.9] [--threads 2] [--seed 0]

FOLDER has `train.csv` and `test.csv`; `fit.csv` and `calibrate.csv`, which are the training rows cut in two; and, of a forest of ours
that was fitted to `fit.csv`, `calibrate-proba.csv` and `test-proba.csv` with the probabilities of each class. MAPIE's split
conformal sets are made of these, and of a random forest of scikit-learn that is fitted to `fit.csv`. The curve is that of
ExtraTrees fitted to all training rows.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np
from mapie.classification import SplitConformalClassifier
from process import peak_memory_bytes
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier


class Known(ClassifierMixin, BaseEstimator):
    """A classifier whose rows are places in a table of probabilities."""

    def __init__(self, proba=None):
        self.proba = proba

    def fit(self, X, y):
        self.classes_ = np.arange(self.proba.shape[1])
        self.is_fitted_ = True
        return self

    def predict_proba(self, X):
        return self.proba[np.asarray(X)[:, 0].astype(int)]

    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)


def table(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return header, rows


def canonical(label: str) -> str:
    """Numbers are the same class however they are written."""
    try:
        return f"{float(label):g}"
    except ValueError:
        return label


def features(folder: Path, target: str) -> dict[str, tuple[np.ndarray, list[str]]]:
    """The rows of each file as numbers: categories become columns of zeros and ones, missing values the mean."""
    header, rows = table(folder / "train.csv")
    place = header.index(target)
    columns = []
    for number in range(len(header)):
        values = [row[number] for row in rows]
        try:
            known = [float(value) for value in values if value]
            columns.append(float(np.mean(known)))
        except ValueError:
            columns.append(sorted(set(values)))

    def numbers(row: list[str]) -> list[float]:
        found: list[float] = []
        for number, column in enumerate(columns):
            if number == place:
                continue
            if isinstance(column, list):
                found += [float(row[number] == name) for name in column]
            else:
                found.append(float(row[number]) if row[number] else column)
        return found

    parts = {}
    for name in ("train", "fit", "calibrate", "test"):
        _, part = table(folder / f"{name}.csv")
        parts[name] = np.array([numbers(row) for row in part], np.float32), [canonical(row[place]) for row in part]
    return parts


def probabilities(path: Path) -> tuple[np.ndarray, list[str]]:
    header, rows = table(path)
    places = [place for place, name in enumerate(header) if name.startswith("p_")]
    proba = np.array([[float(row[place]) for place in places] for row in rows])
    return proba / proba.sum(axis=1, keepdims=True), [canonical(header[place][2:]) for place in places]


def sets_of(classifier, calibrate, test, codes: dict[str, np.ndarray], level: float) -> dict[str, float]:
    conformal = SplitConformalClassifier(classifier, confidence_level=level, conformity_score="lac", prefit=True)
    conformal.conformalize(calibrate, codes["calibrate"])
    sets = conformal.predict_set(test)[1][:, :, 0]
    return {"coverage": float(sets[np.arange(len(test)), codes["test"]].mean()), "mean_size": float(sets.sum(axis=1).mean())}


def rejection(proba: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """The area under the accuracy-rejection curve and the accuracy on 80 % of the rows, equals in any order: as in `hedgerow evaluate`."""
    uncertainty, right = 1 - proba.max(axis=1), proba.argmax(axis=1) == truth
    order = np.argsort(uncertainty, kind="stable")
    uncertainty, right = uncertainty[order], right[order].astype(float)
    starts = np.r_[0, np.flatnonzero(np.diff(uncertainty)) + 1, len(right)]
    for start, end in zip(starts[:-1], starts[1:], strict=True):
        right[start:end] = right[start:end].mean()
    accuracy = np.cumsum(right) / np.arange(1, len(right) + 1)
    return {"area": float(accuracy.mean()), "accuracy80": float(accuracy[int(np.ceil(0.8 * len(right))) - 1])}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("target")
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    parts = features(args.folder, args.target)
    known, names = probabilities(args.folder / "calibrate-proba.csv")
    of_test, _ = probabilities(args.folder / "test-proba.csv")
    codes = {part: np.array([names.index(label) for label in labels]) for part, (_, labels) in parts.items()}
    both = np.vstack([known, of_test])
    ours = Known(both).fit(None, None)
    places = np.arange(len(both)).reshape(-1, 1)
    forest = RandomForestClassifier(n_estimators=100, random_state=args.seed, n_jobs=args.threads)
    forest.fit(parts["fit"][0], codes["fit"])
    trees = ExtraTreesClassifier(n_estimators=100, random_state=args.seed, n_jobs=args.threads)
    trees.fit(parts["train"][0], codes["train"])
    result = {
        "same": sets_of(ours, places[: len(known)], places[len(known) :], codes, args.level),
        "sklearn": sets_of(forest, parts["calibrate"][0], parts["test"][0], codes, args.level),
        "rejection": rejection(trees.predict_proba(parts["test"][0]), codes["test"]),
        "peak_memory_bytes": peak_memory_bytes(),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
