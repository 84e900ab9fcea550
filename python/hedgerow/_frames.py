"""Columns of pandas, polars and Arrow tables, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass
class FrameColumn:
    """A column: numbers, truth values (then `categories` is empty), or places in a list of categories; missing is NaN."""

    name: Any
    values: NDArray[Any]
    categories: list[str] | None = None
    is_boolean: bool = False


def is_frame(X: Any) -> bool:
    """Whether something is a table with columns of their own types."""
    return (hasattr(X, "iloc") and hasattr(X, "columns")) or hasattr(X, "__arrow_c_stream__")


def columns(X: Any) -> Iterator[FrameColumn]:
    """Read a table column by column."""
    package = type(X).__module__.split(".")[0]
    if package == "pandas" or hasattr(X, "iloc"):
        return _of_pandas(X)
    if package == "polars":
        return _of_polars(X)
    if package != "pyarrow":
        import pyarrow

        X = pyarrow.table(X)
    return _of_arrow(X)


def plain_pandas(X: Any) -> NDArray[Any] | None:
    """A pandas table as one array, without a copy where it is one; None if its columns are not all plain numbers."""
    if not hasattr(X, "iloc") or not all(isinstance(t, np.dtype) and t.kind in "iuf" for t in X.dtypes):
        return None
    values: NDArray[Any] = X.to_numpy()
    return values


def _wrong(name: Any, what: object) -> ValueError:
    return ValueError(f"column {name!r} holds {what}; expected numbers, truth values, text or categories")


def _of_pandas(X: Any) -> Iterator[FrameColumn]:
    import pandas

    for place, name in enumerate(X.columns):
        series = X.iloc[:, place]
        kind = series.dtype
        if isinstance(kind, pandas.CategoricalDtype):
            names = [str(category) for category in kind.categories]
            yield _coded(name, series.cat.codes.to_numpy(), names)
        elif pandas.api.types.is_bool_dtype(kind):
            yield FrameColumn(name, series.to_numpy(np.float32, na_value=np.nan), is_boolean=True)
        elif pandas.api.types.is_numeric_dtype(kind) and not pandas.api.types.is_complex_dtype(kind):
            plain = isinstance(kind, np.dtype)
            yield FrameColumn(name, series.to_numpy() if plain else series.to_numpy(np.float64, na_value=np.nan))
        elif kind == object or isinstance(kind, pandas.StringDtype):
            yield _of_objects(name, series)
        else:
            raise _wrong(name, kind)


def _of_objects(name: Any, series: Any) -> FrameColumn:
    import pandas

    present = series.dropna()
    if all(isinstance(value, str) for value in present):
        codes, found = pandas.factorize(series)
        return _coded(name, codes, [str(category) for category in found])
    if all(isinstance(value, (bool, np.bool_)) for value in present):
        return FrameColumn(name, series.to_numpy(np.float32, na_value=np.nan), is_boolean=True)
    try:
        return FrameColumn(name, pandas.to_numeric(series).to_numpy(np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        raise _wrong(name, "text among other things") from None


def _of_polars(X: Any) -> Iterator[FrameColumn]:
    import polars

    if isinstance(X, polars.LazyFrame):
        X = X.collect()
    for series in X.get_columns():
        kind = series.dtype
        if kind == polars.String or isinstance(kind, (polars.Categorical, polars.Enum)) or kind == polars.Categorical:
            text = series.cast(polars.String)
            if isinstance(kind, polars.Enum):
                names = kind.categories.to_list()
            else:
                names = text.drop_nulls().unique(maintain_order=True).to_list()
            places = {category: place for place, category in enumerate(names)}
            codes = text.replace_strict(places, default=-1, return_dtype=polars.Int32).fill_null(-1)
            yield _coded(series.name, codes.to_numpy(), names)
        elif kind == polars.Boolean:
            yield FrameColumn(series.name, series.cast(polars.Float32).fill_null(np.nan).to_numpy(), is_boolean=True)
        elif kind.is_numeric():
            has_gaps = series.null_count() > 0 or isinstance(kind, polars.Decimal)
            yield FrameColumn(
                series.name, (series.cast(polars.Float64).fill_null(np.nan) if has_gaps else series).to_numpy()
            )
        else:
            raise _wrong(series.name, kind)


def _of_arrow(X: Any) -> Iterator[FrameColumn]:
    import pyarrow
    from pyarrow import types

    for name, column in zip(X.schema.names, X.columns, strict=True):
        if isinstance(column, pyarrow.ChunkedArray):
            column = column.combine_chunks()
        if isinstance(column, pyarrow.ChunkedArray):  # newer versions keep chunks where an array would be too long
            column = column.chunk(0) if column.num_chunks else pyarrow.array([], column.type)
        kind = column.type
        if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            column, kind = column.dictionary_encode(), None
        if kind is None or types.is_dictionary(kind):
            codes = column.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            yield _coded(name, codes, [str(category) for category in column.dictionary.to_pylist()])
        elif types.is_boolean(kind):
            numbers = column.cast(pyarrow.int8()).to_numpy(zero_copy_only=False)
            yield FrameColumn(name, numbers.astype(np.float32), is_boolean=True)
        elif types.is_integer(kind) or types.is_floating(kind):
            yield FrameColumn(name, column.to_numpy(zero_copy_only=False))
        elif types.is_decimal(kind):
            yield FrameColumn(name, column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False))
        else:
            raise _wrong(name, kind)


def _coded(name: Any, codes: NDArray[Any], categories: list[str]) -> FrameColumn:
    """Places, with those below 0 missing."""
    values = codes.astype(np.float32)
    values[codes < 0] = np.nan
    return FrameColumn(name, values, categories)
