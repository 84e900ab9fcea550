"""Classifiers of the rows nearby: kernel densities and nearest neighbours."""

from __future__ import annotations

from hedgerow._arguments import KdeArguments, KnnArguments
from hedgerow._weighted import WeightedClassifier


class KdeClassifier(KdeArguments, WeightedClassifier):
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


class KnnClassifier(KnnArguments, WeightedClassifier):
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
