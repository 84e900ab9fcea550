"""Tables with known outliers: files of rows `X` and marks `y`, 1 for an outlier. Run as a program, it makes those of one kind.

    outlier_sets.py clean NPZ FOLDER           half of the normal rows to fit to, the others with all outliers to score
    outlier_sets.py toy a|b|c|d SEED FOLDER    a toy table with one outlier, in the first row
    outlier_sets.py one NAME DATA LIMIT FOLDER the larger class with one row of the smaller, for up to LIMIT such rows
    outlier_sets.py gauss ROWS COLUMNS FOLDER  normal rows, to take times by
    outlier_sets.py unknown NAME DATA FOLDER   for each class, training rows without it, and test rows marked where they are of it
    outlier_sets.py rejected CSV NPZ           AUROC of the outlier scores and probabilities in predictions of such test rows
"""

from __future__ import annotations

import sys
from pathlib import Path

TOYS = {"a": 200, "b": 200, "c": 1000, "d": 1000}


def clean(npz: str, folder: Path) -> None:
    import numpy as np

    with np.load(npz) as kept:
        rows, marks = kept["X"].astype(np.float32), kept["y"]
    normal = np.random.default_rng(0).permutation(np.flatnonzero(marks == 0))
    half = len(normal) // 2
    scored = np.concatenate([normal[half:], np.flatnonzero(marks == 1)])
    name = Path(npz).stem
    np.savez(folder / f"{name}-fit.npz", X=rows[normal[:half]])
    np.savez(folder / f"{name}-score.npz", X=rows[scored], y=marks[scored].astype(np.int64))


def toy(kind: str, seed: int, folder: Path) -> None:
    """The four toys of Röder (2013), table 5.1."""
    import numpy as np

    rng, n = np.random.default_rng(seed), TOYS[kind]
    if kind == "a":
        rows = rng.uniform(size=(n, 101))
        rows[0, 0] += 1
    elif kind == "b":
        rows = np.column_stack([rng.uniform(size=n), rng.normal(size=(n, 20))])
        rows[0, 0] += 1
    else:
        if kind == "c":
            # The four squares that share an edge with the unit square, and that square itself for the outlier.
            corner = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])[rng.integers(4, size=n)]
            first = rng.uniform(size=(n, 2)) + corner
            first[0] = rng.uniform(size=2)
        else:
            first = rng.uniform(-2, 2, size=(8 * n, 2))
            first = first[np.abs(first).max(axis=1) > 1][:n]
            first[0] = rng.uniform(-1, 1, size=2)
        rows = np.column_stack([first, rng.uniform(size=(n, 2))])
    marks = np.zeros(n, np.int64)
    marks[0] = 1
    np.savez(folder / f"toy-{kind}-{seed}.npz", X=(rows / rows.std(axis=0)).astype(np.float32), y=marks)


def two_classes(name: str, data: Path):
    """The rows of the larger class, and those of the smaller: columns of categories as indicators, deviation 1."""
    import itertools

    import numpy as np

    if name == "Balance-Scale":
        rows = np.array(list(itertools.product(range(1, 6), repeat=4)), float)
        difference = rows[:, 0] * rows[:, 1] - rows[:, 2] * rows[:, 3]
        labels = np.sign(difference)
        rows, labels = rows[labels != 0], labels[labels != 0]
    elif name in ("Iris", "Wine"):
        from sklearn.datasets import load_iris, load_wine

        rows, labels = (load_iris if name == "Iris" else load_wine)(return_X_y=True)
    else:
        import csv
        import gzip

        file, target = {"Breast-W": ("breast_cancer", "Class"), "Ionosphere": ("ionosphere", "Class"),
                        "Letters": ("letter", "lettr")}[name]  # fmt: skip
        with gzip.open(data / "tabular" / f"{file}.csv.gz", "rt", newline="") as lines:
            records = list(csv.DictReader(lines))
        labels = np.array([record.pop(target) for record in records])
        columns = list(zip(*(record.values() for record in records), strict=True))
        rows = np.column_stack([coded(np.array(column)) for column in columns])
    names, counts = np.unique(labels, return_counts=True)
    # Of classes of the same size, those with the smaller labels; of these two, the smaller one plays the outliers.
    order = sorted(range(len(names)), key=lambda i: (-counts[i], names[i]))[:2]
    if counts[order[0]] == counts[order[1]]:
        order.reverse()
    larger, smaller = (rows[labels == names[i]] for i in order)
    both = np.vstack([larger, smaller])
    kept = both.std(axis=0) > 0
    return larger[:, kept], smaller[:, kept]


