"""A classifier, a pool of rows, and labels that come one after the other."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow, _labels
from hedgerow._classifier import Classifier
from hedgerow._forest import OnlineForestClassifier
from hedgerow._online import OnlineClassifier
from hedgerow.active import _model
from hedgerow.active._advice import Advice, advice_of
from hedgerow.active._missing import MISSING_LABEL, is_labelled, known_labels, labels_of
from hedgerow.active._rows import PoolRows, take
from hedgerow.active._strategy import QueryStrategy, _count

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Labels up to which a classifier is fitted anew to each, and for so many of which there is a new fit later.
_FITTED_ANEW = 400
_FIT_SHARE = 8


class ActiveLearner:
    """Ask for the labels that should help a classifier most, and have it learn each at once.

    It begins without any label. What it asks and predicts follows from rows, labels in their order and arguments alone: labels that were taken back
    leave no trace.

    >>> import numpy as np
    >>> from hedgerow.active import ActiveLearner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> learner = ActiveLearner(X, random_state=0)
    >>> rows = learner.ask(2)
    >>> learner.tell(rows, ["left", "right"])
    >>> learner.undo().tolist() == rows.tolist(), learner.n_labels
    (True, 0)

    Parameters
    ----------
    X : array or table of shape (n_samples, n_features)
        The rows: numpy, pandas, polars or Arrow.
    y : array of shape (n_samples,), optional
        Labels that are there already, with `missing_label` for the others.
    classifier : classifier, optional
        A classifier of this package or of scikit-learn; without it, `OnlineForestClassifier`. It stays as it is: copies are fitted.
    strategy : str
        How rows are chosen; `hedgerow.active.STRATEGIES` has the names.
    diversity : float
        How much less a row counts that is like one chosen before it for the same batch, from 0 (not at all) to 1 (a copy counts nothing).
    stopping : dict, optional
        Parameters of the advice whether to stop, such as `{"rule": "cost", "label_price": 2, "error_price": 1, "horizon": 30000}`.
    n_jobs : int or None
        Threads: a number, -1 for one a core, None for one. Results do not depend on it.
    missing_label : number, text or None
        What stands for a missing label in `y`.
    random_state : int, generator or None
        Seed of all random choices.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        classifier: Any = None,
        strategy: str = "auto",
        diversity: float = 1.0,
        stopping: Mapping[str, Any] | None = None,
        n_jobs: int | None = -1,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        seed = _base.seed_of(random_state)
        self.classifier = OnlineForestClassifier(random_state=seed) if classifier is None else classifier
        self.missing_label = missing_label
        self.reasons: list[str] = []
        self._threads = _base.threads(n_jobs)
        self._rows = PoolRows(X)
        settings = QueryStrategy(strategy, diversity=diversity)._settings(seed)
        stop = [(name, json.dumps(value)) for name, value in (stopping or {}).items()]
        self._pool = _hedgerow.ActivePool(self._rows.values, settings, stop, columns=self._rows.columns)
        self._labels: dict[int, Any] = {}
        self._told: list[list[tuple[int, bool, Any]]] = []
        self._fitted: tuple[Any, list[tuple[int, Any]], int] | None = None
        self._coded: list[tuple[int, int]] = []
        self._classes: Array = np.array([])
        if y is not None:
            given = labels_of(y)
            mask = is_labelled(given, missing_label)
            if len(given) != self._rows.n_first:
                raise ValueError(f"y: expected a label or a missing one for each of {self._rows.n_first} rows, got {len(given)}")
            self._labels.update(zip(np.flatnonzero(mask).tolist(), known_labels(given, mask).tolist(), strict=True))

    def ask(self, n: int = 1) -> Ints:
        """Choose rows to be labelled; why each was chosen is in `reasons` afterwards.

        Parameters
        ----------
        n : int
            How many; fewer are returned where fewer have no label.

        Returns
        -------
        array of int of shape (n,)
            Their numbers, the most useful first.
        """
        n = _count("n", n)
        asked = self._update()
        queried = self._pool.query(n, threads=self._threads, **asked.arguments())
        rows: Ints = queried[0]
        self.reasons = queried[2]
        return rows

    def tell(self, rows: Any, labels: Any) -> None:
        """Give rows labels, or other labels than they had.

        Parameters
        ----------
        rows : array of int, or int
            Their numbers.
        labels : array, or one label
            Their labels: numbers, text or truth values.
        """
        numbers = np.atleast_1d(np.asarray(rows))
        own = labels_of([labels] if isinstance(labels, str) or np.ndim(labels) == 0 else labels)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            raise ValueError(f"rows: expected numbers of rows, got {numbers.dtype} of shape {numbers.shape}")
        if len(numbers) != len(own):
            raise ValueError(f"labels: expected one for each of {len(numbers)} rows, got {len(own)}")
        wrong = (numbers < 0) | (numbers >= self._rows.n_first)
        if wrong.any():
            raise ValueError(f"rows: expected numbers from 0 to {self._rows.n_first - 1}, got {int(numbers[wrong][0])}")
        if not is_labelled(own, self.missing_label).all():
            raise ValueError("labels: one of them is missing")
        known = _labels.column(np.array(own.tolist()), "ActiveLearner").tolist()
        if self._labels and known and isinstance(known[0], str) != isinstance(next(iter(self._labels.values())), str):
            raise ValueError(f"labels: so far they are like {next(iter(self._labels.values()))!r}, and now there is {known[0]!r}")
        told = []
        for row, label in zip(numbers.tolist(), known, strict=True):
            told.append((row, row in self._labels, self._labels.get(row)))
            self._labels[row] = label
        self._told.append(told)

    def undo(self) -> Ints | None:
        """Take back the labels of the last `tell`.

        Returns
        -------
        array of int or None
            The rows; None if there is nothing to take back.
        """
        if not self._told:
            return None
        told = self._told.pop()
        for row, was_there, label in reversed(told):
            if was_there:
                self._labels[row] = label
            else:
                self._labels.pop(row, None)
        return np.array([row for row, _, _ in told], np.int64)

    def should_stop(self) -> Advice:
        """Say whether more labels are worth their price, with a reason, and what the next ten would gain.

        Returns
        -------
        Advice
            True if labelling may stop; `str` tells why.
        """
        self._update()
        classifier = self.classifier
        if isinstance(classifier, Classifier) and self._rows.columns is None:
            settings = classifier._engine_settings()
            return advice_of(self._pool.advise(kind=classifier._kind, settings=settings, threads=self._threads))
        return advice_of(self._pool.advise(train=self._train, threads=self._threads))

    @property
    def n_labels(self) -> int:
        """How many rows have a label."""
        return len(self._labels)

    @property
    def labelled(self) -> Ints:
        """The rows with a label, in the order in which the labels came."""
        return np.array(list(self._labels), np.int64)

    @property
    def y(self) -> Array:
        """All labels, with `missing_label` for those that are missing."""
        labels = np.empty(self._rows.n_first, dtype=object)
        labels[:] = self.missing_label
        for row, label in self._labels.items():
            labels[row] = label
        return labels

    @property
    def model(self) -> Any:
        """The classifier, fitted to the labels there are; None without two classes."""
        self._update()
        return self._fitted[0] if self._fitted else None

    def predict(self, X: Any) -> Array:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        predictions: Array = self._needed().predict(X)
        return predictions

    def predict_proba(self, X: Any) -> Floats:
        """Return a probability for each class of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The columns are in the order of `model.classes_`.
        """
        proba: Floats = self._needed().predict_proba(X)
        return proba

    def _needed(self) -> Any:
        model = self.model
        if model is None:
            raise _base.NotFittedError("This ActiveLearner has no model yet: that takes labels of two classes.")
        return model

    def _update(self) -> _model.Asked:
        """Have the classifier learn the labels that it has not learnt, and the pool know them."""
        labels = list(self._labels.items())
        known = np.array([label for _, label in labels])
        if len(known) == 0 or (known == known[0]).all():
            self._fitted = None
        else:
            self._fit(labels, known)
        asked = _model.Asked(self._fitted[0] if self._fitted else None, self._rows, known)
        coded = list(zip([row for row, _ in labels], asked.codes.tolist(), strict=True))
        # The pool has the labels in their order.
        if coded[: len(self._coded)] != self._coded:
            gone = np.array([row for row, _ in self._coded], np.int64)
            self._pool.label(gone, np.full(len(gone), -1, np.int64), _labels.names(self._classes))
            self._coded = []
        new = np.array(coded[len(self._coded) :], np.int64).reshape(-1, 2)
        self._pool.label(new[:, 0].copy(), new[:, 1].copy(), _labels.names(asked.classes))
        self._coded, self._classes = coded, asked.classes
        return asked

    def _fit(self, labels: list[tuple[int, Any]], known: Array) -> None:
        n_fitted = self._n_fitted(known)
        if self._fitted is not None:
            model, learnt, fitted_to = self._fitted
            if fitted_to == n_fitted and labels[: len(learnt)] == learnt:
                if len(learnt) < len(labels):
                    rows = np.array([row for row, _ in labels[len(learnt) :]])
                    model.partial_fit(take(self._rows.parts[0], rows), known[len(learnt) :])
                    self._fitted = (model, labels, n_fitted)
                return
        rows = np.array([row for row, _ in labels])
        model = _model.clone(self.classifier).fit(take(self._rows.parts[0], rows[:n_fitted]), known[:n_fitted])
        if n_fitted < len(labels):
            model.partial_fit(take(self._rows.parts[0], rows[n_fitted:]), known[n_fitted:])
        self._fitted = (model, labels, n_fitted)

    def _n_fitted(self, known: Array) -> int:
        """How many of the labels a classifier is fitted to; it learns the others one by one."""
        n, fitted = len(known), _FITTED_ANEW
        kind = getattr(self.classifier, "_kind", "")
        if n <= fitted or not isinstance(self.classifier, OnlineClassifier) or not _hedgerow.learns_at_once(kind):
            return n
        while fitted + fitted // _FIT_SHARE <= n:
            fitted += fitted // _FIT_SHARE
        return fitted if (known[:fitted] != known[0]).any() else n

    def _train(self, x: NDArray[np.float32], codes: Ints, seed: int) -> Any:
        """Train a copy of the classifier on rows that the engine gives."""
        own = _model.clone(self.classifier)
        if "random_state" in own.get_params(deep=False):
            own.set_params(random_state=seed % 2**32)
        places = self._rows.find(x)
        own.fit(take(self._rows.parts[0], places), self._classes[codes])
        places_of = {label: place for place, label in enumerate(self._classes.tolist())}
        columns = [places_of[label] for label in np.asarray(own.classes_).tolist()]

        def predict(x: NDArray[np.float32]) -> Floats:
            proba = self._rows.predict(own.predict_proba, self._rows.find(x))
            wide = np.zeros((len(proba), len(places_of)))
            wide[:, columns] = proba
            return wide

        return predict
