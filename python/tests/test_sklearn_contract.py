"""scikit-learn's own checks, and its tools with our estimators in them."""

import subprocess
import sys

import numpy as np
import pytest
from conftest import ALL, REGRESSORS, fresh, name_of
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from hedgerow import IvmClassifier, KdeClassifier, KnnClassifier, OnlineForestClassifier


def expected_failures(estimator):
    if isinstance(estimator, OnlineForestClassifier):
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "each tree draws its bag row by row: a row of weight 2 is drawn whole, two rows of weight 1 are drawn apart"
            )
        }
    if isinstance(estimator, (KdeClassifier, KnnClassifier)):
        return {
            "check_sample_weight_equivalence_on_dense_data": (
                "leave-one-out predictions leave a row of weight 2 out whole, of two rows of weight 1 only one"
            )
        }
    return {}


@parametrize_with_checks([*ALL, *REGRESSORS], expected_failed_checks=expected_failures)
def test_the_contract(estimator, check):
    check(estimator)


BOTH = pytest.mark.parametrize(
    "model", [OnlineForestClassifier(n_estimators=20, random_state=0), IvmClassifier(n_active=20, random_state=0)], ids=name_of
)


@BOTH
def test_grid_search(model, rings):
    grid = {"n_estimators": [5, 20]} if isinstance(model, OnlineForestClassifier) else {"n_active": [5, 30]}
    search = GridSearchCV(model, grid, cv=3, scoring="neg_log_loss").fit(*rings)
    assert search.best_params_ == {name: values[1] for name, values in grid.items()}
    assert search.best_estimator_.score(*rings) > 0.9


@BOTH
def test_pipeline(model, rings):
    pipeline = make_pipeline(StandardScaler(), model).fit(*rings)
    assert pipeline.score(*rings) > 0.9
    assert pipeline.predict_proba(rings[0][:3]).shape == (3, 3)


@BOTH
def test_cross_validation_on_two_processes(model, rings):
    assert cross_val_score(model, *rings, cv=3, n_jobs=2).mean() > 0.85


@BOTH
def test_calibrated_by_scikit_learn(model, rings):
    assert CalibratedClassifierCV(model, cv=3).fit(*rings).score(*rings) > 0.9


@BOTH
def test_one_against_the_rest(model, rings):
    predictions = OneVsRestClassifier(model).fit(*rings).predict_proba(rings[0])
    np.testing.assert_allclose(predictions.sum(axis=1), 1.0)


@BOTH
def test_clone_has_the_arguments_and_nothing_learnt(model, rings):
    fitted = fresh(model).fit(*rings)
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    with pytest.raises(ValueError, match="not fitted yet"):
        copy.predict(rings[0])


@BOTH
def test_pickle_in_another_process(model, rings, tmp_path):
    import pickle

    X, y = rings
    fitted = fresh(model).fit(X, y)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(fitted))
    np.save(tmp_path / "x.npy", X)
    program = (
        "import pickle, sys, numpy as np; folder = sys.argv[1];"
        "model = pickle.load(open(folder + '/model.pickle', 'rb'));"
        "np.save(folder + '/p.npy', model.predict_proba(np.load(folder + '/x.npy')))"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), fitted.predict_proba(X))


def test_callbacks_hear_of_rounds_and_can_end_a_fit(rings):
    pytest.importorskip("sklearn.callback")

    class Ear:
        """Counts rounds and asks for the end after a few."""

        def __init__(self):
            self.rounds, self.events = 0, []

        def setup(self, estimator, context):
            self.events.append("setup")

        def teardown(self, estimator, context):
            self.events.append("teardown")

        def on_fit_task_begin(self, estimator, context, **_):
            pass

        def on_fit_task_end(self, estimator, context, **_):
            self.rounds += context.task_name == "round"
            return self.rounds >= 5

    ear = Ear()
    model = OnlineForestClassifier(n_estimators=3_000_000, random_state=0, n_jobs=1)
    model.set_callbacks(ear).fit(*rings)
    assert ear.events == ["setup", "teardown"]
    assert 5 <= ear.rounds < 3_000_000
    assert model.score(*rings) > 0.9
