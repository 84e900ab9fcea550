"""What every classifier does: fit and predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow, _labels
from hedgerow._base import ClassifierMixin, with_callbacks
from hedgerow._hedgerow import Evidence
from hedgerow._estimator import Estimator, check_lengths
from hedgerow._evidence import EvidenceMixin
from hedgerow._table import TableReader

if TYPE_CHECKING:
    from typing_extensions import Self

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Classifier(EvidenceMixin, ClassifierMixin, Estimator):
    """The base of all classifiers of this package."""

    _task = "classification"

    classes_: Array

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Fit a model to rows; one that was there is forgotten.

        Ctrl-C ends the fit early: `KeyboardInterrupt` is raised, and the best model so far is there to be used.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows: numpy, pandas, polars or Arrow. Missing values are fine, and so are columns of text and categories in tables.
        y : array of shape (n_samples,)
            Their labels: numbers, text or truth values.

        Returns
        -------
        self
        """
        return self._fit(X, y, None)

    def predict_proba(self, X: Any) -> Floats:
        """Return a probability for each class of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The columns are in the order of `classes_`; each row sums to 1.
        """
        model = self._fitted()
        predictions: Floats = model.predict_proba(self._rows(X), threads=_base.threads(self.n_jobs))
        return predictions

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
        best = self.predict_proba(X).argmax(axis=1)
        predictions: Array = self.classes_[best]
        return predictions

    def predict_set(
        self, X: Any, level: float = 0.9, *, method: str = "balanced", never_empty: bool = False
    ) -> NDArray[np.bool_]:
        """Return for each row a set of classes that holds the true one for a share `level` of rows like those seen before.

        The sets come from the out-of-sample predictions of the fit; after `partial_fit`, from those made before its newest rows were learnt, so that
        they keep their share while the data change. A set may be empty: where a model is right more often than `level`, only so can the share be kept.

        >>> from hedgerow import OnlineForestClassifier
        >>> model = OnlineForestClassifier(random_state=0).fit([[i % 20] for i in range(400)], [i % 20 > 9 for i in range(400)])
        >>> model.predict_set([[1], [18]], level=0.95).tolist()
        [[True, False], [False, True]]

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        level : float
            The share of rows whose class is to be in its set, between 0 and 1.
        method : {"balanced", "marginal", "per-class", "adaptive"}
            Small sets under which no class is covered much less than the others; the smallest sets; sets that cover each class by itself; sets whose
            size follows how hard a row is.
        never_empty : bool
            Whether the most probable class is put into sets that would be empty.

        Returns
        -------
        array of bool of shape (n_samples, n_classes)
            Whether each class is in the set. The columns are in the order of `classes_`; see `classes_in` for the sets themselves.
        """
        model, threads = self._fitted(), _base.threads(self.n_jobs)
        sets: NDArray[np.bool_] = model.predict_set(
            self._rows(X), float(level), method=method, never_empty=bool(never_empty), threads=threads
        )
        return sets

    def classes_in(self, sets: Any) -> list[Array]:
        """Return the classes of each set that `predict_set` gave.

        Parameters
        ----------
        sets : array of bool of shape (n_samples, n_classes)
            Whether each class is in the set.

        Returns
        -------
        list of arrays
        """
        sets = np.asarray(sets, dtype=bool)
        if sets.ndim != 2 or sets.shape[1] != len(self.classes_):
            raise ValueError(f"expected sets of shape (n_samples, {len(self.classes_)}), got {sets.shape}")
        return [self.classes_[own] for own in sets]

    def predict_interval(self, X: Any, level: float = 0.9) -> Floats:
        """Return intervals in which the true probabilities of the classes of each row lie.

        What they claim is coverage: over training sets that might have been drawn, an interval holds the true probability so often, on
        average over rows. They are made from the rows that the model retains when they are first asked for, which takes about as long as
        a fit of a forest, and anew after more rows were learnt. The predicted probability may lie outside.

        >>> from hedgerow import OnlineForestClassifier
        >>> model = OnlineForestClassifier(random_state=0).fit([[i % 10] for i in range(100)], [i % 10 > 4 for i in range(100)])
        >>> model.predict_interval([[1.0], [9.0]]).shape
        (2, 2, 2)

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        level : float
            How often, between 0 and 1.

        Returns
        -------
        array of shape (n_samples, n_classes, 2)
            The lower ends and the upper ends. Classes are in the order of `classes_`.
        """
        if not 0.0 < level < 1.0:
            raise ValueError(f"level: expected a number between 0 and 1, got {level!r}")
        return np.stack(self.predict_true_probability(X).interval(level), axis=-1)

    def predict_true_probability(self, X: Any) -> Evidence:
        """Return a distribution over the true class probabilities of each row, of which `predict_interval` gives quantiles.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Evidence
            Its `about` is "true probability". It has the methods `mean`, `variance`, `quantile(level)`, `interval(level)`,
            `density(class_, points)`, `parts`, `counts` and `sample(n_samples, seed)`. The columns of their tables are in the order of `classes_`.
        """
        model = self._fitted()
        return model.true_probability(self._rows(X), threads=_base.threads(self.n_jobs))

    def _fit(self, X: Any, y: Any, weights: Any) -> Self:
        name = type(self).__name__
        reader = TableReader(name)
        values = reader.first(X)
        codes, classes = _labels.encode(_labels.column(y, name))
        check_lengths(values, codes)
        if len(classes) < 2:
            raise ValueError(
                f"{name} is fitted to at least two classes; the data have one class, {classes[0]!r} (n_samples={len(codes)})."
                " Where others come later, partial_fit can begin with one"
            )
        weights = checked_weights(weights, len(codes))
        fitted = self._fit_model(X, y, reader, values, codes, _labels.names(classes), weights)
        self._reader = reader
        self._take(fitted.model, classes)
        self._tell(fitted, codes)
        if fitted.raised is not None:
            raise fitted.raised
        return self

    def _tell(self, fitted: _hedgerow.Fitted, codes: _labels.Codes) -> None:
        """Set the attributes that only this kind of model has."""

    def _take(self, model: _hedgerow.Model, classes: Array) -> None:
        """Set the model and what is known of its columns and classes."""
        self._take_columns(model)
        self.classes_ = classes

    def _take_loaded(self, model: _hedgerow.Model) -> None:
        self._take(model, _labels.classes_of(model.classes))


class WithLogEvidence(Classifier):
    """A classifier whose fit tells the log marginal likelihood."""

    log_evidence_: float | None

    def _tell(self, fitted: _hedgerow.Fitted, codes: _labels.Codes) -> None:
        self.log_evidence_ = fitted.log_evidence


def checked_weights(weights: Any, n_rows: int) -> NDArray[np.float32] | None:
    if weights is None:
        return None
    weights = np.asarray(weights, dtype=np.float32)
    if weights.size and not weights.any():
        raise ValueError("all sample weights are zero: there is no row to learn from")
    if weights.ndim == 0:
        return np.full(n_rows, weights, np.float32)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    if len(weights) != n_rows:
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}!")
    return np.ascontiguousarray(weights)
