"""Labels of any type as places in a list of classes, and back."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._base import DataConversionWarning

Codes = NDArray[np.int64]
Array = NDArray[Any]


def column(y: Any, estimator: str) -> Array:
    """Labels as a one-dimensional array that a classifier can learn from; fails on anything else."""
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    return _checked(np.asarray(y))


def flat(y: Array) -> Array:
    """One value a row; a table of one column is made flat, with a warning."""
    if y.ndim == 2 and y.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to"
            " (n_samples,), for example using ravel().",
            DataConversionWarning,
            stacklevel=5,
        )
        y = y.ravel()
    if y.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    return y


def _checked(y: Array) -> Array:
    y = flat(y)
    if y.dtype.kind == "O":
        missing = np.fromiter((v is None or v != v for v in y), bool, len(y))
        if missing.any():
            raise ValueError(f"Input y contains NaN or None: row {int(missing.argmax()) + 1} has no label")
        kinds = {str if isinstance(v, str) else bool if isinstance(v, (bool, np.bool_)) else float for v in y[:1000]}
        if len(kinds) > 1:
            raise ValueError("y mixes text and numbers; a label must be one or the other")
        if kinds == {float} or kinds == {bool}:
            y = np.array(y.tolist())
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity: every row needs a label")
        if (y != np.floor(y)).any():
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects"
                " discrete classes on a regression target with continuous values."
            )
    if y.dtype.kind not in "biufUSO":
        raise ValueError(f"Unknown label type: {y.dtype}; labels are numbers, text or truth values")
    return y


def encode(y: Array) -> tuple[Codes, Array]:
    """Place of each label in the sorted list of classes, and that list."""
    classes, codes = np.unique(y, return_inverse=True)
    return codes.reshape(-1).astype(np.int64), classes


def encode_with(y: Array, classes: Array) -> tuple[Codes, Array]:
    """Place of each label in a list of classes, which grows at its end by those it does not have."""
    codes, here = encode(y)
    if len(classes) and len(here) and _sort_of(classes) != _sort_of(here):
        raise ValueError(
            f"labels so far are {_sort_of(classes)} ({classes[0]!r}), and now there are {_sort_of(here)} ({here[0]!r})"
        )
    known = {label: place for place, label in enumerate(classes.tolist())}
    new = [label for label in here.tolist() if label not in known]
    if new:
        known.update((label, len(classes) + i) for i, label in enumerate(new))
        classes = np.concatenate([classes, np.asarray(new, dtype=here.dtype)]) if len(classes) else here
    places = np.array([known[label] for label in here.tolist()], np.int64)
    return places[codes] if len(codes) else codes, classes


def names(classes: Array) -> list[str]:
    """The classes as the model file and the command line write them."""
    return [_name(label) for label in classes.tolist()]


def classes_of(names: list[str]) -> Array:
    """The classes of a model file: numbers where all names are numbers, truth values where they are such, text otherwise."""
    try:
        whole = [int(name) for name in names]
        if names == [str(value) for value in whole]:
            return np.array(whole, np.int64)
        return np.array([float(name) for name in names])
    except ValueError:
        pass
    if names and set(names) <= {"False", "True"}:
        return np.array([name == "True" for name in names])
    return np.array(names, dtype=str if names else object)


def _name(label: Any) -> str:
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return label.decode() if isinstance(label, bytes) else str(label)


def _sort_of(labels: Array) -> str:
    kind = labels.dtype.kind
    if kind == "O":
        kind = "U" if isinstance(labels[0], str) else "i"
    return "text" if kind in "US" else "truth values" if kind == "b" else "numbers"
