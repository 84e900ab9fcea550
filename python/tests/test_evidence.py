"""How much evidence there is for predictions."""

import numpy as np
import pytest
from conftest import fresh

from hedgerow import IvmClassifier, KdeClassifier, KnnClassifier

BOTH = pytest.mark.parametrize("model", [KdeClassifier(random_state=0), KnnClassifier(random_state=0)], ids=lambda m: type(m).__name__)


@BOTH
def test_counts_and_draws(model, rings):
    X, y = rings
    model = fresh(model).fit(X, y)
    rows = np.vstack([X[:50], [[500.0, 500.0]]])
    counts = model.predict_freq(rows)
    assert counts.shape == (51, 3) and (counts >= 0).all()
    assert counts[:50].sum(axis=1).mean() > 2 and counts[50].sum() < 1e-6
    draws = model.sample_proba(rows, n_samples=400, random_state=1)
    assert draws.shape == (400, 51, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    np.testing.assert_array_equal(draws, model.sample_proba(rows, n_samples=400, random_state=1))
    evidence = model.predict_evidence(rows)
    assert evidence.about == "relative evidence"
    np.testing.assert_allclose(draws.mean(axis=0), evidence.mean(), atol=0.1)
    np.testing.assert_allclose(evidence.concentrations - 1 / 3, counts, atol=1e-9)
    low, high = evidence.interval(0.9)
    assert (low <= high).all() and (high - low)[50].min() > 0.5 > (high - low)[:50].mean()
    with pytest.raises(ValueError, match="level"):
        evidence.interval(1.5)
    with pytest.raises(ValueError, match="n_samples"):
        model.sample_proba(rows, n_samples=0)


@BOTH
def test_parts_of_the_uncertainty(model, rings):
    model = fresh(model).fit(*rings)
    rows = np.vstack([rings[0][:50], [[500.0, 500.0]]])
    for by in ("entropy", "variance"):
        parts = model.predict_uncertainty(rows, by=by)
        np.testing.assert_allclose(parts["total"], parts["aleatoric"] + parts["epistemic"])
        assert parts["epistemic"][50] > 2 * parts["epistemic"][:50].mean()
    with pytest.raises(ValueError, match="entropy"):
        model.predict_uncertainty(rows, by="guess")


@BOTH
def test_weights_shift_probabilities(model, rings):
    X, y = rings
    weights = np.where(y == "inner", 10.0, 1.0)
    plain, weighted = (fresh(model).fit(X, y, sample_weight=w).predict_proba(X)[:, 0].mean() for w in (None, weights))
    assert weighted > plain + 0.02
    streamed = fresh(model).partial_fit(X, y, sample_weight=weights).predict_freq(X).sum(axis=0)
    assert streamed[0] > 2 * fresh(model).partial_fit(X, y).predict_freq(X).sum(axis=0)[0]


def test_other_kinds_have_no_evidence(rings):
    assert not hasattr(IvmClassifier(), "predict_freq")
