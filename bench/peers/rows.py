"""Rows for the peers that take distances, with the columns that Hedgerow's kernel models get.

`prepared` does what `crates/hedgerow-core/src/prepare.rs` does, step by step, so that a length scale means the same to all
systems and none of them gets better columns. `python rows.py` compares it with examples of the Rust tests.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

ARRAYS = ("train_x", "train_y", "test_x", "test_y")
# A column whose fourth moment is so many times the square of its second is bent; a normal one has 3.
HEAVY = 12.0
# Rows that are looked at to find out how a column is bent.
MOST_ROWS = 5_000


def load(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train rows, their classes, test rows, their classes."""
    return tuple(np.load(folder / f"{name}.npy") for name in ARRAYS)


def categories_of(folder: Path) -> dict[int, int]:
    """How many categories a column has, of those that hold categories."""
    path = folder / "categories.npy"
    return {i: int(n) for i, n in enumerate(np.load(path)) if n > 0} if path.is_file() else {}


def prepared(
    train: np.ndarray, test: np.ndarray, categories: dict[int, int] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Columns that distances can be taken of, as float64.

    A category becomes a column for each of its values. Numbers lose their mean, missing ones become it. They are divided
    by the range of all columns, if all are numbers and most have nearly that range, as pixels have; otherwise by their own
    deviation, and a column with a few numbers far from all others is bent by asinh first.
    """
    categories = categories or {}
    common = None if categories else common_range(train)
    if common is not None:
        center = np.nan_to_num(np.nanmean(train, axis=0, dtype=np.float64))
        parts = [rows.astype(np.float64) for rows in (train, test)]
        for rows in parts:  # in place: MNIST is large
            rows -= center
            rows /= common
            np.nan_to_num(rows, copy=False, nan=0.0)
        return parts[0], parts[1]
    step = max(-(-len(train) // MOST_ROWS), 1)
    columns: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for i in range(train.shape[1]):
        values = [rows[:, i].astype(np.float64) for rows in (train, test)]
        if i in categories:
            made = [one_hot(column, categories[i]) for column in values]
        else:
            made = [column[:, None] for column in scaled(*values, step)]
        for to, column in zip(columns, made, strict=True):
            to.append(column)
    return np.hstack(columns[0]), np.hstack(columns[1])


def common_range(train: np.ndarray) -> float | None:
    """The range of all columns, if most of them have nearly that range each."""
    ranges = np.nanmax(train, axis=0).astype(np.float64) - np.nanmin(train, axis=0)
    varied = ranges[(ranges > 0) & np.isfinite(ranges)]
    largest = varied.max(initial=0)
    return float(largest) if len(varied) > 2 and 2 * np.count_nonzero(varied > 0.9 * largest) > len(varied) else None


def one_hot(column: np.ndarray, n_categories: int) -> np.ndarray:
    """Two different categories are as far apart as a number and one a deviation away."""
    return np.where(column[:, None] == np.arange(n_categories), np.sqrt(0.5), 0.0)


def scaled(train: np.ndarray, test: np.ndarray, step: int) -> list[np.ndarray]:
    """A column of numbers less its mean, over its deviation; bent first where it needs it."""
    known = train[~np.isnan(train)]
    if len(known) == 0:
        return [np.zeros(len(train)), np.nan_to_num(test, nan=0.0)]
    some = train[::step]
    bend = bend_of(some[~np.isnan(some)], known.mean())
    if bend is not None:
        middle, unit = bend
        train, test = (np.arcsinh((column - middle) / unit) for column in (train, test))
        some = train[::step]
        known = some[~np.isnan(some)]
    mean, deviation = known.mean(), known.std()
    spread = max(known.max() - known.min(), abs(mean))
    scale = deviation if deviation > 1e-12 * spread and deviation > 0 else 1.0
    return [np.nan_to_num((column - mean) / scale, nan=0.0) for column in (train, test)]


def bend_of(values: np.ndarray, mean: float) -> tuple[float, float] | None:
    """Middle and unit of the bend, if the column has a long tail."""
    distances = values - mean
    if len(values) == 0 or np.mean(distances**4) <= HEAVY * np.mean(distances**2) ** 2:
        return None
    middle = upper_median(values)
    apart = np.abs(values - middle)
    apart = apart[apart > 0]
    return (middle, upper_median(apart)) if len(apart) else None


def upper_median(values: np.ndarray) -> float:
    return float(np.sort(values)[len(values) // 2])


def check() -> None:
    """The examples of the Rust tests."""
    x = np.array([[1, 5, 0], [3, 5, 1], [np.nan, 5, np.nan]], dtype=np.float32)
    root = np.sqrt(0.5)
    expected = [[-1, 0, root, 0], [1, 0, 0, root], [0, 0, 0, 0]]
    np.testing.assert_allclose(prepared(x, x, {2: 2})[1], expected)
    pixels = np.array([[0, 0, 0, 0], [255, 255, 251, 2]], dtype=np.float32)
    mapped = prepared(pixels, pixels)[0]
    np.testing.assert_allclose(mapped[1] - mapped[0], [1, 1, 251 / 255, 2 / 255])
    j = np.arange(500) ** 2 % 101 * 3
    tail = np.where(j % 10 == 0, 1000.0 + j, j % 7)
    tail[3] = 1e6
    x = np.column_stack([tail, np.arange(500) % 9]).astype(np.float32)
    mapped = prepared(x, x)[0]
    assert np.abs(mapped[:, 0]).max() < 8 and np.abs(mapped[:, 1]).max() < 3
    np.testing.assert_allclose([mapped[:, 0].mean(), mapped[:, 0].std()], [0, 1], atol=1e-9)


if __name__ == "__main__":
    check()
    print("the same as the examples of the Rust tests")
