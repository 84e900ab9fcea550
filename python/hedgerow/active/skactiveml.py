"""The classifiers of this package for the strategies of scikit-activeml, which has to be installed.

scikit-activeml's own `SklearnClassifier` takes our classifiers as it takes those of scikit-learn. `HedgerowClassifier` is one, and tells class
frequencies and draws
class probabilities besides, which some strategies ask for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from skactiveml.base import ClassFrequencyEstimator
from skactiveml.classifier import SklearnClassifier
from skactiveml.utils import MISSING_LABEL

Floats = NDArray[np.float64]

__all__ = ["HedgerowClassifier"]


class HedgerowClassifier(SklearnClassifier, ClassFrequencyEstimator):
    """A classifier of this package with the conventions of scikit-activeml.

    It is fitted to rows of which some or all have no label, and to labels of one class: with fewer than two it predicts the shares of the labels.

    Parameters
    ----------
    estimator : classifier
        A classifier of this package.
    include_unlabeled_samples : bool, default=False
        As in `SklearnClassifier`; our classifiers cannot do anything with them.
    class_prior : float or array of shape (n_classes,), default=1.0
        Labels of each class that are added to the frequencies where class probabilities are drawn.
    classes : array of shape (n_classes,), optional
        All classes; without it, those of the labels.
    missing_label : number, text or None, default=nan
        What stands for a missing label.
    cost_matrix : array of shape (n_classes, n_classes), optional
        What it costs to predict a class (column) for a row of another (row).
    random_state : int, generator or None, default=None
        Seed for predictions without a model.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import OnlineForestClassifier
    >>> from hedgerow.active.skactiveml import HedgerowClassifier
    >>> from skactiveml.pool import UncertaintySampling
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = np.full(60, np.nan)
    >>> y[:20] = X[:20, 0] > 0
    >>> model = HedgerowClassifier(OnlineForestClassifier(random_state=0), classes=[0, 1])
    >>> rows = UncertaintySampling(random_state=0).query(X, y, model, batch_size=3)
    >>> bool((rows >= 20).all())
    True
    """

    def __init__(
        self,
        estimator: Any,
        include_unlabeled_samples: bool = False,
        class_prior: Any = 1.0,
        classes: Any = None,
        missing_label: Any = MISSING_LABEL,
        cost_matrix: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            include_unlabeled_samples=include_unlabeled_samples,
            classes=classes,
            missing_label=missing_label,
            cost_matrix=cost_matrix,
            random_state=random_state,
        )
        self.class_prior = class_prior

    def predict_freq(self, X: Any) -> Floats:
        """Return the labels of each class near each row, as counts.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The columns are in the order of `classes_`. Without a model they are the numbers of labels there are.
        """
        X = np.asarray(X)
        if not self.is_fitted_:
            return np.tile(np.asarray(self._label_counts, np.float64), (len(X), 1))
        own = self.estimator_.predict_freq(X)
        places = np.searchsorted(self.classes_, self.estimator_.classes_)
        counts = np.zeros((len(X), len(self.classes_)))
        counts[:, places] = own
        return counts
