"""Tables with known outliers: files of rows `X` and marks `y`, 1 for an outlier. Run as a program, it makes those of one kind.

    outlier_sets.py clean NPZ FOLDER           half of the normal rows to fit to, the others with all outliers to score
    outlier_sets.py toy a|b|c|d SEED FOLDER    a toy table with one outlier, in the first row
    outlier_sets.py one NAME DATA LIMIT FOLDER the larger class with one row of the smaller, for up to LIMIT such rows
    outlier_sets.py gauss ROWS COLUMNS FOLDER  normal rows, to take times by
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


def gauss(n_rows: int, n_columns: int, folder: Path) -> None:
    import numpy as np

    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns)).astype(np.float32)
    np.savez(folder / f"gauss-{n_rows}x{n_columns}.npz", X=rows)


if __name__ == "__main__":
    verb, *words, last = sys.argv[1:]
    target = Path(last)
    target.mkdir(parents=True, exist_ok=True)
    if verb == "clean":
        clean(words[0], target)
    elif verb == "toy":
        toy(words[0], int(words[1]), target)
    elif verb == "one":
        one(words[0], Path(words[1]), int(words[2]), target)
    else:
        gauss(int(words[0]), int(words[1]), target)
