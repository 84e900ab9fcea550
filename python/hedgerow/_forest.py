"""The online random forest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _hedgerow, _labels
from hedgerow._arguments import ForestArguments
from hedgerow._base import with_callbacks
from hedgerow._online import OnlineClassifier


if TYPE_CHECKING:
    from typing_extensions import Self


class OnlineForestClassifier(ForestArguments, OnlineClassifier):
    """A random forest of deep trees that keeps learning.

    It takes any table as it is: missing values, categories and numbers of any scale. With `partial_fit` and `learn_one` it learns more,
    and the trees that have become the worst are grown anew.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    feature_importances_ : array of shape (n_features,)
        The share of each column in what splits gained.
    oob_score_ : float
        Share of training rows that trees which had not seen them got right. Only after `fit`, with a bagging that leaves rows out.
    oob_decision_function_ : array of shape (n_samples, n_classes)
        Out-of-bag probabilities; NaN where a row is in the bag of every tree.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import OnlineForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)).astype(np.float32)
    >>> y = X[:, 0] > X[:, 1]
    >>> model = OnlineForestClassifier(random_state=0).fit(X, y)
    >>> bool(model.oob_score_ > 0.9)
    True
    >>> model.predict_proba([[2.0, -2.0]]).shape
    (1, 2)
    """

    oob_score_: float
    oob_decision_function_: NDArray[np.float64]

    @with_callbacks
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit a forest to rows; one that was there is forgotten.

        Ctrl-C ends the fit early: `KeyboardInterrupt` is raised, and the trees grown so far are a model to be used.

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

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The share of each column in what splits gained; they sum to 1."""
        return np.array(self._fitted().importances)

    def _tell(self, fitted: _hedgerow.Fitted, codes: _labels.Codes) -> None:
        self.__dict__.pop("oob_score_", None)
        self.__dict__.pop("oob_decision_function_", None)
        if fitted.oob is not None:
            seen = ~np.isnan(fitted.oob[:, 0])
            if seen.any():
                self.oob_decision_function_ = fitted.oob
                self.oob_score_ = float((fitted.oob[seen].argmax(axis=1) == codes[seen]).mean())
