"""Models of values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import hedgerow
from hedgerow import RvmClassifier, RvmRegressor


@pytest.fixture(scope="module")
def sinc():
    rng = np.random.default_rng(1)
    X = rng.uniform(-10, 10, size=(400, 1))
    return X, np.sinc(X[:, 0] / np.pi) + rng.normal(scale=0.1, size=400)


@pytest.fixture(scope="module")
def model(sinc):
    return RvmRegressor(random_state=0).fit(*sinc)


def test_values_and_intervals(model, sinc):
    grid = np.linspace(-9, 9, 200)[:, None]
    clean = np.sinc(grid[:, 0] / np.pi)
    assert np.sqrt(np.mean((model.predict(grid) - clean) ** 2)) < 0.04
    X, y = sinc
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(X, coverage).T
        assert abs(((low < y) & (y < high)).mean() - coverage) < 0.07
    mean, deviation = model.predict(grid, return_std=True)
    np.testing.assert_array_equal(mean, model.predict(grid))
    assert (deviation > 0.05).all()
    assert 2 < len(model.relevance_vectors_) < 40
    assert np.isfinite(model.log_evidence_)
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(grid, 90)


def test_files_and_pickles(model, sinc, tmp_path):
    X, _ = sinc
    path = tmp_path / "values.hedgerow"
    assert model.save(path) == path.stat().st_size
    for other in (hedgerow.load(path), RvmRegressor.load(path), pickle.loads(pickle.dumps(model))):
        assert type(other) is RvmRegressor
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="RvmRegressor.load"):
        RvmClassifier.load(path)


def test_learning_goes_on(sinc):
    X, y = sinc
    model = RvmRegressor(length_scale=0.5, random_state=0)
    for rows in np.array_split(np.arange(400), 8):
        model.partial_fit(X[rows], y[rows])
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="row 1"):
        model.partial_fit([[np.inf]], [0.0])
    assert model.score(X, y) > 0.8


def test_scikit_learns_tools(sinc):
    assert cross_val_score(RvmRegressor(random_state=0), *sinc, cv=3).mean() > 0.8
    search = GridSearchCV(RvmRegressor(random_state=0), {"length_scale": [0.01, 0.5]}, cv=3).fit(*sinc)
    assert search.best_params_ == {"length_scale": 0.5}


def test_tables(sinc):
    X, y = sinc
    rng = np.random.default_rng(0)
    side = rng.choice(["left", "right"], 400)
    table = pd.DataFrame({"x": X[:, 0], "side": side})
    shifted = y + np.where(side == "left", 1.0, 0.0)
    assert RvmRegressor(random_state=0).fit(table, shifted).score(table, shifted) > 0.9


def test_values_that_cannot_be():
    for y, message in [([1.0, np.nan, 2.0], "row 2 has no value"), (["a", "b", "c"], "could not convert"), ([1.0, 2.0], "inconsistent")]:
        with pytest.raises(ValueError, match=message):
            RvmRegressor().fit([[0.0], [1.0], [2.0]], y)
