"""What a type checker must understand of the package: checked by mypy, not run."""

import numpy as np
from numpy.typing import NDArray

from hedgerow import Classifier, IvmClassifier, LateLabels, OnlineForestClassifier, load

X: NDArray[np.float32] = np.zeros((4, 2), np.float32)
forest: OnlineForestClassifier = OnlineForestClassifier(n_estimators=10, max_features=None).fit(X, ["a", "b", "a", "b"])
forest = forest.partial_fit(X, ["a", "b", "c", "c"], classes=None, sample_weight=[1, 1, 1, 1])
predictions: NDArray[np.float64] = forest.predict_proba(X)
ivm: IvmClassifier = IvmClassifier.load("model.hedgerow")
rows: NDArray[np.float32] = ivm.active_rows_
any_model: Classifier = load("model.hedgerow")
one: dict[object, float] = forest.predict_proba_one({"size": 1.0})
late: LateLabels = LateLabels(forest)
early: NDArray[np.float64] = late.predict_proba(X, ["k", "l", 3, (4, "m")])
late.learn(["l", 3], ["a", "c"])
OnlineForestClassifier(n_trees=10)  # type: ignore[call-arg]
