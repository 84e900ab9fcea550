"""Feature rows in any form as an array of numbers, with a description of its columns where they are more than that."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _frames

Array = NDArray[Any]
Columns = list[dict[str, Any]]
NewCategories = list[tuple[int, list[str]]]

# The number types that the engine reads where they lie.
_AS_IT_IS = frozenset("fdBbhHiIlLqQ")


def as_array(X: Any, estimator: str) -> Array:
    """Rows as a two-dimensional array of a number type that the engine reads; the array itself where it is one already."""
    if hasattr(X, "toarray") and hasattr(X, "nnz"):
        raise TypeError(
            f"Sparse data was passed for X, but {estimator} needs dense data. Use '.toarray()' to convert to a dense"
            " numpy array."
        )
    return _numbers(np.asarray(X))


def _numbers(X: Array) -> Array:
    if X.dtype.kind == "c":
        raise ValueError(f"Complex data not supported\n{X}\n")
    if X.ndim != 2:
        hint = (
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature or"
            " array.reshape(1, -1) if it contains a single sample."
            if X.ndim < 2
            else "Each row is one list of numbers."
        )
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead (shape {X.shape}). {hint}")
    if X.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.dtype.kind == "b":
        return X.view(np.uint8)
    if X.dtype.char in _AS_IT_IS and X.dtype.isnative and X.flags.aligned:
        return X
    if X.dtype.kind in "US":
        raise ValueError("X holds text; numbers are expected. Text columns go into a pandas, polars or Arrow table")
    return X.astype(np.float32 if X.dtype.kind in "fiu" and X.dtype.itemsize <= 4 else np.float64)


class TableReader:
    """Reads the rows of one task: the first ones define the columns, later ones must be like them."""

    def __init__(self, estimator: str, columns: Columns | None = None, n_features: int | None = None) -> None:
        """Know the columns already, or learn them from the first rows. Columns that are None are numbers without names."""
        self._estimator = estimator
        self._warned = False
        self.columns = columns
        self.n_features = n_features
        self.has_names = columns is not None
        self._index()

    def __getstate__(self) -> dict[str, Any]:
        """Give what a pickle keeps."""
        return {key: value for key, value in self.__dict__.items() if key not in ("_places", "_known")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle has kept."""
        self.__dict__.update(state)
        self._index()

    def json(self) -> str | None:
        """Describe the columns to the engine."""
        return None if self.columns is None else json.dumps(self.columns)

    def names(self) -> Array | None:
        """The names of the columns, where the data had such."""
        if self.columns is None or not self.has_names:
            return None
        return np.array([column["name"] for column in self.columns], dtype=object)

    def first(self, X: Any) -> Array:
        """Read the first rows, which define the columns."""
        if not _frames.is_frame(X):
            values = as_array(X, self._estimator)
            self.columns, self.has_names, self.n_features = None, False, values.shape[1]
            return values
        plain = _frames.plain_pandas(X)
        self.has_names = _named(list(_column_names(X)))
        if plain is not None:
            self.columns = [{"name": str(name), "kind": "numeric"} for name in X.columns] if self.has_names else None
            self.n_features = X.shape[1]
            self._index()
            return as_array(plain, self._estimator)
        found = list(_frames.columns(X))
        self.columns = [_describe(column) for column in found]
        self.n_features = len(found)
        self._index()
        return _together([column.values for column in found], self._estimator)

    def first_row(self, row: Mapping[Any, Any]) -> None:
        """Learn the columns from a row by name."""
        self.columns = [_describe_value(name, value) for name, value in row.items()]
        self.n_features, self.has_names = len(row), True
        self._index()

    def more(self, X: Any, grow: bool) -> tuple[Array, NewCategories]:
        """Read later rows: their numbers, and the categories that are new, by column, if they may `grow`.

        Otherwise a category that is not known is missing. New ones are not known before `grow` is called with them: the engine may
        refuse the rows.
        """
        if not _frames.is_frame(X):
            values = as_array(X, self._estimator)
            if self.has_names and not self._is_categorical:
                warnings.warn(
                    f"X does not have valid feature names, but {self._estimator} was fitted with feature names",
                    UserWarning,
                    stacklevel=4,
                )
            elif self._is_categorical:
                raise ValueError(
                    f"{self._estimator} was fitted to a table with categories and needs a table of the same columns,"
                    " not an array"
                )
            self._check_count(values.shape[1])
            return values, []
        self._check_names(X)
        plain = _frames.plain_pandas(X)
        if plain is not None and not self._is_categorical:
            return as_array(plain, self._estimator), []
        new: NewCategories = []
        numbers = []
        for place, column in enumerate(_frames.columns(X)):
            numbers.append(self._translate(place, column, grow, new))
        return _together(numbers, self._estimator), new

    def row(self, row: Mapping[Any, Any], grow: bool) -> tuple[Array, NewCategories]:
        """Read one row by name, in the same way. What is not in it is missing."""
        numbers = np.full((1, self.n_features or 0), np.nan, np.float32)
        new: NewCategories = []
        for name, value in row.items():
            place = self._places.get(name if isinstance(name, str) else str(name))
            if place is None:
                self._warn_of(name)
            elif value is not None:
                numbers[0, place] = self._number(place, value, grow, new)
        return numbers, new

    def grow(self, new: NewCategories) -> None:
        """Know categories from now on."""
        for place, names in new:
            known = self._known[place]
            if known is not None and self.columns is not None:
                known.update((name, len(known) + i) for i, name in enumerate(names))
                self.columns[place]["categories"].extend(names)

    def _index(self) -> None:
        """Prepare to look up columns and categories by name."""
        names = [c["name"] for c in self.columns] if self.columns else [str(i) for i in range(self.n_features or 0)]
        self._places = {name: place for place, name in enumerate(names)}
        lists = [c.get("categories") for c in self.columns or []]
        self._known: list[dict[str, int] | None] = [
            None if names is None else {name: i for i, name in enumerate(names)} for names in lists
        ]
        self._is_categorical = any(known is not None for known in self._known)

    def _translate(self, place: int, column: _frames.FrameColumn, grow: bool, new: NewCategories) -> Array:
        known = self._known[place] if self._known else None
        if known is None:
            if column.categories is not None:
                raise ValueError(f"column {column.name!r} had numbers before and has text or categories now")
            return column.values
        if column.categories is None:
            raise ValueError(f"column {column.name!r} had categories before and has numbers now")
        if grow:
            present = np.unique(column.values[~np.isnan(column.values)]).astype(int)
            names = [column.categories[i] for i in present if column.categories[i] not in known]
            if names:
                new.append((place, names))
                known = known | {name: len(known) + i for i, name in enumerate(names)}
        table = np.array([known.get(name, np.nan) for name in column.categories] + [np.nan], np.float32)
        places: Array = np.nan_to_num(column.values, nan=len(table) - 1).astype(int)
        return table[places]

    def _number(self, place: int, value: Any, grow: bool, new: NewCategories) -> float:
        known = self._known[place] if self._known else None
        if known is not None:
            name = str(value)
            if grow and name not in known and value == value:
                new.append((place, [name]))
                return len(known)
            return known.get(name, np.nan)
        try:
            return float(value)
        except (TypeError, ValueError):
            column = self.columns[place]["name"] if self.columns else place
            raise ValueError(f"column {column!r} had numbers before and has {value!r} now") from None

    def _check_count(self, n: int) -> None:
        if n != self.n_features:
            raise ValueError(
                f"X has {n} features, but {self._estimator} is expecting {self.n_features} features as input"
            )

    def _check_names(self, X: Any) -> None:
        names = _column_names(X)
        if not self.has_names:
            self._check_count(len(names))
            if _named(names):
                warnings.warn(
                    f"X has feature names, but {self._estimator} was fitted without feature names",
                    UserWarning,
                    stacklevel=5,
                )
            return
        expected = list(self._places)
        if not _named(names):
            warnings.warn(
                f"X does not have valid feature names, but {self._estimator} was fitted with feature names",
                UserWarning,
                stacklevel=5,
            )
        elif names != expected:
            raise ValueError(_name_difference(names, expected))
        self._check_count(len(names))

    def _warn_of(self, name: Any) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{name!r} is in this row but was not in the first one: {self._estimator} does not look at it (nor at"
                " other new names)",
                UserWarning,
                stacklevel=5,
            )


