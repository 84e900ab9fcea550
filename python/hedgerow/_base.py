"""What estimators are built on: scikit-learn's classes where it is installed, small ones of the same shape where it is not."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = [
    "HAS_SKLEARN",
    "BaseEstimator",
    "CallbackSupportMixin",
    "ClassifierMixin",
    "DataConversionWarning",
    "NotFittedError",
    "OutlierMixin",
    "RegressorMixin",
    "with_callbacks",
]

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError

    HAS_SKLEARN = True
except ImportError:
    HAS_SKLEARN = False

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters by name."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Get the parameters by name."""
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name."""
            known = self._get_param_names()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(
                        f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {known!r}."
                    )
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = inspect.signature(type(self)).parameters
            changed = {
                name: value for name, value in self.get_params().items() if value is not defaults[name].default
            }
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """Accuracy as the score."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Share of rows predicted right."""
            right = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
            return float(np.average(right, weights=sample_weight))

    class OutlierMixin:  # type: ignore[no-redef]
        """Fits and predicts the same rows."""

        def fit_predict(self, X: Any, y: Any = None) -> Any:
            """Fit to rows and return -1 for outliers, 1 for others."""
            return self.fit(X).predict(X)  # type: ignore[attr-defined]

    class RegressorMixin:  # type: ignore[no-redef]
        """The coefficient of determination as the score."""

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            """Share of the variance of the targets that predictions explain (R²)."""
            y = np.asarray(y, float)
            missed = np.average((y - self.predict(X)) ** 2, weights=sample_weight)  # type: ignore[attr-defined]
            spread = np.average((y - np.average(y, weights=sample_weight)) ** 2, weights=sample_weight)
            return float(1 - missed / spread)

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """The estimator has not been fitted."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data were converted."""


Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback import with_callbacks as _with_callbacks

    def with_callbacks(method: Method) -> Method:
        """Let callbacks be told when a fit is over, however it ends."""
        told: Method = _with_callbacks(method)
        return told

except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing: callbacks need scikit-learn 1.9."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method


def threads(n_jobs: int | None) -> int:
    """Threads for the engine, where 0 is one a core, from scikit-learn's `n_jobs`."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ValueError("n_jobs: expected a number of threads, or -1 for one a core, got 0")
    if n_jobs == -1:
        return 0
    return n_jobs if n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + n_jobs)


def seed_of(random_state: Any) -> int:
    """Seed for the engine from scikit-learn's `random_state`: a number, None, or a generator of numpy."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**32))
    if random_state is None:
        random_state = np.random.mtrand._rand  # what numpy.random.seed sets
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**32, dtype=np.uint64))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise ValueError(f"random_state: expected None, a whole number from 0, or a numpy generator, got {random_state!r}")


def bytes_of(size: int | str | None) -> int | None:
    """Bytes from a number of them or a text such as `"500MB"`."""
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
    if size is None or isinstance(size, (int, np.integer)):
        n = size
    else:
        text = str(size).strip().upper()
        unit = units.get(text[-2:], 1)
        try:
            n = int(float(text[:-2] if unit > 1 else text) * unit)
        except ValueError:
            n = 0
    if n is not None and n <= 0:
        raise ValueError(f'max_memory: expected a number of bytes or a text such as "500MB", got {size!r}')
    return None if n is None else int(n)
