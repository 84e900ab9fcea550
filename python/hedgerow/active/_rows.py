"""The rows of a pool as the engine has them, and as a classifier wants them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow._table import TableReader

Array = NDArray[Any]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def take(X: Any, rows: Any) -> Any:
    """Take rows of an array or a table."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if type(X).__module__.startswith("pyarrow"):
        return X.take(np.asarray(rows))
    return X[rows]


class PoolRows:
    """Rows in one or two parts: those of X, and candidates that are not among them."""

    def __init__(self, X: Any, candidates: Any = None) -> None:
        """Read the rows."""
        self._reader = TableReader("QueryStrategy")
        self.parts = [X if _is_table(X) else np.asarray(X)]
        values = self._reader.first(self.parts[0])
        self.n_first = len(values)
        if candidates is not None:
            self.parts.append(candidates if _is_table(candidates) else np.asarray(candidates))
            more, new = self._reader.more(self.parts[1], grow=True)
            self._reader.grow(new)
            values = np.concatenate([np.asarray(values, np.float32), np.asarray(more, np.float32)])
        self.values = values
        self._places: dict[bytes, int] | None = None

    @property
    def columns(self) -> str | None:
        """What the columns are, where they are more than numbers without names."""
        return self._reader.json()

    def find(self, x: NDArray[np.float32]) -> Ints:
        """Find rows, of which the engine has given the values, among those that were read; of equal ones the first."""
        if self._places is None:
            own = _keys(np.asarray(self.values, np.float32))
            self._places = {key: place for place, key in reversed(list(enumerate(own)))}
        return np.array([self._places[key] for key in _keys(x)], np.int64)

    def predict(self, predict_proba: Any, places: Ints) -> Floats:
        """Call a function with rows as they were given, and return its predictions in order."""
        is_first = places < self.n_first
        if is_first.all():
            return np.asarray(predict_proba(take(self.parts[0], places)), np.float64)
        if not is_first.any():
            return np.asarray(predict_proba(take(self.parts[1], places - self.n_first)), np.float64)
        first, second = self.predict(predict_proba, places[is_first]), self.predict(predict_proba, places[~is_first])
        proba = np.empty((len(places), first.shape[1]))
        proba[is_first], proba[~is_first] = first, second
        return proba


def _keys(x: NDArray[np.float32]) -> list[bytes]:
    # Adding 0 makes zeros equal that differ in their sign.
    return [row.tobytes() for row in np.ascontiguousarray(x) + np.float32(0)]


def _is_table(X: Any) -> bool:
    return isinstance(X, np.ndarray) or hasattr(X, "columns") or hasattr(X, "schema")
