"""What every regressor does: fit, and predict values and intervals."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow
from hedgerow._base import RegressorMixin, with_callbacks
from hedgerow._estimator import WithKernel, check_lengths
from hedgerow._labels import flat
from hedgerow._table import TableReader

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


class Regressor(RegressorMixin, WithKernel):
    """The base of all regressors of this package."""

    _task = "regression"

    log_evidence_: float | None
    notes_: list[str]

    @with_callbacks
    def fit(self, X: Any, y: Any) -> Self:
        """Fit a model to rows; one that was there is forgotten.

        Ctrl-C ends the fit early: `KeyboardInterrupt` is raised, and the best model so far is there to be used.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows: numpy, pandas, polars or Arrow. Missing values are fine, and so are columns of text and categories in tables.
        y : array of shape (n_samples,)
            Their values.

        Returns
        -------
        self
        """
        reader = TableReader(type(self).__name__)
        rows = reader.first(X)
        values = _values(y, type(self).__name__)
        check_lengths(rows, values)
        if len(rows) < 2:
            raise ValueError(f"{type(self).__name__} needs more than 1 sample, got n_samples = {len(rows)}")
        fitted = self._fit_model(X, y, reader, rows, values)
        self._reader = reader
        self._take_columns(fitted.model)
        self.log_evidence_, self.notes_ = fitted.log_evidence, fitted.notes
        if fitted.raised is not None:
            raise fitted.raised
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the value of each row.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        return_std : bool
            Return the standard deviation of what would be observed as well.

        Returns
        -------
        array of shape (n_samples,), or two of them
        """
        mean, variance = self._fitted().predict_values(self._rows(X), threads=_base.threads(self.n_jobs))
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_interval(self, X: Any, coverage: float = 0.9) -> Floats:
        """Return the interval in which the value of each row lies with a probability.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.
        coverage : float
            That probability, between 0 and 1.

        Returns
        -------
        array of shape (n_samples, 2)
            The lower ends and the upper ends.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage: expected a number between 0 and 1, got {coverage!r}")
        mean, deviation = self.predict(X, return_std=True)
        reach = NormalDist().inv_cdf(0.5 + coverage / 2) * deviation
        return np.column_stack([mean - reach, mean + reach])


class OnlineRegressor(Regressor):
    """A regressor that can learn more."""

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn more rows, in order; the first call makes the model.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows. Categories that were not in the first rows count as missing.
        y : array of shape (n_samples,)
            Their values.

        Returns
        -------
        self
        """
        values = _values(y, type(self).__name__)
        is_first = not self.__sklearn_is_fitted__()
        reader = TableReader(type(self).__name__) if is_first else self._reader
        rows = reader.first(X) if is_first else reader.more(X, grow=False)[0]
        check_lengths(rows, values)
        if is_first:
            n_features = reader.n_features or 0
            with self._argument_names():
                model = _hedgerow.Model(self._kind, self._engine_settings(), n_features, columns=reader.json())
        else:
            model = self._model
        raised = model.learn(rows, values, **self._limits()).raised
        self._reader = reader
        self._take_columns(model)
        if raised is not None:
            raise raised
        return self


def _values(y: Any, estimator: str) -> Floats:
    if y is None:
        raise ValueError(f"{estimator} requires y to be passed, but the target y is None")
    values = flat(np.asarray(y))
    if values.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{values}\n")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise ValueError(f"Input y contains NaN or infinity: row {int((~np.isfinite(values)).argmax()) + 1} has no value")
    return np.ascontiguousarray(values)
