"""Forests and Gaussian processes together."""

from __future__ import annotations

from hedgerow._arguments import ForestIvmArguments, ForestKernelArguments, LeafGpArguments
from hedgerow._estimator import WithKernel
from hedgerow._online import OnlineClassifier


class LeafGpClassifier(LeafGpArguments, WithKernel, OnlineClassifier):
    """A few trees with large leaves, and a Gaussian process in every leaf that has several classes.

    Nearly as good as a Gaussian process with all rows, for tens of thousands of them. A new row changes only the leaves it falls into.
    Rows have no weights.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    kernel_ : dict
        The parameters of the kernel that leaves share.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import LeafGpClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = LeafGpClassifier(n_estimators=3, random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [2.0, 0.0]]).tolist()
    ['inside', 'outside']
    """


class ForestIvmClassifier(ForestIvmArguments, OnlineClassifier):
    """A forest blended with Informative Vector Machines.

    How far each of the two is trusted comes from rows that neither had seen.
    Rows have no weights.

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
    >>> from hedgerow import ForestIvmClassifier, IvmClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = ForestIvmClassifier(ivm=IvmClassifier(n_active=20), random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 0.0]]).tolist()
    ['inside', 'outside']
    """


class ForestKernelClassifier(ForestKernelArguments, WithKernel, OnlineClassifier):
    """A Gaussian process with the forest kernel: the share of trees in which two rows fall into the same leaf.

    The forest gives the kernel, and the process is fitted to all rows together. Predictions take a few times as long as the forest's own.
    Sample weights count for the forest, not for the process.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The classes, in the order of the columns of `predict_proba`.
    kernel_ : dict
        The variance of the noise that was chosen.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import ForestKernelClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = np.where(np.hypot(*X.T) < 1.0, "inside", "outside")
    >>> model = ForestKernelClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 0.0], [3.0, 0.0]]).tolist()
    ['inside', 'outside']
    """
