"""How much evidence there is for what a classifier predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base

if TYPE_CHECKING:
    from hedgerow import _hedgerow
    from hedgerow._hedgerow import Evidence

Floats = NDArray[np.float64]


class EvidenceMixin:
    """The methods of a classifier that tells how much evidence there is for its predictions.

    The evidence of a row is a Dirichlet distribution over its class probabilities. `KdeClassifier`, `KnnClassifier` and confidence forests
    (`OnlineForestClassifier(confidence=True)`) count labels of their own; of other classifiers it is the number of training rows near a row, shared
    by the probabilities that they predict, and a prior. It compares rows. It claims no coverage: an interval of it is not one for the true
    probability.
    """

    n_jobs: Any
    random_state: Any

    if TYPE_CHECKING:

        def _fitted(self) -> _hedgerow.Model: ...

        def _rows(self, X: Any) -> Any: ...

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
