"""Gaussian processes with all rows."""

from __future__ import annotations

from hedgerow._arguments import GpArguments
from hedgerow._classifier import WithLogEvidence
from hedgerow._estimator import WithKernel
from hedgerow._regressor import Regressor


class GpClassifier(GpArguments, WithKernel, WithLogEvidence):
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


class GpRegressor(GpArguments, Regressor):
    """The exact Gaussian process for regression: for a few thousand rows, with an interval for every prediction.

    Columns are standardised, categories made into columns and missing values filled in by the model itself. Hyper-parameters that are left open
    are those of the largest log marginal likelihood. `method` is `labels`, and `likelihood` is not used. Rows have no weights, and it cannot
    learn more: `RvmRegressor` can.

    Attributes
    ----------
    kernel_ : dict
        The parameters of the kernel, on standardised columns and targets.
    log_evidence_ : float or None
        The logarithm of the density of the values; none if the fit was interrupted. Only after `fit`.
    notes_ : list of str
        What you should know about the fit, in words; empty if all is well. Only after `fit`.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import GpRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-10, 10, size=(200, 1))
    >>> y = np.sinc(X[:, 0] / np.pi) + rng.normal(scale=0.1, size=200)
    >>> model = GpRegressor(random_state=0).fit(X, y)
    >>> mean, deviation = model.predict([[0.0], [100.0]], return_std=True)
    >>> bool(abs(mean[0] - 1.0) < 0.1), bool(deviation[0] < deviation[1])
    (True, True)
    >>> inside = model.predict_interval(X, 0.9)
    >>> bool(abs(((inside[:, 0] < y) & (y < inside[:, 1])).mean() - 0.9) < 0.06)
    True
    """
