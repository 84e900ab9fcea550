"""Classifiers of the rows nearby: kernel densities and nearest neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow._arguments import KdeArguments, KnnArguments
from hedgerow._base import with_callbacks
from hedgerow._online import OnlineClassifier

if TYPE_CHECKING:
    from typing_extensions import Self


class NeighborClassifier(OnlineClassifier):
    """A classifier of the rows nearby. Its evidence is the labels near a row, and its mean the estimate before calibration."""

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


class KdeClassifier(KdeArguments, NeighborClassifier):
    """Kernel density classification, which tells how much evidence there is near a row.

    Columns are standardised, categories made into columns and missing values filled in by the model itself.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    bandwidth_ : float or None
        The bandwidth, on prepared columns; None before enough was learnt.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import KdeClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = KdeClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 0.0]]).tolist()
    ['inside', 'outside']
    >>> model.predict_freq([[0.0, 0.0], [99.0, 0.0]]).sum(axis=1).round().tolist()[1]
    0.0
    """

    @property
    def bandwidth_(self) -> float | None:
        """The bandwidth, on prepared columns."""
        return dict(self._fitted().kernel).get("bandwidth")


class KnnClassifier(KnnArguments, NeighborClassifier):
    """Nearest neighbours, which tell how much evidence there is near a row.

    Columns are standardised, categories made into columns and missing values filled in by the model itself.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import KnnClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = KnnClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 0.0]]).tolist()
    ['inside', 'outside']
    """
