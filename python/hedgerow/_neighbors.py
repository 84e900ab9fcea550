"""Classifiers of the rows nearby: kernel densities and nearest neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base
from hedgerow._arguments import KdeArguments, KnnArguments
from hedgerow._base import with_callbacks
from hedgerow._hedgerow import Evidence
from hedgerow._online import OnlineClassifier

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


class EvidenceClassifier(OnlineClassifier):
    """A classifier that tells how much evidence there is for its predictions.

    The evidence of a row is a Dirichlet distribution over its class probabilities: labels nearby, and a prior. It compares rows. It claims
    no coverage: an interval of it is not one for the true probability. Its mean is the estimate before calibration; `predict_proba`
    returns calibrated probabilities.
    """

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

    def predict_evidence(self, X: Any) -> Evidence:
        """Return a distribution over the class probabilities of each row, with its mean, variance, quantiles and so on.

        >>> from hedgerow import KdeClassifier
        >>> model = KdeClassifier(random_state=0).fit([[i % 10] for i in range(100)], [i % 10 > 4 for i in range(100)])
        >>> near, far = model.predict_evidence([[1.0], [1000.0]]).variance()[:, 0].tolist()
        >>> near < 0.01, far
        (True, 0.125)

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Evidence
            It has the methods `mean`, `variance`, `quantile(level)`, `interval(level)`, `density(class_, points)`, `parts`, `counts` and
            `sample(n_samples, seed)`. The columns of their tables are in the order of `classes_`.
        """
        model = self._fitted()
        return model.evidence(self._rows(X), threads=_base.threads(self.n_jobs))

    def predict_freq(self, X: Any) -> Floats:
        """Return the labels of each class near each row, as counts: the evidence without the prior.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The columns are in the order of `classes_`.
        """
        counts: Floats = self.predict_evidence(X).counts()
        return counts

    def sample_proba(self, X: Any, n_samples: int = 100, random_state: Any = None) -> NDArray[np.float64]:
        """Draw class probabilities from the evidence of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        n_samples : int
            How many to draw of each row.
        random_state : int, numpy generator or None
            Where the draws begin; None takes that of the estimator.

        Returns
        -------
        array of shape (n_samples, n_rows, n_classes)
            Each vector of probabilities sums to 1.
        """
        if n_samples < 1:
            raise ValueError(f"`n_samples` must be 1 or more (got {n_samples!r})")
        seed = _base.seed_of(self.random_state if random_state is None else random_state)
        draws: Floats = self.predict_evidence(X).sample(n_samples, seed)
        return draws

    def predict_uncertainty(self, X: Any, by: str = "entropy") -> dict[str, Floats]:
        """Return how uncertain the prediction of each row is by its evidence, and which part of that more labels could take away.

        >>> from hedgerow import KnnClassifier
        >>> model = KnnClassifier(random_state=0).fit([[i % 10] for i in range(100)], [i % 10 > 4 for i in range(100)])
        >>> parts = model.predict_uncertainty([[1.0], [1000.0]])
        >>> sorted(parts), bool(parts["epistemic"][0] < parts["epistemic"][1])
        (['aleatoric', 'epistemic', 'total'], True)

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        by : {"entropy", "variance"}
            Entropies in nats, or variances summed over classes.

        Returns
        -------
        dict
            `total`, of which `aleatoric` stays when the class probabilities are known, and `epistemic` comes from too few labels nearby: arrays of
            shape (n_samples,).
        """
        if by not in ("entropy", "variance"):
            raise ValueError(f"`by` must be 'entropy' or 'variance' (got {by!r})")
        parts = self.predict_evidence(X).parts(by_variance=by == "variance")
        return dict(zip(("total", "aleatoric", "epistemic"), parts, strict=True))


class KdeClassifier(KdeArguments, EvidenceClassifier):
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


class KnnClassifier(KnnArguments, EvidenceClassifier):
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
