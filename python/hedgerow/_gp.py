"""Gaussian processes with all rows."""

from __future__ import annotations

from typing import Any

from hedgerow import _hedgerow, _labels
from hedgerow._arguments import GpArguments
from hedgerow._classifier import Classifier


class GpClassifier(GpArguments, Classifier):
    """The exact Gaussian process classifier: for a few thousand rows.

    Columns are standardised, categories made into columns and missing values filled in by the model itself. Rows have no weights,
    and it cannot learn more: `IvmClassifier` can.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    kernel_ : dict
        The parameters of the kernel.
    log_evidence_ : float or None
        The logarithm of the probability of the labels, where the method can tell. Only after `fit`.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import GpClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = (np.hypot(*X.T) < 1.0).astype(int)
    >>> model = GpClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 0.0]]).tolist()
    [1, 0]
    """

    log_evidence_: float | None

    @property
    def kernel_(self) -> dict[str, Any]:
        """The parameters of the kernel by name."""
        return dict(self._fitted().kernel)

    def _tell(self, fitted: _hedgerow.Fitted, codes: _labels.Codes) -> None:
        self.log_evidence_ = fitted.log_evidence
