"""The outlier detector."""

import json
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow import OutlierDetector, _hedgerow

METHODS = ["auto", "isolation", "separation", "knn", "forest", "proximity"]
DETECTORS = [OutlierDetector(random_state=0)] + [
    # Proximities of few trees are too coarse for a fence to part any row of a cluster from the others.
    OutlierDetector(
        method=method, n_estimators=30, contamination=0.05 if method == "proximity" else "auto", random_state=0
    )
    for method in METHODS[1:]
]


@parametrize_with_checks(DETECTORS)
def test_the_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def blobs():
    """Three clusters and forty rows scattered around them."""
    rng = np.random.default_rng(3)
    X, _ = make_blobs(400, n_features=4, centers=3, random_state=3)
    X = np.vstack([X, rng.uniform(-15, 15, size=(40, 4))])
    return X, np.repeat([0, 1], [400, 40])


def test_arguments_are_those_of_the_engine():
    settings = json.loads(_hedgerow.default_outlier_settings())
    arguments = OutlierDetector().get_params()
    for argument, name in OutlierDetector._settings.items():
        assert arguments[argument] == settings[name], name
    assert set(settings) == {*OutlierDetector._settings.values(), "n_trees", "seed"}


@pytest.mark.parametrize("method", METHODS)
def test_outliers_score_high(method, blobs):
    X, y = blobs
    detector = OutlierDetector(method=method, n_estimators=100, random_state=0).fit(X)
    assert roc_auc_score(y, detector.outlier_scores_) > 0.95
    assert roc_auc_score(y, detector.outlier_score(X)) > 0.95
    assert ((detector.outlier_scores_ >= 0) & (detector.outlier_scores_ <= 1)).all()
    np.testing.assert_array_equal(detector.score_samples(X), -detector.outlier_score(X))
    alone = np.concatenate([detector.outlier_score(X[i : i + 1]) for i in range(50)])
    np.testing.assert_array_equal(alone, detector.outlier_score(X[:50]))


@pytest.mark.parametrize("method", METHODS)
def test_pickles_and_threads_change_nothing(method, blobs):
    X, _ = blobs
    one, two = (
        OutlierDetector(method=method, n_estimators=30, random_state=5, n_jobs=jobs).fit(X) for jobs in (1, 3)
    )
    np.testing.assert_array_equal(one.outlier_scores_, two.outlier_scores_)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.outlier_score(X), two.outlier_score(X))
    np.testing.assert_array_equal(again.predict(X), two.predict(X))


def test_contamination_is_the_share_of_outliers(blobs):
    X, y = blobs
    detector = OutlierDetector(contamination=0.1, random_state=0).fit(X)
    assert (detector.predict(X) == -1).sum() == 44
    for wrong in ("many", 0.0, 0.6, True, None):
        with pytest.raises(ValueError, match="contamination"):
            OutlierDetector(contamination=wrong).fit(X)


def test_attributions_name_the_column(blobs):
    X, _ = blobs
    detector = OutlierDetector(random_state=0).fit(X[:400])
    strange = np.repeat(X[:1], 4, axis=0)
    strange[np.arange(4), np.arange(4)] = 60.0
    shares = detector.feature_attributions(strange)
    assert shares.argmax(axis=1).tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_tables_with_categories_and_gaps():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"size": rng.normal(size=200), "color": rng.choice(["red", "blue"], 200)})
    table.loc[5, "color"] = "green"
    table.loc[9, "size"] = np.nan
    detector = OutlierDetector(random_state=0).fit(table)
    assert set(np.argsort(detector.outlier_scores_)[-2:]) == {5, 9}
    assert detector.feature_names_in_.tolist() == ["size", "color"]
    new = pd.DataFrame({"size": [0.0, 0.0], "color": ["red", "purple"]})
    known, unknown = pickle.loads(pickle.dumps(detector)).outlier_score(new)
    assert unknown > known


def test_in_a_pipeline_and_beside_an_isolation_forest(blobs):
    X, y = blobs
    ours = make_pipeline(StandardScaler(), OutlierDetector(random_state=0)).fit(X)
    theirs = IsolationForest(random_state=0).fit(X)
    assert roc_auc_score(y, -ours.score_samples(X)) >= roc_auc_score(y, -theirs.score_samples(X)) - 0.005


def test_constant_tables_and_single_rows():
    same = np.ones((20, 3))
    assert (OutlierDetector().fit(same).outlier_scores_ == 0.5).all()
    with pytest.raises(ValueError, match="n_samples=1"):
        OutlierDetector().fit(same[:1])
    with pytest.raises(ValueError, match="parameter n_neighbors"):
        OutlierDetector(n_neighbors=0).fit(same)
    with pytest.raises(ValueError, match="parameter max_samples"):
        OutlierDetector(max_samples=1).fit(same)
