"""The online random forest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow import _hedgerow, _labels
from hedgerow._arguments import ForestArguments
from hedgerow._weighted import WeightedClassifier


class OnlineForestClassifier(ForestArguments, WeightedClassifier):
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
