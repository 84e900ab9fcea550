"""Rows for the peers that take distances, on the scale on which Hedgerow's kernel models take them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

ARRAYS = ("train_x", "train_y", "test_x", "test_y")


def load(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Train rows, their classes, test rows, their classes."""
    return tuple(np.load(folder / f"{name}.npy") for name in ARRAYS)


def prepared(train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Does what `hedgerow_gp::prepare` does with columns of numbers: a length scale then means the same to all systems.

    Columns lose their mean. They are divided by the range of all of them, if most have nearly that range, as pixels
    have; otherwise by their own deviation.
    """
    train, test = train.astype(np.float64), test.astype(np.float64)
    mean, ranges = train.mean(axis=0), np.ptp(train, axis=0)
    varied = ranges[ranges > 0]
    common = varied.max(initial=0)
    if len(varied) > 2 and 2 * np.count_nonzero(varied > 0.9 * common) > len(varied):
        scale = common
    else:
        deviations = train.std(axis=0)
        is_varied = deviations > 1e-12 * np.maximum(ranges, np.abs(mean))
        scale = np.where(is_varied, deviations, 1)
    for rows in (train, test):  # in place: MNIST is large
        rows -= mean
        rows /= scale
    return train, test
