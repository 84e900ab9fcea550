"""Learning batch by batch, row by row, and with River."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import fresh, name_of

from hedgerow import GpClassifier, IvmClassifier, LateLabels, OnlineForestClassifier


def test_late_classes_append_columns(online_model, rings):
    X, y = rings
    first = y != "inner"
    model = online_model.partial_fit(X[first], y[first])
    assert model.classes_.tolist() == ["middle", "outer"]
    before = model.predict_proba(X)
    model.partial_fit(X[~first], y[~first])
    assert model.classes_.tolist() == ["middle", "outer", "inner"]
    predictions = model.predict_proba(X)
    assert before.shape[1] == 2 and predictions.shape[1] == 3
    np.testing.assert_allclose(predictions.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.9


def test_a_first_batch_of_one_class(online_model):
    model = online_model.partial_fit([[0.0], [1.0]], ["only", "only"])
    assert model.predict([[0.5]]).tolist() == ["only"]
    model.partial_fit([[5.0], [6.0]] * 10, ["other"] * 20)
    assert model.classes_.tolist() == ["only", "other"]


def test_classes_are_honoured_if_given(online_model):
    model = online_model.partial_fit([[0.0], [1.0]] * 10, ["a", "b"] * 10, classes=["c", "b", "a"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba([[0.0]]).shape == (1, 3)
    with pytest.raises(ValueError, match="`classes` has no 'd'"):
        model.partial_fit([[2.0]], ["d"], classes=["a", "b", "c"])
    with pytest.raises(ValueError, match="labels so far are text"):
        model.partial_fit([[2.0]], [7])


def test_learning_goes_on_after_fit_and_fit_starts_anew(online_model, rings):
    X, y = rings
    model = online_model.fit(X[:200], y[:200])
    model.partial_fit(X[200:], y[200:])
    assert model._model.n_seen == 300
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), fresh(online_model).fit(X, y).predict_proba(X))


def test_a_batch_is_its_rows_in_order(online_model, rings):
    X, y = rings
    whole = fresh(online_model).partial_fit(X, y, classes=np.unique(y))
    parts = fresh(online_model)
    for rows in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[rows], y[rows], classes=np.unique(y) if rows[0] == 0 else None)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_save_load_and_go_on(online_model, rings, tmp_path):
    X, y = rings
    model = online_model.partial_fit(X[:150], y[:150])
    model.save(tmp_path / "model.hedgerow")
    again = type(model).load(tmp_path / "model.hedgerow")
    for one in (model, again):
        one.partial_fit(X[150:], y[150:])
    assert model.to_bytes() == again.to_bytes()


@pytest.mark.parametrize("delay", [0, 7])
def test_predictions_come_before_labels_do(online_model, rings, delay):
    X, y = rings
    model, other = online_model, fresh(online_model)
    whole = model.predict_then_learn(X, y, delay=delay)
    assert model.n_waiting_ == delay
    assert whole.shape == (len(y), 3)
    # Cut anywhere, saved in between.
    parts = [other.predict_then_learn(X[:50], y[:50], delay=delay)]
    other = pickle.loads(pickle.dumps(other))
    assert other.n_waiting_ == delay
    parts.append(other.predict_then_learn(X[50:], y[50:], delay=delay))
    known = parts[0].shape[1]
    np.testing.assert_array_equal(whole[50:], parts[1])
    np.testing.assert_array_equal(whole[:50, :known], parts[0])
    # Without a delay, what waits is learnt first.
    model.partial_fit(X[:1], y[:1])
    assert model.n_waiting_ == 0
    assert model.score(X, y) > 0.9


def test_late_labels_do_what_a_delay_does(online_model, rings):
    X, y = rings
    held, model = online_model, fresh(online_model)
    expected = held.predict_then_learn(X, y, delay=9)
    late = LateLabels(model)
    for i, row in enumerate(X):
        proba = late.predict_proba(row[None], [i])[0]
        if proba.size:
            np.testing.assert_array_equal(proba, expected[i, : proba.size])
        if i == 40:
            late = pickle.loads(pickle.dumps(late))
        if i >= 9:
            late.learn_one(i - 9, y[i - 9])
    assert late.keys() == list(range(len(y) - 9, len(y)))
    assert len(late) == held.n_waiting_ == 9 and 0 not in late
    # The last ones together, with the same result.
    late.learn(late.keys(), y[-9:])
    held.predict_then_learn(X[:1], y[:1])
    late.model.partial_fit(X[:1], y[:1])
    assert late.model.to_bytes() == held.to_bytes()


def test_late_labels_come_in_any_order_or_never(online_model, rings):
    X, y = rings
    late = LateLabels(online_model.partial_fit(X[:200], y[:200]))
    keys = [f"row {i}" for i in range(200, 300)]
    assert (late.predict(X[200:], keys) == y[200:]).mean() > 0.6
    late.learn(keys[50:], y[250:])
    late.drop(keys[:10])
    late.learn(keys[10:50][::-1], y[210:250][::-1])
    assert len(late) == 0
    assert late.model.score(X, y) > 0.8
    other = fresh(online_model).partial_fit(X[:200], y[:200])
    assert not np.array_equal(other.predict_proba(X), late.model.predict_proba(X))


def test_late_labels_of_rows_by_name():
    late = LateLabels(OnlineForestClassifier(n_estimators=10, random_state=0))
    colors = ["red", "green", "blue"]
    for i in range(60):
        # Categories come late, and so do classes.
        color = colors[i % (2 if i < 30 else 3)]
        prediction = late.predict_proba_one({"color": color, "noise": i % 7}, key=i)
        assert (prediction == {}) == (i <= 5)
        if i >= 5:
            late.learn_one(i - 5, late_color(i - 5))
    assert late.model.predict_one({"color": "blue", "noise": 1}) == "b"
    assert late.model.predict_one({"color": "red", "noise": 1}) == "r"


def late_color(i):
    return "rgb"[i % (2 if i < 30 else 3)]


def test_late_labels_refuse_what_cannot_be(rings):
    X, y = rings
    with pytest.raises(TypeError, match="`model` must be a classifier that learns more"):
        LateLabels(GpClassifier())
    late = LateLabels(OnlineForestClassifier(n_estimators=5, random_state=0))
    assert late.predict(X[:2], ["a", "b"]).tolist() == [None, None]
    with pytest.raises(ValueError, match="a row 'a' waits for its label already"):
        late.predict(X[:1], ["a"])
    with pytest.raises(ValueError, match="there are 2 rows and 1 keys"):
        late.predict(X[:2], ["c"])
    with pytest.raises(KeyError, match="no row 'c' waits"):
        late.learn(["a", "c"], y[:2])
    with pytest.raises(ValueError, match="there are 1 labels and 2 keys"):
        late.learn(["a", "b"], y[:1])
    with pytest.raises(ValueError, match="must not have a key twice"):
        late.learn(["a", "a"], y[:2])
    with pytest.raises(ValueError, match="NaN or None"):
        late.learn(["a"], [None])
    assert late.keys() == ["a", "b"]
    late.learn([], y[:0])
    late.learn_one("b", y[1])
    assert list(late) == ["a"]


def test_a_delay_is_a_whole_number(online_model):
    for delay in (-1, 1.5, "3"):
        with pytest.raises(ValueError, match="`delay` must be a whole number, 0 or more"):
            online_model.predict_then_learn([[0.0]], ["a"], delay=delay)


def test_rows_by_name(rings):
    model = OnlineForestClassifier(n_estimators=20, random_state=0)
    assert model.predict_one({"x": 1.0}) is None and model.predict_proba_one({}) == {}
    X, y = rings
    for row, label in zip(X, y, strict=True):
        model.learn_one({"x": row[0], "y": row[1], "word": "in" if label == "inner" else "out"}, label)
    assert model.feature_names_in_.tolist() == ["x", "y", "word"]
    prediction = model.predict_proba_one({"word": "in", "y": 0.1, "x": 0.1})
    assert max(prediction, key=prediction.get) == "inner" and abs(sum(prediction.values()) - 1) < 1e-9
    assert set(model.predict_proba_one({})) == {"inner", "middle", "outer"}, "all values may be missing"
    with pytest.warns(UserWarning, match="'colour' is in this row"):
        model.predict_one({"x": 0.0, "colour": "red"})
    with pytest.raises(ValueError, match="'x' had numbers before and has 'big' now"):
        model.learn_one({"x": "big"}, "inner")


@pytest.mark.parametrize("model", [OnlineForestClassifier(n_estimators=10, random_state=0), IvmClassifier(n_active=20, random_state=0)], ids=name_of)
def test_river_runs_our_models(model):
    from river import compose, datasets, evaluate, metrics, preprocessing

    rows = datasets.Phishing().take(500)
    metric = evaluate.progressive_val_score(rows, fresh(model), metrics.Accuracy() + metrics.LogLoss())
    accuracy, loss = (part.get() for part in metric)
    assert accuracy > 0.75 and loss < 0.6, metric
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), fresh(model))
    assert evaluate.progressive_val_score(datasets.Phishing().take(500), pipeline, metrics.Accuracy()).get() > 0.75
    joined = preprocessing.StandardScaler() | fresh(model)
    joined.learn_one({"a": 1.0}, True)
    assert joined.predict_one({"a": 1.0}) is True


@pytest.mark.parametrize("order", ["river.base, hedgerow", "hedgerow, river.base"])
def test_river_knows_us_whichever_comes_first(order):
    program = f"import {order}; assert isinstance(hedgerow.OnlineForestClassifier(), river.base.Classifier)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_rows_that_are_refused_change_nothing(online_model):
    import pandas as pd

    model = online_model
    bad = pd.DataFrame({"kind": ["a", "b"], "size": [1.0, np.inf]})
    with pytest.raises(ValueError, match="row 2"):
        model.partial_fit(bad, ["x", "y"])
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(bad)
    good = pd.DataFrame({"kind": ["a", "b"] * 40, "size": np.arange(80.0)})
    model.partial_fit(good, ["x", "y"] * 40)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="row 1"):
        model.partial_fit(pd.DataFrame({"kind": ["new"], "size": [-np.inf]}), ["z"])
    with pytest.raises(ValueError, match="row 1 has no label"):
        model.learn_one({"kind": "newer", "size": 1.0}, None)
    assert model.to_bytes() == before and model.classes_.tolist() == ["x", "y"]
    later = pd.DataFrame({"kind": ["newest"] * 60, "size": np.arange(60.0)})
    assert (model.partial_fit(later, ["z"] * 60).predict(later) == "z").mean() > 0.9
