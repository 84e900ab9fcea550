"""Pictures: what they show is read back from the axes."""

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot

from hedgerow import GpClassifier, OnlineForestClassifier, plot


@pytest.fixture(autouse=True)
def close_all():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def model(rings):
    X, y = rings
    return OnlineForestClassifier(random_state=0).fit(X[:200], y[:200])


def test_learning_curve(model, rings):
    X, y = rings
    before = model.predict_proba(X)
    axes = plot.learning_curve(model, X, y, batches=6, test=(X, y))
    fresh, tested = (line.get_ydata() for line in axes.lines)
    assert len(fresh) == 5 and len(tested) == 6
    assert tested[-1] > 0.9 and fresh[-1] > 0.8
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(TypeError, match="GpClassifier does not learn in batches"):
        plot.learning_curve(GpClassifier(), X, y)


def test_reliability(model, rings):
    X, y = rings
    axes = plot.reliability(model, X[200:], y[200:], bins=5)
    bars = [bar.get_height() for bar in axes.patches]
    assert len(bars) == 5 and max(bars) == 0.25
    assert "ECE 0." in axes.get_title(loc="left")


def test_decision_map(model, rings):
    axes = plot.decision_map(model, *rings, points=40)
    assert axes.images[0].get_array().shape == (40, 40, 3)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["inner", "middle", "outer"]
    with pytest.raises(ValueError, match="2 columns, this one has 3"):
        plot.decision_map(OnlineForestClassifier(n_estimators=3).fit(np.eye(3), [0, 1, 1]), np.eye(3), [0, 1, 1])


def test_confusion(model, rings):
    X, y = rings
    axes = plot.confusion(model, X, y)
    assert sum(int(text.get_text()) for text in axes.texts) == 300


def test_importances(model):
    axes = plot.importances(model)
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(sum(widths), 1.0)
    assert widths == sorted(widths)


def test_given_axes_are_used(model, rings):
    _, axes = pyplot.subplots()
    assert plot.reliability(model, *rings, ax=axes) is axes
