"""Classifiers whose rows may have weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow._base import with_callbacks
from hedgerow._online import OnlineClassifier

if TYPE_CHECKING:
    from typing_extensions import Self


class WeightedClassifier(OnlineClassifier):
    """A classifier that can go on learning, and counts each row as much as its weight says."""

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a model to rows; one that was there is forgotten.

        Ctrl-C ends the fit early: `KeyboardInterrupt` is raised, and the best model so far is there to be used.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows: numpy, pandas, polars or Arrow. Missing values are fine, and so are columns of text and categories in tables.
        y : array of shape (n_samples,)
            Their labels: numbers, text or truth values.
        sample_weight : array of shape (n_samples,), optional
            The weight of each row; 0 leaves it out.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in order; the first call makes the model.

        Classes may come at any time: `classes_` grows at its end, and old columns keep their place.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, optional
            All classes there will be, if they are to have their columns from the start. Then other labels are an error.
        sample_weight : array of shape (n_samples,), optional
            The weight of each row.

        Returns
        -------
        self
        """
        self._learn(X, y, classes, sample_weight)
        return self
