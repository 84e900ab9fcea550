"""The Relevance Vector Machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import RvmArguments
from hedgerow._classifier import WithLogEvidence
from hedgerow._estimator import WithKernel
from hedgerow._online import OnlineClassifier
from hedgerow._regressor import OnlineRegressor


class WithRelevanceVectors(WithKernel):
    """An estimator whose model is made of relevance vectors."""

    @property
    def relevance_vectors_(self) -> NDArray[np.float32]:
        """The relevance vectors: the rows that predictions are computed from."""
        return self._active_rows()


class RvmClassifier(RvmArguments, WithRelevanceVectors, WithLogEvidence, OnlineClassifier):
    """The Relevance Vector Machine: the evidence chooses a few relevance vectors, which are the whole model.

    Columns are standardised, categories made into columns and missing values filled in by the model itself. Rows have no weights.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    relevance_vectors_ : array of shape (n_relevant_rows, n_features)
        The relevance vectors: the rows that predictions are computed from.
    kernel_ : dict
        The parameters of the kernel.
    log_evidence_ : float or None
        The logarithm of the probability of the labels. Only after `fit`.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import RvmClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = RvmClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 0.0]]).tolist()
    ['inside', 'outside']
    >>> len(model.relevance_vectors_) < 30
    True
    """


class RvmRegressor(RvmArguments, WithRelevanceVectors, OnlineRegressor):
    """The Relevance Vector Machine for regression: a few relevance vectors, and an interval with every prediction.

    Columns are standardised, categories made into columns and missing values filled in by the model itself. Rows have no weights.

    Attributes
    ----------
    relevance_vectors_ : array of shape (n_relevant_rows, n_features)
        The relevance vectors: the rows that predictions are computed from.
    kernel_ : dict
        The parameters of the kernel.
    log_evidence_ : float
        The logarithm of the density of the values. Only after `fit`.
    notes_ : list of str
        What you should know about the fit, in words; empty if all is well. Only after `fit`.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import RvmRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, size=(300, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + rng.normal(scale=0.1, size=300)
    >>> model = RvmRegressor(random_state=0).fit(X, y)
    >>> bool(abs(model.predict([[0.0]])[0] - 1.0) < 0.1)
    True
    >>> inside = model.predict_interval(X, 0.9)
    >>> bool(abs(((inside[:, 0] < y) & (y < inside[:, 1])).mean() - 0.9) < 0.06)
    True
    """
