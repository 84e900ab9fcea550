"""A query strategy for the learners of modAL."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.active._missing import MISSING_LABEL
from hedgerow.active._strategy import QueryStrategy


def modal_query(
    classifier: Any, X: Any, n_instances: int = 1, strategy: str = "auto", random_state: Any = 0
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Choose rows of a pool for a learner of modAL, as `ActiveLearner(estimator, query_strategy=modal_query)`.

    The learner's training rows count as labelled: what is like them is chosen less readily.

    Parameters
    ----------
    classifier : ActiveLearner of modAL
        The learner.
    X : array of shape (n_samples, n_features)
        The pool.
    n_instances : int
        How many rows to choose.
    strategy : str
        How they are chosen; `hedgerow.active.STRATEGIES` has the names.
    random_state : int or generator
        Seed of all random choices.

    Returns
    -------
    query_indices : array of int of shape (n_instances,)
        The chosen rows.
    utilities : array of shape (n_instances,)
        What each was worth when it was chosen.
    """
    X = np.asarray(X)
    known, labels = getattr(classifier, "X_training", None), getattr(classifier, "y_training", None)
    n_known = 0 if known is None or labels is None else len(labels)
    y = np.empty(len(X) + n_known, dtype=object)
    y[:] = MISSING_LABEL
    rows = X
    if n_known:
        rows = np.concatenate([X, np.asarray(known)])
        y[len(X) :] = np.asarray(labels).ravel().tolist()
    estimator = classifier.estimator if n_known and hasattr(classifier.estimator, "classes_") else None
    n = min(int(n_instances), len(X))
    chosen, utilities = QueryStrategy(strategy, random_state=random_state).query(
        rows, y, clf=estimator, fit_clf=False, candidates=np.arange(len(X)), batch_size=n, return_utilities=True
    )
    return chosen, utilities[np.arange(n), chosen]
