"""The Informative Vector Machine."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow._arguments import IvmArguments
from hedgerow._estimator import WithKernel
from hedgerow._online import OnlineClassifier


class IvmClassifier(IvmArguments, WithKernel, OnlineClassifier):
    """The Informative Vector Machine: a sparse Gaussian process classifier that picks its rows by information gain.

    Columns are standardised, categories made into columns and missing values filled in by the model itself. Rows have no weights.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    active_rows_ : array of shape (n_active_rows, n_features)
        The active set: the rows that predictions are computed from.
    kernel_ : dict
        The parameters of the kernel.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import IvmClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = IvmClassifier(n_active=30, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 0.0]]).tolist()
    ['inside', 'outside']
    """

    @property
    def active_rows_(self) -> NDArray[np.float32]:
        """The active set: the rows that predictions are computed from."""
        return self._active_rows()
