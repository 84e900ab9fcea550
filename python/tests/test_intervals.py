"""Where true class probabilities lie."""

import numpy as np
import pytest
from conftest import fresh

from hedgerow import GpClassifier, IvmClassifier, OnlineForestClassifier

KINDS = pytest.mark.parametrize(
    "model",
    [OnlineForestClassifier(n_estimators=20, random_state=0), IvmClassifier(random_state=0), GpClassifier(random_state=0)],
    ids=lambda m: type(m).__name__,
)


@KINDS
def test_intervals_have_a_lower_and_an_upper_end_for_each_class(model, rings):
    X, y = rings
    model = fresh(model).fit(X, y)
    ends = model.predict_interval(X[:30])
    assert ends.shape == (30, len(model.classes_), 2)
    assert (ends[..., 0] >= 0).all() and (ends[..., 0] <= ends[..., 1]).all() and (ends[..., 1] <= 1).all()
    assert (np.diff(model.predict_interval(X[:30], level=0.5)) <= np.diff(ends)).all()
    found = model.predict_true_probability(X[:30])
    assert found.about == "true probability"
    np.testing.assert_array_equal(np.stack(found.interval(0.9), axis=-1), ends)
    np.testing.assert_allclose(found.mean().sum(axis=1), 1.0)
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(ValueError, match="level"):
            model.predict_interval(X[:3], level)
