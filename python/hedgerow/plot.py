"""Pictures of models, in the colours of the reports: `pip install hedgerow[plot]`.

Each function draws into the axes it is given, or into new ones, and returns them.

>>> import numpy as np
>>> from hedgerow import OnlineForestClassifier, plot
>>> X = np.random.default_rng(0).normal(size=(200, 2))
>>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
>>> model = OnlineForestClassifier(random_state=0).fit(X[:100], y[:100])
>>> axes = plot.reliability(model, X[100:], y[100:])
>>> axes.get_xlabel()
'confidence'
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._classifier import Classifier

__all__ = ["confusion", "decision_map", "importances", "learning_curve", "reliability"]

# The style sheet of the reports has the same.
_HUES = ["#2f74d0", "#e27a1c", "#1f9d6b", "#8e5cc7", "#d13f5a", "#1ba0b4", "#9a6b37", "#d662ae", "#8d9c24", "#5d748f"]
_ACCENT, _SECOND, _HEAT, _RIGHT = "#0b7a58", "#2a67b0", "#fc8434", "#e4e9ec"
_SOFT, _LINE, _UNSURE = "#58636c", "#e2e6e9", "#d3d8dc"

Array = NDArray[Any]


def learning_curve(
    model: Any, X: Any, y: Any, *, batches: int = 20, test: tuple[Any, Any] | None = None, ax: Any = None
) -> Any:
    """Draw how accuracy grows while a model learns rows in batches.

    Each batch is first predicted, then learnt (prequential accuracy). The model itself is not changed.

    Parameters
    ----------
    model : a classifier with `partial_fit`
        A copy of it is trained from the start.
    X, y : the rows and their labels, in the order in which they come
    batches : int
        The number of batches.
    test : pair of rows and labels, optional
        Rows that are predicted after each batch; a second curve.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes of matplotlib
    """
    ax = _axes(ax, (6.4, 4.0))
    learner = type(model)(**copy.deepcopy(model.get_params(deep=False)))
    if not hasattr(learner, "partial_fit"):
        raise TypeError(f"{type(model).__name__} does not learn in batches")
    y = np.asarray(y)
    seen: list[int] = []
    fresh: list[float] = []
    tested: list[float] = []
    for rows in np.array_split(np.arange(len(y)), batches):
        here = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
        if seen:
            fresh.append(float((learner.predict(here) == y[rows]).mean()))
        learner.partial_fit(here, y[rows])
        seen.append(int(rows[-1]) + 1)
        if test is not None:
            tested.append(float(learner.score(*test)))
    ax.plot(seen[1:], fresh, color=_ACCENT, label="the next batch, before it is learnt")
    if tested:
        ax.plot(seen, tested, color=_SECOND, label="test rows")
        ax.legend(frameon=False, labelcolor=_SOFT)
    ax.set(xlabel="rows learnt", ylabel="accuracy")
    return ax


def reliability(model: Classifier, X: Any, y: Any, *, bins: int = 10, ax: Any = None) -> Any:
    """Draw the accuracy of a model by its confidence.

    A calibrated model lies on the diagonal. Bars show how many rows there are, whiskers two standard errors.

    Parameters
    ----------
    model : a fitted classifier
    X, y : held-out rows and their labels
    bins : int
        Bins of the confidence, the probability of the most probable class.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes of matplotlib
    """
    ax = _axes(ax, (4.8, 4.4))
    predictions = model.predict_proba(X)
    top = predictions.max(axis=1)
    right = model.classes_[predictions.argmax(axis=1)] == np.asarray(y)
    place = np.minimum((top * bins).astype(int), bins - 1)
    counts = np.bincount(place, minlength=bins)
    there = counts > 0
    confidence = np.bincount(place, top, bins)[there] / counts[there]
    was = np.bincount(place, right, bins)[there] / counts[there]
    error = float(np.abs(confidence - was) @ counts[there] / counts.sum())
    spread = 2 * np.sqrt(was * (1 - was) / counts[there])
    ax.plot([0, 1], [0, 1], "--", color=_SOFT, linewidth=1)
    middles = (np.arange(bins) + 0.5) / bins
    ax.bar(middles, 0.25 * counts / counts.max(), 0.9 / bins, color=_ACCENT, alpha=0.15, linewidth=0)
    ax.errorbar(confidence, was, yerr=np.minimum(spread, [was, 1 - was]), fmt="o", color=_ACCENT, markersize=5, elinewidth=1.5)
    ax.set(xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1.02))
    ax.set_title(f"ECE {error:.3f}", loc="left", fontsize="medium", color=_SOFT)
    return ax


def decision_map(model: Classifier, X: Any, y: Any, *, points: int = 200, ax: Any = None) -> Any:
    """Draw what a model of two columns predicts everywhere: the hue is the class, grey is uncertainty.

    Parameters
    ----------
    model : a classifier fitted to two columns
    X, y : rows to draw as dots, and their labels
    points : int
        The picture is made of so many squares in each direction.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes of matplotlib
    """
    if model.n_features_in_ != 2:
        raise ValueError(f"a decision map needs a model of 2 columns, this one has {model.n_features_in_}")
    ax = _axes(ax, (5.4, 4.6))
    rows = np.asarray(X, dtype=float)
    low, high = np.nanmin(rows, axis=0), np.nanmax(rows, axis=0)
    low, high = low - 0.08 * (high - low), high + 0.08 * (high - low)
    across, up = (np.linspace(low[i], high[i], points) for i in range(2))
    grid: Any = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
    if getattr(model, "feature_names_in_", None) is not None:
        import pandas

        grid = pandas.DataFrame(grid, columns=model.feature_names_in_)
    predictions = model.predict_proba(grid)
    hues, grey = _rgb(len(model.classes_)), _rgb_of(_UNSURE)
    best = predictions.argmax(axis=1)
    chance = 1 / len(model.classes_)
    top = np.clip((predictions.max(axis=1) - chance) / (1 - chance), 0, 1)[:, None]
    colours = (grey + top * (hues[best] - grey)) * 0.65 + 0.35
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(colours.reshape(points, points, 3), origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    for place, label in enumerate(model.classes_):
        dots = rows[np.asarray(y) == label]
        ax.scatter(*dots.T, s=14, color=hues[place], edgecolor="white", linewidth=0.6, label=str(label))
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), labelcolor=_SOFT)
    names = getattr(model, "feature_names_in_", ["", ""])
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.grid(visible=False)
    return ax


def confusion(model: Classifier, X: Any, y: Any, *, ax: Any = None) -> Any:
    """Draw the confusion of classes: rows are true classes, columns predictions, darker is more often.

    Parameters
    ----------
    model : a fitted classifier
    X, y : held-out rows and their labels
    ax : axes of matplotlib, optional

    Returns
    -------
    axes of matplotlib
    """
    classes = model.classes_
    n = len(classes)
    ax = _axes(ax, (1.6 + 0.45 * n, 1.4 + 0.42 * n))
    predictions = model.predict_proba(X).argmax(axis=1)
    places = {label: place for place, label in enumerate(classes.tolist())}
    truth = np.array([places.get(label, -1) for label in np.asarray(y).tolist()])
    known = truth >= 0
    counts = np.zeros((n, n), int)
    np.add.at(counts, (truth[known], predictions[known]), 1)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    heat, right = _rgb_of(_HEAT), _rgb_of(_RIGHT)
    strength = np.sqrt(share)[:, :, None]
    colours = 1 + strength * (heat - 1)
    colours[np.arange(n), np.arange(n)] = right
    ax.imshow(colours, aspect="auto")
    for (i, j), count in np.ndenumerate(counts):
        if count:
            ax.text(j, i, count, ha="center", va="center", fontsize=8 if n > 6 else 10, color="#1a2025")
    ax.set_xticks(range(n), [str(label) for label in classes])
    ax.set_yticks(range(n), [str(label) for label in classes])
    ax.set(xlabel="prediction", ylabel="true class")
    ax.grid(visible=False)
    return ax


def importances(model: Any, *, most: int = 20, ax: Any = None) -> Any:
    """Draw which columns a forest relies on, the largest share on top.

    Parameters
    ----------
    model : a fitted forest
    most : int
        Columns shown at most.
    ax : axes of matplotlib, optional

    Returns
    -------
    axes of matplotlib
    """
    shares = model.feature_importances_
    order = np.argsort(-shares, kind="stable")[:most][::-1]
    ax = _axes(ax, (5.6, 1.0 + 0.26 * len(order)))
    names = getattr(model, "feature_names_in_", [f"column {i}" for i in range(len(shares))])
    ax.barh([str(names[i]) for i in order], shares[order], color=_ACCENT, alpha=0.75)
    ax.set(xlabel="share of what splits gained")
    ax.grid(visible=False, axis="y")
    return ax


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Give the axes, or new ones, the looks of the reports."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ImportError:
            raise ImportError("pictures need matplotlib: pip install hedgerow[plot]") from None
        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_LINE)
    ax.grid(color=_LINE, linewidth=0.8)
    ax.set_axisbelow(True)
    ax.tick_params(colors=_SOFT, length=0)
    ax.xaxis.label.set_color(_SOFT)
    ax.yaxis.label.set_color(_SOFT)
    return ax


def _rgb_of(hex_colour: str) -> Array:
    return np.array([int(hex_colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def _rgb(n: int) -> Array:
    return np.array([_rgb_of(_HUES[i % len(_HUES)]) for i in range(n)])
