"""The first minute with the package, with nothing but numpy installed."""

import importlib.util

import numpy as np

from hedgerow import GpClassifier, IvmClassifier, OnlineForestClassifier, load

assert importlib.util.find_spec("sklearn") is None, "this is to show that scikit-learn is not needed"
rng = np.random.default_rng(0)
X = rng.normal(size=(300, 2))
y = np.where(np.hypot(*X.T) < 1.2, "inside", "outside")
for model in (OnlineForestClassifier(), IvmClassifier(n_active=30), GpClassifier()):
    print(model, model.fit(X[:200], y[:200]).score(X[200:], y[200:]))
    assert model.score(X[200:], y[200:]) > 0.85
    model.save("smoke.hedgerow")
    assert (load("smoke.hedgerow").predict(X) == model.predict(X)).all()
