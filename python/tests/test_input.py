"""Rows and labels in every form."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from conftest import fresh

from hedgerow import OnlineForestClassifier


def forest(**arguments):
    return OnlineForestClassifier(n_estimators=20, random_state=0, **arguments)


@pytest.fixture(scope="module")
def whole_numbers():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 100, size=(400, 5))
    return X, (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 70)


@pytest.mark.parametrize(
    "form",
    ["f2", "f4", "f8", "g", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">f4", ">i8", "O"],
)
def test_every_number_type_says_the_same(whole_numbers, form):
    X, y = whole_numbers
    expected = forest().fit(X, y).predict_proba(X)
    there = X.astype(form)
    model = forest().fit(there, y)
    np.testing.assert_array_equal(model.predict_proba(there), expected)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("form", ["f4", "f8", "i8", "u1"])
def test_every_memory_layout_says_the_same(whole_numbers, form):
    X, y = whole_numbers
    X = X.astype(form)
    expected = forest().fit(X, y).predict_proba(X)
    wide = np.zeros((800, 11), form)
    wide[::2, 1:11:2] = X
    read_only = X.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(form).reshape(X.shape)
    for there in [np.asfortranarray(X), wide[::2, 1:11:2], X[::-1][::-1], read_only, unaligned]:
        np.testing.assert_array_equal(there, X)
        np.testing.assert_array_equal(forest().fit(there, y).predict_proba(there), expected)


def test_truth_values_are_numbers_too():
    X = np.random.default_rng(0).random((200, 6)) > 0.5
    y = X[:, 0] ^ X[:, 1]
    model = forest().fit(X, y)
    assert model.classes_.dtype == bool
    assert model.score(X, y) == 1.0


def frames():
    """The same table three times: numbers with gaps, text, categories, truth values."""
    rng = np.random.default_rng(1)
    n = 300
    size = rng.normal(size=n).round(2)
    colour = np.array(["red", "green", "blue"])[rng.integers(0, 3, n)]
    shape = np.array(["round", "square"])[rng.integers(0, 2, n)]
    ripe = rng.random(n) > 0.5
    gap = np.arange(n) % 17 == 0
    y = np.where((colour == "red") ^ ripe, "eat", "wait")
    size_list = [None if g else float(v) for g, v in zip(gap, size, strict=True)]
    colour_list = [None if g else str(c) for g, c in zip(gap, colour, strict=True)]
    in_pandas = pd.DataFrame(
        {
            "size": np.where(gap, np.nan, size),
            "colour": pd.Series(colour_list, dtype="str"),
            "shape": pd.Categorical(shape, categories=["round", "square"]),
            "ripe": ripe,
        }
    )
    in_polars = pl.DataFrame(
        {
            "size": size_list,
            "colour": colour_list,
            "shape": pl.Series(shape.tolist(), dtype=pl.Enum(["round", "square"])),
            "ripe": ripe,
        }
    )
    in_arrow = pa.table(
        {
            "size": pa.array(size_list),
            "colour": pa.array(colour_list),
            "shape": pa.DictionaryArray.from_arrays(pa.array((shape == "square").astype("i1")), ["round", "square"]),
            "ripe": pa.array(ripe),
        }
    )
    return {"pandas": in_pandas, "polars": in_polars, "arrow": in_arrow}, y


def test_tables_of_three_packages_say_the_same(any_model):
    tables, y = frames()
    predictions = {}
    for name, table in tables.items():
        model = fresh(any_model).fit(table, y)
        assert model.feature_names_in_.tolist() == ["size", "colour", "shape", "ripe"]
        assert model.score(table, y) > 0.85, name
        predictions[name] = model.predict_proba(table)
        # And each can be asked with the others' tables.
        for other in tables.values():
            np.testing.assert_array_equal(model.predict_proba(other), predictions[name])
    np.testing.assert_array_equal(predictions["pandas"], predictions["polars"])
    np.testing.assert_array_equal(predictions["pandas"], predictions["arrow"])


def test_categories_are_matched_by_name_not_by_code():
    tables, y = frames()
    table = tables["pandas"]
    model = forest().fit(table, y)
    turned = table.assign(shape=table["shape"].cat.reorder_categories(["square", "round"]))
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(table))
    unknown = table.assign(colour="mauve")
    missing = table.assign(colour=pd.Series([None] * len(table), dtype="str"))
    np.testing.assert_array_equal(model.predict_proba(unknown), model.predict_proba(missing))


def test_new_categories_are_learnt(online_model):
    frame = pd.DataFrame({"kind": ["a", "b"] * 60, "size": np.arange(120.0)})
    model = online_model.partial_fit(frame, ["x", "y"] * 60)
    later = pd.DataFrame({"kind": ["c"] * 120, "size": np.arange(120.0)})
    model.partial_fit(later, ["z"] * 120)
    assert model.classes_.tolist() == ["x", "y", "z"]
    assert (model.predict(later) == "z").mean() > 0.9
    assert (model.predict(frame) == np.array(["x", "y"] * 60)).mean() > 0.9


def test_nullable_and_decimal_columns():
    frame = pd.DataFrame({"a": pd.array([1, None, 3, 4] * 10, dtype="Int64"), "b": pd.array([True, None, False, True] * 10)})
    y = [0, 1, 0, 1] * 10
    assert forest().fit(frame, y).score(frame, y) == 1.0
    table = pa.table({"a": pa.array([1, None, 3, 4] * 10), "b": pa.array([True, None, False, True] * 10)})
    assert forest().fit(table, y).score(table, y) == 1.0
    again = pl.DataFrame({"a": [1, None, 3, 4] * 10, "b": [True, None, False, True] * 10})
    assert forest().fit(again, y).score(again.lazy().collect(), y) == 1.0


def test_wrong_tables_say_which_column():
    frame = pd.DataFrame({"when": pd.to_datetime(["2026-01-01", "2026-01-02"]), "n": [1, 2]})
    with pytest.raises(ValueError, match="column 'when' holds datetime64"):
        forest().fit(frame, [0, 1])
    tables, y = frames()
    model = forest().fit(tables["pandas"], y)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- ripe"):
        model.predict(tables["polars"].drop("ripe"))
    with pytest.raises(ValueError, match="needs a table of the same columns"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="'size' had numbers before and has text"):
        model.predict(tables["pandas"].assign(size="big"))
    with pytest.raises(ValueError, match="'colour' had categories before and has numbers"):
        model.predict(tables["pandas"].assign(colour=1.0))


def test_infinite_values_say_where(any_model, rings):
    X, y = rings
    bad = X.copy()
    bad[11, 1] = np.inf
    with pytest.raises(ValueError, match="row 12.*column"):
        fresh(any_model).fit(bad, y)
    model = any_model.fit(X, y)
    with pytest.raises(ValueError, match="row 12.*column"):
        model.predict(bad)
    with pytest.raises(ValueError, match="row 12"):
        model.predict(bad.astype("f4"))
    assert model.score(X, y) > 0.9, "it is still there"


def test_sparse_matrices_get_a_clear_error(any_model):
    with pytest.raises(TypeError, match="toarray"):
        any_model.fit(scipy.sparse.eye_array(4).tocsr(), [0, 1, 0, 1])


@pytest.mark.parametrize(
    ("labels", "kind"),
    [(["b", "a"], "U"), ([2, -1], "i"), ([2.0, 1.0], "f"), ([True, False], "b"), (pd.Series(["b", "a"] * 20), "O")],
)
def test_labels_of_every_type(labels, kind):
    y = labels if isinstance(labels, pd.Series) else labels * 20
    X = [[1.0], [0.0]] * 20
    model = forest().fit(X, y)
    assert model.classes_.dtype.kind == kind
    assert model.predict(X).tolist() == list(y)
    assert model.classes_.tolist() == sorted(set(y))


def test_labels_that_cannot_be():
    X = [[0.0], [1.0]]
    for y, message in [
        ([0.5, 1.0], "Unknown label type: continuous"),
        ([1.0, np.nan], "NaN"),
        (["a", None], "row 2 has no label"),
        (np.array(["a", 1], dtype=object), "mixes text and numbers"),
        ([1, 2, 3], r"inconsistent numbers of samples: \[2, 3\]"),
    ]:
        with pytest.raises(ValueError, match=message):
            forest().fit(X, y)


def test_class_weight_by_label_changes_predictions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    y = np.where(X[:, 0] + 2 * rng.normal(size=600) > 0, "yes", "no")
    shares = {}
    for weight in [None, {"yes": 10}, {"no": 10}]:
        model = OnlineForestClassifier(n_estimators=50, random_state=0, class_weight=weight).fit(X[:400], y[:400])
        shares[str(weight)] = (model.predict(X[400:]) == "yes").mean()
    assert shares["{'no': 10}"] < 0.2 < 0.35 < shares["None"] < 0.65 < 0.8 < shares["{'yes': 10}"], shares


def test_rows_of_weight_zero_take_no_part():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] > 0).astype(int)
    wrong = np.where(np.arange(300) % 3 == 0, 1 - y, y)
    weight = (wrong == y).astype(float)
    assert forest().fit(X, wrong, sample_weight=weight).score(X, y) > 0.97
    with pytest.raises(ValueError, match="all sample weights are zero"):
        forest().fit(X, y, sample_weight=np.zeros(300))