def _column_names(X: Any) -> list[Any]:
    if hasattr(X, "column_names"):
        return list(X.column_names)
    names = X.schema.names if hasattr(X, "schema") and hasattr(X.schema, "metadata") else getattr(X, "columns", None)
    if names is None:
        import pyarrow

        names = pyarrow.table(X).column_names
    return list(names)


def _named(names: list[Any]) -> bool:
    """Whether all columns have text for a name; fails if some have and some have not."""
    sorts = {isinstance(name, str) for name in names}
    if len(sorts) > 1:
        kinds = sorted({type(name).__qualname__ for name in names})
        raise TypeError(
            "Feature names are only supported if all input features have string names, but your input has"
            f" {kinds} as feature name / column name types. If you want feature names to be stored and validated, you"
            " must convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    return sorts == {True}


def _name_difference(names: list[str], expected: list[str]) -> str:
    def listed(some: list[str]) -> str:
        return "".join(f"- {name}\n" for name in sorted(some)[:5]) + ("- ...\n" if len(some) > 5 else "")

    message = "The feature names should match those that were passed during fit.\n"
    unexpected, missing = [n for n in names if n not in expected], [n for n in expected if n not in names]
    if unexpected:
        message += "Feature names unseen at fit time:\n" + listed(unexpected)
    if missing:
        message += "Feature names seen at fit time, yet now missing:\n" + listed(missing)
    if not unexpected and not missing:
        message += "Feature names must be in the same order as they were in fit.\n"
    return message


def _describe(column: _frames.FrameColumn) -> dict[str, Any]:
    if column.categories is not None:
        return {"name": str(column.name), "kind": "categorical", "categories": list(column.categories)}
    if column.is_boolean:
        return {"name": str(column.name), "kind": "boolean", "no": "false", "yes": "true"}
    return {"name": str(column.name), "kind": "numeric"}


def _describe_value(name: Any, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"name": str(name), "kind": "categorical", "categories": [value]}
    if isinstance(value, (bool, np.bool_)):
        return {"name": str(name), "kind": "boolean", "no": "false", "yes": "true"}
    return {"name": str(name), "kind": "numeric"}


def _together(columns: list[Array], estimator: str) -> Array:
    """Columns as one array, in the order in which they are written: by column."""
    if not columns:
        raise ValueError(f"Found a table with 0 feature(s), while a minimum of 1 is required by {estimator}.")
    values = np.empty((len(columns[0]), len(columns)), np.float32, order="F")
    for place, column in enumerate(columns):
        values[:, place] = column
    return values
