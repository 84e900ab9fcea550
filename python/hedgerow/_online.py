"""Classifiers that keep learning: batch by batch as in scikit-learn, row by row as in River."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow import _hedgerow, _labels
from hedgerow._classifier import Classifier, checked_weights
from hedgerow._estimator import check_lengths
from hedgerow._progress import Watchers
from hedgerow._table import NewCategories, TableReader


if TYPE_CHECKING:
    from numpy.typing import NDArray
    from typing_extensions import Self


class OnlineClassifier(Classifier):
    """A classifier that can go on learning."""

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
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

        Returns
        -------
        self
        """
        self._learn(X, y, classes, None)
        return self

    def predict_then_learn(
        self, X: Any, y: Any, delay: int = 0, classes: Any = None, sample_weight: Any = None
    ) -> NDArray[np.float64]:
        """Predict rows and learn them, one after the other: every prediction is made before the label of the row was known.

        How rows are cut into calls changes nothing. Rows whose labels have not come wait in the model; a call with delay 0 learns them first.

        >>> from hedgerow import OnlineForestClassifier
        >>> model = OnlineForestClassifier(n_estimators=10, random_state=0)
        >>> rows = [[i % 10] for i in range(300)]
        >>> proba = model.predict_then_learn(rows, [i % 10 > 4 for i in range(300)], delay=5)
        >>> proba.shape, model.n_waiting_
        ((300, 2), 5)

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels.
        delay : int
            The label of a row comes when so many more rows have come.
        classes : array, optional
            All classes there will be, if they are to have their columns from the start. Then other labels are an error.
        sample_weight : array of shape (n_samples,), optional
            The weight of each row, for kinds that take weights.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The probability of each class. Classes that were not known yet have 0.
        """
        if not isinstance(delay, Integral) or delay < 0:
            raise ValueError(f"`delay` must be a whole number, 0 or more (got {delay!r})")
        return self._learn(X, y, classes, sample_weight, int(delay))

    @property
    def n_waiting_(self) -> int:
        """Rows of `predict_then_learn` that wait for their labels."""
        return self._fitted().n_waiting

    def learn_one(self, x: Mapping[Any, Any], y: Any) -> None:
        """Learn one row, given by the names of its columns.

        >>> from hedgerow import OnlineForestClassifier
        >>> model = OnlineForestClassifier(n_estimators=10, random_state=0)
        >>> for i in range(100):
        ...     model.learn_one({"size": i % 10, "colour": "red" if i % 2 else "green"}, i % 10 > 4)
        >>> model.predict_one({"size": 9, "colour": "red"})
        True

        Parameters
        ----------
        x : mapping
            The values. What is missing is missing; columns that were not in the first row are not looked at.
        y : number, text or truth value
            The label.
        """
        label = _labels.column([y], type(self).__name__)
        is_first = not self.__sklearn_is_fitted__()
        if is_first:
            reader = TableReader(type(self).__name__)
            reader.first_row(x)
            self._begin(reader, label[:0])
        values, new_categories = self._reader.row(x, grow=True)
        self._learn_rows(values, label, new_categories, None, is_first=is_first)

    def predict_proba_one(self, x: Mapping[Any, Any]) -> dict[Any, float]:
        """Return the probability of each class for one row; nothing before anything was learnt.

        Parameters
        ----------
        x : mapping
            The values by the names of their columns.

        Returns
        -------
        dict
        """
        if not self.__sklearn_is_fitted__() or not len(self.classes_):
            return {}
        values, _ = self._reader.row(x, grow=False)
        prediction = self._model.predict_proba(values, threads=1)[0]
        return dict(zip(self.classes_.tolist(), prediction.tolist(), strict=True))

    def predict_one(self, x: Mapping[Any, Any]) -> Any:
        """Return the most probable class of one row; None before anything was learnt.

        Parameters
        ----------
        x : mapping
            The values by the names of their columns.
        """
        prediction = self.predict_proba_one(x)
        return max(prediction, key=prediction.__getitem__) if prediction else None

    # What River asks of an estimator beside its methods.
    _supervised = True
    _multiclass = True

    def _get_params(self) -> dict[str, Any]:
        return dict(self.get_params(deep=False))

    def _learn(self, X: Any, y: Any, classes: Any, weights: Any, delay: int = 0) -> NDArray[np.float64]:
        """Learn rows; return their predictions from before."""
        name = type(self).__name__
        labels = _labels.column(y, name)
        if classes is not None:
            classes = _labels.encode(_labels.column(classes, name))[1]
        if classes is not None:
            unknown = sorted(set(labels.tolist()) - set(classes.tolist()))
            if unknown:
                raise ValueError(f"`classes` has no {unknown[0]!r}, which is in `y`; without `classes` any may come")
        is_first = not self.__sklearn_is_fitted__()
        reader = TableReader(name) if is_first else self._reader
        values, new_categories = (reader.first(X), []) if is_first else reader.more(X, grow=True)
        check_lengths(values, labels)
        weights = checked_weights(weights, len(labels))
        if is_first:
            self._begin(reader, labels[:0] if classes is None else classes)
        return self._learn_rows(values, labels, new_categories, weights, X, is_first=is_first, delay=delay)

    def _early(self, X: Any) -> tuple[NDArray[Any], NDArray[np.float64], list[_hedgerow.Early]]:
        """Predict rows whose labels come later: their numbers, their predictions, and what is given back with the labels."""
        if not self.__sklearn_is_fitted__():
            reader = TableReader(type(self).__name__)
            if isinstance(X, Mapping):
                reader.first_row(X)
            else:
                reader.first(X)
            self._begin(reader, np.array([], dtype=object))
        if isinstance(X, Mapping):
            values, new_categories = self._reader.row(X, grow=True)
        else:
            values, new_categories = self._reader.more(X, grow=True)
        if new_categories:
            # What the numbers stand for must be known before they are kept.
            self._model.learn(values[:0], np.array([], np.int64), new_categories=new_categories)
            self._reader.grow(new_categories)
        proba, early = self._model.predict_early(values)
        return np.array(values), proba, early

    def _begin(self, reader: TableReader, classes: Any) -> None:
        """Make a model that knows nothing yet."""
        with self._argument_names():
            model = _hedgerow.Model(
                self._kind,
                self._engine_settings(),
                reader.n_features or 0,
                _labels.names(classes),
                columns=reader.json(),
            )
        self._reader = reader
        self._take(model, classes)

    def _learn_rows(
        self,
        values: Any,
        labels: Any,
        new_categories: NewCategories,
        weights: Any,
        X: Any = None,
        *,
        is_first: bool,
        delay: int = 0,
        earlier: list[_hedgerow.Early] | None = None,
    ) -> NDArray[np.float64]:
        """Let the engine learn rows; if it refuses them, everything is as it was."""
        codes, classes = _labels.encode_with(labels, self.classes_)
        watchers = Watchers(self, "learning", X, labels) if len(codes) > 1 else None
        try:
            update = self._model.learn(
                values,
                codes,
                new_classes=_labels.names(classes[len(self.classes_) :]),
                new_categories=new_categories,
                weights=weights,
                earlier=earlier,
                delay=delay,
                watch=watchers.watch() if watchers else None,
                **self._limits(),
            )
        except Exception:
            if is_first:
                del self._model
            raise
        finally:
            if watchers:
                watchers.close()
        self._reader.grow(new_categories)
        self.classes_ = classes
        if update.raised is not None:
            raise update.raised
        predictions: NDArray[np.float64] = update.predictions
        return predictions
