"""How much evidence there is for predictions."""

import numpy as np
import pytest
from conftest import ALL, fresh, name_of

from hedgerow import KdeClassifier, KnnClassifier, OnlineForestClassifier, RvmRegressor

# Chosen by themselves, leaves would be smaller and evidence weaker.
CONFIDENCE = OnlineForestClassifier(
    n_estimators=40, confidence=True, confidence_rows=8, background_rows=2_000, random_state=0
)
KINDS = [*ALL, CONFIDENCE]
EACH = pytest.mark.parametrize("model", KINDS, ids=[*map(name_of, ALL), "confidence"])
NEIGHBORS = pytest.mark.parametrize("model", [KdeClassifier(random_state=0), KnnClassifier(random_state=0)], ids=name_of)


@EACH
def test_counts_and_draws(model, rings):
    X, y = rings
    model = fresh(model).fit(X, y)
    rows = np.vstack([X[:50], [[500.0, 500.0]]])
    counts = model.predict_freq(rows)
    assert counts.shape == (51, 3) and (counts >= 0).all()
    assert counts[:50].sum(axis=1).mean() > 2 and counts[50].sum() < 0.1
    draws = model.sample_proba(rows, n_samples=400, random_state=1)
    assert draws.shape == (400, 51, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    np.testing.assert_array_equal(draws, model.sample_proba(rows, n_samples=400, random_state=1))
    evidence = model.predict_evidence(rows)
    assert evidence.about == "relative evidence"
    np.testing.assert_allclose(draws.mean(axis=0), evidence.mean(), atol=0.1)
    np.testing.assert_allclose(evidence.concentrations - 1 / 3, counts, atol=1e-9)
    low, high = evidence.interval(0.9)
    assert (low <= high).all() and (high - low)[50].min() > max(0.5, (high - low)[:50].mean() + 0.2)
    with pytest.raises(ValueError, match="level"):
        evidence.interval(1.5)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_proba(rows, n_samples=0)


@EACH
def test_parts_of_the_uncertainty(model, rings):
    model = fresh(model).fit(*rings)
    rows = np.vstack([rings[0][:50], [[500.0, 500.0]]])
    for by in ("entropy", "variance"):
        parts = model.predict_uncertainty(rows, by=by)
        np.testing.assert_allclose(parts["total"], parts["aleatoric"] + parts["epistemic"])
        assert parts["epistemic"][50] > 2 * parts["epistemic"][:50].mean()
    with pytest.raises(ValueError, match="entropy"):
        model.predict_uncertainty(rows, by="guess")


@NEIGHBORS
def test_weights_shift_probabilities(model, rings):
    X, y = rings
    weights = np.where(y == "inner", 10.0, 1.0)
    plain, weighted = (fresh(model).fit(X, y, sample_weight=w).predict_proba(X)[:, 0].mean() for w in (None, weights))
    assert weighted > plain + 0.01
    streamed = fresh(model).partial_fit(X, y, sample_weight=weights).predict_freq(X).sum(axis=0)
    assert streamed[0] > 2 * fresh(model).partial_fit(X, y).predict_freq(X).sum(axis=0)[0]


def test_rows_count_once_they_were_learnt(rings):
    X, y = rings
    model = OnlineForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    place = np.array([[5.0, -5.0]])
    before = model.predict_freq(place).sum()
    model.partial_fit(np.repeat(place, 30, axis=0) + np.linspace(0, 0.1, 30)[:, None], ["outer"] * 30)
    assert before < 0.1 and model.predict_freq(place).sum() > 5


def test_a_confidence_forest_is_chosen_and_saved(rings, tmp_path):
    model = fresh(CONFIDENCE).fit(*rings)
    path = tmp_path / "confidence.hedgerow"
    model.save(path)
    again = OnlineForestClassifier.load(path)
    np.testing.assert_array_equal(again.predict_freq(rings[0]), model.predict_freq(rings[0]))
    assert again.get_params()["confidence"] is True
    given = OnlineForestClassifier(n_estimators=5, confidence=True, confidence_rows=7, background_rows=100, random_state=0)
    assert given.fit(*rings).predict_freq(rings[0]).sum(axis=1).max() <= 7 + 1e-9


def test_regressors_have_no_evidence():
    assert not hasattr(RvmRegressor(), "predict_freq")
