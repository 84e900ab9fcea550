"""Labels of which some are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# What stands for a missing label where nothing else is given, as in scikit-activeml.
MISSING_LABEL = np.nan


def labels_of(y: Any) -> Array:
    """Labels as an array that can hold missing ones beside text."""
    if isinstance(y, np.ndarray):
        return y
    if hasattr(y, "to_numpy"):
        return np.asarray(y.to_numpy())
    own = np.empty(len(y), dtype=object)
    own[:] = list(y)
    return own


def is_labelled(y: Any, missing_label: Any = MISSING_LABEL) -> NDArray[np.bool_]:
    """Return which labels are there.

    >>> is_labelled(["a", None, "b"], missing_label=None).tolist()
    [True, False, True]
    >>> is_labelled([1.0, float("nan")]).tolist()
    [True, False]

    Parameters
    ----------
    y : array of shape (n_samples,)
        The labels.
    missing_label : number, text or None
        What stands for a missing one.

    Returns
    -------
    array of bool of shape (n_samples,)
    """
    y = labels_of(y)
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if missing_label is None:
        return np.fromiter((label is not None for label in y), bool, len(y))
    if _is_nan(missing_label):
        if y.dtype.kind == "f":
            there: NDArray[np.bool_] = ~np.isnan(y)
            return there
        return np.fromiter((not _is_nan(label) for label in y), bool, len(y))
    if isinstance(missing_label, str) != (y.dtype.kind in "US") and y.dtype.kind != "O":
        raise TypeError(f"missing_label={missing_label!r} does not go with labels of type {y.dtype}")
    return np.fromiter((label != missing_label for label in y), bool, len(y))


def known_labels(y: Array, mask: NDArray[np.bool_]) -> Array:
    """Return the labels that are there, as an array of their own type."""
    known = y[mask]
    if known.dtype.kind == "O":
        return np.array(known.tolist()) if len(known) else known
    return known


def _is_nan(value: Any) -> bool:
    return bool(isinstance(value, (float, np.floating)) and value != value)