def coded(column):
    """Numbers with the mean for gaps, or indicators of words."""
    import numpy as np

    try:
        values = np.array([float(text) if text not in ("", "NA", "?") else np.nan for text in column])
        return np.where(np.isnan(values), np.nanmean(values), values)[:, None]
    except ValueError:
        return (column[:, None] == np.unique(column)).astype(float)


def one(name: str, data: Path, limit: int, folder: Path) -> None:
    """Each file has the larger class and one row of the smaller, in the first row."""
    import numpy as np

    larger, smaller = two_classes(name, data)
    chosen = np.random.default_rng(0).permutation(len(smaller))[:limit]
    marks = np.zeros(len(larger) + 1, np.int64)
    marks[0] = 1
    for number, row in enumerate(sorted(chosen)):
        rows = np.vstack([smaller[row], larger])
        deviation = rows.std(axis=0)
        rows = rows / np.where(deviation > 0, deviation, 1)
        np.savez(folder / f"{name}-{number}.npz", X=rows.astype(np.float32), y=marks)


# Name of the file, of the target, and how many of the rows train; 0 is all but every third.
UNKNOWN = {"digits": ("digit", 0), "letter": ("lettr", 16_000), "dna": ("Class", 2_000), "glass": ("Type", 0),
           "shuttle": ("Class", 43_500), "waveform": ("label", 0)}  # fmt: skip
# A class of fewer test rows is not left out.
LEAST_UNKNOWN = 10


def with_classes(name: str, data: Path):
    """Training rows, their classes, test rows, their classes."""
    import gzip

    import numpy as np

    if name == "usps":
        parts = []
        for part in ("train", "test"):
            with gzip.open(data / "usps" / f"zip.{part}.gz", "rt") as lines:
                table = np.loadtxt(lines)
            parts += [table[:, 1:].astype(np.float32), table[:, 0].astype(np.int64)]
        return parts
    import csv

    target, n_train = UNKNOWN[name]
    with gzip.open(data / "tabular" / f"{name}.csv.gz", "rt", newline="") as lines:
        records = list(csv.DictReader(lines))
    labels = np.unique([record.pop(target) for record in records], return_inverse=True)[1].astype(np.int64)
    columns = list(zip(*(record.values() for record in records), strict=True))
    rows = np.column_stack([coded(np.array(column)) for column in columns]).astype(np.float32)
    number = np.arange(len(rows))
    trains = number < n_train if n_train else number % 3 != 0
    return rows[trains], labels[trains], rows[~trains], labels[~trains]


def unknown(name: str, data: Path, folder: Path) -> None:
    import numpy as np

    rows, classes, test, truth = with_classes(name, data)
    for left_out in np.unique(classes):
        marks = (truth == left_out).astype(np.int64)
        known = classes != left_out
        if marks.sum() >= LEAST_UNKNOWN:
            np.savez(folder / f"unknown-{name}-{left_out:02}-fit.npz", X=rows[known], y=classes[known])
            np.savez(folder / f"unknown-{name}-{left_out:02}-score.npz", X=test, y=marks)


def rejected(predictions: Path, npz: Path) -> None:
    """Prints what a table of predictions tells of the rows that are marked."""
    import csv
    import json

    import numpy as np
    from sklearn.metrics import roc_auc_score

    with np.load(npz) as kept:
        is_unknown = kept["y"] == 1
    with predictions.open(newline="") as lines:
        table = [(float(row["outlier"]), 1 - float(row["probability"])) for row in csv.DictReader(lines)]
    scores, doubts = np.array(table).T
    above = scores > 0.95
    found = {"auc": roc_auc_score(is_unknown, scores), "probability_auc": roc_auc_score(is_unknown, doubts),
             "known_rejected": above[~is_unknown].mean(), "unknown_rejected": above[is_unknown].mean()}  # fmt: skip
    print(json.dumps({name: float(value) for name, value in found.items()}))


def gauss(n_rows: int, n_columns: int, folder: Path) -> None:
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns)).astype(np.float32)
    np.savez(folder / f"gauss-{n_rows}x{n_columns}.npz", X=rows)


if __name__ == "__main__":
    verb, *words, last = sys.argv[1:]
    target = Path(last)
    if verb == "rejected":
        rejected(Path(words[0]), target)
        sys.exit()
    target.mkdir(parents=True, exist_ok=True)
    if verb == "clean":
        clean(words[0], target)
    elif verb == "toy":
        toy(words[0], int(words[1]), target)
    elif verb == "one":
        one(words[0], Path(words[1]), int(words[2]), target)
    elif verb == "unknown":
        unknown(words[0], Path(words[1]), target)
    else:
        gauss(int(words[0]), int(words[1]), target)
