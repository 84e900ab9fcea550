"""Regression models."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

import hedgerow
from hedgerow import GpClassifier, GpRegressor, OnlineForestClassifier, RvmClassifier, RvmRegressor

REGRESSORS = [RvmRegressor, GpRegressor]


@pytest.fixture(scope="module")
def sinc():
    rng = np.random.default_rng(1)
    X = rng.uniform(-10, 10, size=(400, 1))
    return X, np.sinc(X[:, 0] / np.pi) + rng.normal(scale=0.1, size=400)


@pytest.fixture(scope="module", params=REGRESSORS)
def model(sinc, request):
    return request.param(random_state=0).fit(*sinc)


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
    if isinstance(model, RvmRegressor):
        assert 2 < len(model.relevance_vectors_) < 40
    assert np.isfinite(model.log_evidence_) and model.kernel_["length_scale"] > 0 and model.notes_ == []
    with pytest.raises(ValueError, match="coverage"):
        model.predict_interval(grid, 90)


def test_files_and_pickles(model, sinc, tmp_path):
    X, _ = sinc
    path = tmp_path / "values.hedgerow"
    assert model.save(path) == path.stat().st_size
    for other in (hedgerow.load(path), type(model).load(path), pickle.loads(pickle.dumps(model))):
        assert type(other) is type(model)
        for mine, theirs in zip(model.predict(X, return_std=True), other.predict(X, return_std=True), strict=True):
            np.testing.assert_array_equal(mine, theirs)
    for classifier in (RvmClassifier, GpClassifier, OnlineForestClassifier):
        with pytest.raises(ValueError, match=f"{type(model).__name__}.load"):
            classifier.load(path)


def test_intervals_hold_on_fresh_rows():
    rng = np.random.default_rng(3)

    def draw(n):
        X = rng.uniform(0, 5, size=(n, 2))
        return X, 50 + 20 * np.sin(2 * X[:, 0]) * X[:, 1] + rng.normal(scale=4.0, size=n)

    model = GpRegressor(random_state=0).fit(*draw(300))
    X, y = draw(2000)
    low, high = model.predict_interval(X, 0.9).T
    assert abs(((low < y) & (y < high)).mean() - 0.9) < 0.04
    assert model.score(X, y) > 0.97


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
    for kind in REGRESSORS:
        assert cross_val_score(kind(random_state=0), *sinc, cv=3).mean() > 0.8
    search = GridSearchCV(RvmRegressor(random_state=0), {"length_scale": [0.01, 0.5]}, cv=3).fit(*sinc)
    assert search.best_params_ == {"length_scale": 0.5}


def test_tables(sinc):
    X, y = sinc
    rng = np.random.default_rng(0)
    side = rng.choice(["left", "right"], 400)
    table = pd.DataFrame({"x": X[:, 0], "side": side})
    shifted = y + np.where(side == "left", 1.0, 0.0)
    for kind in REGRESSORS:
        assert kind(random_state=0).fit(table, shifted).score(table, shifted) > 0.9


def test_values_that_cannot_be():
    for y, message in [([1.0, np.nan, 2.0], "row 2 has no value"), (["a", "b", "c"], "could not convert"), ([1.0, 2.0], "inconsistent")]:
        for kind in REGRESSORS:
            with pytest.raises(ValueError, match=message):
                kind().fit([[0.0], [1.0], [2.0]], y)
    with pytest.raises(ValueError, match="method"):
        GpRegressor(method="ep").fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
