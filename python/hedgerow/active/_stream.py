"""Which rows of a stream should be labelled."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow
from hedgerow._base import BaseEstimator

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class StreamQuerier(BaseEstimator):
    """Ask for the labels of a share of the rows of a stream.

    It asks for the labels of the rows that a classifier is most uncertain about, by a threshold that follows the stream, and for some at random: a
    classifier is
    certain where it has learnt something that is no longer true. At no time have there been more labels than `budget` allows.

    With the methods `query` and `update` it follows the conventions of scikit-activeml's stream strategies; `ask` does both for one row.

    Parameters
    ----------
    budget : float, default=0.05
        The share of rows whose labels are asked for at most.
    random_share : float or None, default=None
        The share of these labels that is asked for at random; None leaves it to the engine.
    random_state : int, generator or None, default=None
        Seed of all random choices.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import OnlineForestClassifier
    >>> from hedgerow.active import StreamQuerier
    >>> X = np.random.default_rng(0).normal(size=(1000, 2))
    >>> model, querier = OnlineForestClassifier(n_estimators=20, random_state=0), StreamQuerier(budget=0.1, random_state=0)
    >>> for row in X:
    ...     if querier.ask(row, model):
    ...         _ = model.partial_fit([row], [row[0] > 0])
    >>> querier.n_queried_ <= 100, bool((model.predict(X) == (X[:, 0] > 0)).mean() > 0.9)
    (True, True)
    """

    def __init__(self, budget: float = 0.05, *, random_share: float | None = None, random_state: Any = None) -> None:
        self.budget = budget
        self.random_share = random_share
        self.random_state = random_state

    def query(self, candidates: Any, clf: Any = None, return_utilities: bool = False) -> Any:
        """Say which of the next rows should be labelled; `update` has to follow.

        Parameters
        ----------
        candidates : array of shape (n_samples, n_features)
            The next rows of the stream, in order.
        clf : classifier, optional
            The classifier, as it is; without it, or as long as it has not been fitted, all rows are equally uncertain.
        return_utilities : bool
            Whether to return how uncertain the rows are, too.

        Returns
        -------
        queried_indices : array of int
            The numbers of the rows whose labels should be asked for.
        utilities : array of shape (n_samples,)
            From 0 to 1; only if they are asked for.
        """
        proba = _proba(candidates, clf)
        queried = np.flatnonzero(self._engine().query(proba, commit=False)).astype(np.int64)
        self._last = proba
        if return_utilities:
            return queried, _hedgerow.StreamQuerier.uncertainty(proba)
        return queried

    def update(self, candidates: Any, queried_indices: Any, **budget_manager_params: Any) -> StreamQuerier:
        """Take in that the rows of the last `query` have passed.

        Parameters
        ----------
        candidates : array of shape (n_samples, n_features)
            The rows of that query.
        queried_indices : array of int
            What it returned.
        budget_manager_params : dict
            Taken and not looked at, as scikit-activeml's strategies pass such.

        Returns
        -------
        self
        """
        last = self.__dict__.pop("_last", None)
        if last is None or len(last) != len(candidates):
            raise ValueError("update: expected the candidates of the last query, which it follows")
        self._engine().query(last, commit=True)
        return self

    def ask(self, x: Any, clf: Any = None) -> bool:
        """Say whether the label of the next row should be asked for, and remember it.

        Parameters
        ----------
        x : array of shape (n_features,)
            The row.
        clf : classifier, optional
            The classifier, as it is.

        Returns
        -------
        bool
        """
        return bool(self._engine().query(_proba([x], clf), commit=True)[0])

    @property
    def n_seen_(self) -> int:
        """Rows so far."""
        return self._engine().state()[0]

    @property
    def n_queried_(self) -> int:
        """Labels asked for so far."""
        return self._engine().state()[1]

    @property
    def n_random_(self) -> int:
        """How many of them were asked for at random."""
        return self._engine().state()[2]

    def _engine(self) -> _hedgerow.StreamQuerier:
        engine: _hedgerow.StreamQuerier | None = self.__dict__.get("_querier")
        if engine is None:
            settings: dict[str, Any] = {"rate": float(self.budget), "seed": _base.seed_of(self.random_state)}
            if self.random_share is not None:
                settings["random_share"] = float(self.random_share)
            engine = _hedgerow.StreamQuerier([(name, json.dumps(value)) for name, value in settings.items()])
            self._querier = engine
        return engine

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if "_querier" in state:
            state["_querier"] = state["_querier"].to_json()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_querier"), str):
            self._querier = _hedgerow.StreamQuerier.from_json(state["_querier"])


def _proba(rows: Any, clf: Any) -> Floats:
    """Predict rows; without a classifier that has been fitted, nothing is known of them."""
    if clf is None or not hasattr(clf, "classes_"):
        return np.zeros((len(rows), 0))
    return np.ascontiguousarray(clf.predict_proba(rows), np.float64)
