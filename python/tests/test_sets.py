"""Prediction sets: their coverage, their shape, and what is refused."""

import pickle

import numpy as np
import pytest

from hedgerow import GpClassifier, KnnClassifier, OnlineForestClassifier, load


def noisy(n, seed, turn=0.0):
    """Two columns of which one tells the class, for three rows in four."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] + turn * X[:, 1] > 0).astype(int) + (rng.random(n) < 0.15)
    return X, np.array(["no", "yes", "maybe"])[y]


@pytest.mark.parametrize("model", [OnlineForestClassifier(random_state=0), KnnClassifier(random_state=0)], ids=lambda m: type(m).__name__)
def test_the_wanted_share_of_rows_is_covered(model):
    model.fit(*noisy(2000, 1))
    X, y = noisy(3000, 2)
    for level in (0.5, 0.8, 0.9):
        sets = model.predict_set(X, level=level)
        assert sets.dtype == bool and sets.shape == (3000, 3)
        covered = sets[np.arange(3000), np.searchsorted(model.classes_, y)].mean()
        assert abs(covered - level) < 0.045, (level, covered)
    classes = model.classes_in(sets[:20])
    assert [len(own) for own in classes] == sets[:20].sum(axis=1).tolist()
    assert all(set(own) <= {"no", "yes", "maybe"} for own in classes)


def test_methods_and_empty_sets():
    model = OnlineForestClassifier(random_state=0).fit(*noisy(2000, 1))
    X, _ = noisy(500, 2)
    sizes = {method: model.predict_set(X, 0.5, method=method).sum(axis=1) for method in ("balanced", "marginal", "per-class", "adaptive")}
    assert (sizes["balanced"] == 0).any() and (sizes["adaptive"] > 0).all()
    assert sizes["marginal"].mean() <= sizes["per-class"].mean()
    filled = model.predict_set(X, 0.5, never_empty=True)
    assert (filled.sum(axis=1) > 0).all() and (filled[:, :] >= model.predict_set(X, 0.5)).all()


def test_sets_follow_what_is_learnt():
    model = OnlineForestClassifier(n_estimators=20, random_state=0).fit(*noisy(1000, 1))
    missed = []
    for part in range(10):
        X, y = noisy(300, 10 + part, turn=3.0)
        sets = model.predict_set(X)
        missed.append(1 - sets[np.arange(300), np.searchsorted(model.classes_, y)].mean())
        model.partial_fit(X, y)
    assert missed[0] > 0.2 and np.mean(missed[3:]) < 0.15, missed
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_set(X), model.predict_set(X))


def test_what_is_refused(tmp_path):
    model = OnlineForestClassifier(n_estimators=10, random_state=0)
    X, y = noisy(200, 1)
    model.fit(X, y)
    for level in (0.0, 1.0, -1, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            model.predict_set(X, level=level)
    with pytest.raises(ValueError, match="balanced, marginal, per-class, adaptive"):
        model.predict_set(X, method="mondrian")
    with pytest.raises(ValueError, match="shape"):
        model.classes_in([True, False])
    model.save(tmp_path / "m.hedgerow")
    np.testing.assert_array_equal(load(tmp_path / "m.hedgerow").predict_set(X), model.predict_set(X))
    assert GpClassifier(random_state=0).fit(X, y).predict_set(X[:3]).shape == (3, 3)
