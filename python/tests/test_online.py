"""Learning batch by batch, row by row, and with River."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import fresh, name_of

from hedgerow import IvmClassifier, OnlineForestClassifier


def test_late_classes_append_columns(online_model, rings):
    X, y = rings
    first = y != "inner"
    model = online_model.partial_fit(X[first], y[first])
    assert model.classes_.tolist() == ["middle", "outer"]
    before = model.predict_proba(X)
    model.partial_fit(X[~first], y[~first])
    assert model.classes_.tolist() == ["middle", "outer", "inner"]
    answers = model.predict_proba(X)
    assert before.shape[1] == 2 and answers.shape[1] == 3
    np.testing.assert_allclose(answers.sum(axis=1), 1.0)
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
    answer = model.predict_proba_one({"word": "in", "y": 0.1, "x": 0.1})
    assert max(answer, key=answer.get) == "inner" and abs(sum(answer.values()) - 1) < 1e-9
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
