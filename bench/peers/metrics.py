"""What the peers' programs report of predictions: the definitions of `hedgerow_core::metrics`."""

from __future__ import annotations

import numpy as np

N_BINS = 15
LEAST_PROBABILITY = 1e-15


def metrics(proba: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    prediction = proba.argmax(axis=1)
    top = proba[np.arange(len(truth)), prediction]
    right = prediction == truth
    bins = np.minimum((top * N_BINS).astype(int), N_BINS - 1)
    # Rows of a bin × |mean confidence − accuracy| is the absolute value of the bin's sum of differences.
    gaps = np.bincount(bins, weights=top - right, minlength=N_BINS)
    true_proba = np.maximum(proba[np.arange(len(truth)), truth], LEAST_PROBABILITY)
    return {
        "accuracy": float(right.mean()),
        "log_loss": float(-np.log(true_proba).mean()),
        "ece": float(np.abs(gaps).sum() / len(truth)),
    }


def all_classes(model, proba: np.ndarray, n_classes: int) -> np.ndarray:
    """A column for every class, also for one that occurs in the test rows only."""
    full = np.zeros((len(proba), n_classes))
    full[:, model.classes_] = proba
    return full
