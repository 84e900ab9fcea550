"""Labels that come later than their rows, in any order, or never."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _hedgerow, _labels
from hedgerow._online import OnlineClassifier


class LateLabels:
    """Predicts rows now, keeps them, and lets a classifier learn each when its label comes.

    Calibration learns from what was predicted when the row came, not from what would be predicted by then: the model may have learnt much
    since. Labels may come in any order; rows are told apart by keys. Rows are learnt in the order of their labels, and how labels are cut
    into calls changes nothing. It can be pickled, with the model and the rows that wait.

    Where all labels are there already and only to be held back for so many rows, use `predict_then_learn(X, y, delay=...)` of the model.

    >>> from hedgerow import LateLabels, OnlineForestClassifier
    >>> late = LateLabels(OnlineForestClassifier(n_estimators=10, random_state=0).fit([[0.0], [1.0]] * 20, ["no", "yes"] * 20))
    >>> late.predict([[0.9], [0.1]], keys=["order 1", "order 2"]).tolist()
    ['yes', 'no']
    >>> len(late)
    2
    >>> late.learn(["order 2"], ["no"])
    >>> late.keys()
    ['order 1']

    Row by row, by the names of columns:

    >>> late = LateLabels(OnlineForestClassifier(n_estimators=10, random_state=0))
    >>> for day in range(100):
    ...     _ = late.predict_one({"size": day % 10}, key=day)
    ...     if day >= 7:
    ...         late.learn_one(day - 7, (day - 7) % 10 > 4)
    >>> late.model.predict_one({"size": 9}), len(late)
    (True, 7)

    Parameters
    ----------
    model : classifier that learns more
        It may be fitted or not, and can be used and trained by itself at any time.
    """

    def __init__(self, model: OnlineClassifier) -> None:
        """Begin with no row."""
        if not isinstance(model, OnlineClassifier):
            raise TypeError(f"`model` must be a classifier that learns more, one with `partial_fit` (got {model!r})")
        self.model = model
        self._waiting: dict[Hashable, tuple[NDArray[Any], _hedgerow.Early]] = {}

    def __len__(self) -> int:
        """Give how many rows wait for their labels."""
        return len(self._waiting)

    def __contains__(self, key: Hashable) -> bool:
        """Say whether the row of a key waits for its label."""
        return key in self._waiting

    def __iter__(self) -> Iterator[Hashable]:
        """Go through the keys of rows that wait, the oldest first."""
        return iter(self._waiting)

    def __getstate__(self) -> dict[str, Any]:
        waiting = {key: (values, early.text()) for key, (values, early) in self._waiting.items()}
        return {"model": self.model, "waiting": waiting}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.model = state["model"]
        waiting = state["waiting"].items()
        self._waiting = {key: (values, _hedgerow.Early(text)) for key, (values, text) in waiting}

    def keys(self) -> list[Hashable]:
        """Return the keys of rows that wait for their labels, the oldest first."""
        return list(self._waiting)

    def predict_proba(self, X: Any, keys: Iterable[Hashable]) -> NDArray[np.float64]:
        """Return a probability for each class of each row, and keep the rows until their labels come.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        keys : iterable of n_samples hashable objects
            What each row will be called when its label comes.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The columns are in the order of `model.classes_`; there are none before the first label.
        """
        keys = list(keys)
        self._check_new(keys)
        values, proba, early = self.model._early(X)
        if len(keys) != len(values):
            raise ValueError(f"`keys` must be one for each row: there are {len(values)} rows and {len(keys)} keys")
        self._waiting.update((key, (values[i : i + 1].copy(), early[i])) for i, key in enumerate(keys))
        return proba

    def predict(self, X: Any, keys: Iterable[Hashable]) -> NDArray[Any]:
        """Return the most probable class of each row, and keep the rows until their labels come.

        Before the first label it is None.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        keys : iterable of n_samples hashable objects
            What each row will be called when its label comes.

        Returns
        -------
        array of shape (n_samples,)
        """
        proba = self.predict_proba(X, keys)
        if not proba.shape[1]:
            return np.full(len(proba), None, dtype=object)
        predictions: NDArray[Any] = self.model.classes_[proba.argmax(axis=1)]
        return predictions

    def predict_proba_one(self, x: Mapping[Any, Any], key: Hashable) -> dict[Any, float]:
        """Return the probability of each class for one row, and keep it until its label comes.

        Parameters
        ----------
        x : mapping
            The values by the names of their columns.
        key : hashable object
            What the row will be called when its label comes.

        Returns
        -------
        dict
            Empty before the first label.
        """
        proba = self.predict_proba(x, [key])[0]
        return dict(zip(self.model.classes_.tolist(), proba.tolist(), strict=True))

    def predict_one(self, x: Mapping[Any, Any], key: Hashable) -> Any:
        """Return the most probable class of one row, and keep it until its label comes; None before the first label.

        Parameters
        ----------
        x : mapping
            The values by the names of their columns.
        key : hashable object
            What the row will be called when its label comes.
        """
        return self.predict(x, [key]).tolist()[0]

    def learn(self, keys: Iterable[Hashable], y: Any) -> None:
        """Learn rows whose labels have come, in this order. If the model refuses one, all of them go on waiting.

        Parameters
        ----------
        keys : iterable of n_samples hashable objects
            What the rows were called when they were predicted.
        y : array of shape (n_samples,)
            Their labels.
        """
        keys = list(keys)
        labels = _labels.column(y, type(self.model).__name__)
        if len(keys) != len(labels):
            raise ValueError(f"`keys` must be one for each label: there are {len(labels)} labels and {len(keys)} keys")
        if len(set(keys)) < len(keys):
            raise ValueError("`keys` must not have a key twice")
        if not keys:
            return
        rows = [self._row(key) for key in keys]
        values = np.concatenate([values for values, _ in rows])
        self.model._learn_rows(values, labels, [], None, values, is_first=False, earlier=[early for _, early in rows])
        self.drop(keys)

    def learn_one(self, key: Hashable, y: Any) -> None:
        """Learn one row whose label has come.

        Parameters
        ----------
        key : hashable object
            What the row was called when it was predicted.
        y : number, text or truth value
            Its label.
        """
        self.learn([key], [y])

    def drop(self, keys: Iterable[Hashable]) -> None:
        """Keep rows no longer: their labels will not come.

        Parameters
        ----------
        keys : iterable of hashable objects
            What the rows were called when they were predicted.
        """
        keys = list(keys)
        for key in keys:
            self._row(key)
        for key in keys:
            self._waiting.pop(key, None)

    def _row(self, key: Hashable) -> tuple[NDArray[Any], _hedgerow.Early]:
        if key not in self._waiting:
            raise KeyError(f"no row {key!r} waits for its label")
        return self._waiting[key]

    def _check_new(self, keys: list[Hashable]) -> None:
        known = set(self._waiting)
        for key in keys:
            if key in known:
                raise ValueError(f"`keys` must be new: a row {key!r} waits for its label already")
            known.add(key)
