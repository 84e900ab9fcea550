"""How unlike the rows that a model has learnt others are."""

import pickle

import numpy as np
import pytest
from conftest import ALL, fresh, name_of
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from hedgerow import GpRegressor, OnlineForestClassifier


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_rows_far_away_are_outliers(model):
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(120, 3)), rng.normal(4, 1, size=(120, 3))])
    y = np.repeat([0, 1], 120)
    model = fresh(model).fit(X, y)
    near = np.vstack([rng.normal(size=(200, 3)), rng.normal(4, 1, size=(200, 3))])
    scores = model.outlier_score(near)
    assert scores.shape == (400,) and (scores >= 0).all() and (scores <= 1).all()
    assert 0.005 < (scores > 0.95).mean() < 0.13
    assert (model.outlier_score(near + 60) > 0.95).all()
    np.testing.assert_array_equal(model.outlier_score(near[:1]), scores[:1])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).outlier_score(near), scores)


def test_a_class_is_an_outlier_until_it_is_learnt():
    X, y = load_digits(return_X_y=True)
    is_five, is_test = y == 5, np.arange(len(y)) % 3 == 0
    model = OnlineForestClassifier(n_estimators=50, random_state=0).fit(X[~is_five & ~is_test], y[~is_five & ~is_test])
    scores = model.outlier_score(X[is_test])
    assert roc_auc_score(is_five[is_test], scores) > 0.98
    model.partial_fit(X[is_five & ~is_test], y[is_five & ~is_test])
    after = model.outlier_score(X[is_test & is_five])
    assert (scores[is_five[is_test]] > 0.95).mean() > 0.9 and (after > 0.95).mean() < 0.25


def test_regressors_tell_by_distance():
    X = np.random.default_rng(0).normal(size=(150, 2))
    model = GpRegressor(random_state=0).fit(X, X[:, 0])
    assert (model.outlier_score(X + 50) > 0.95).all()
