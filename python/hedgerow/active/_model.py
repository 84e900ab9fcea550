"""A classifier of any package as strategies ask it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _labels
from hedgerow._classifier import Classifier
from hedgerow.active._missing import known_labels

if TYPE_CHECKING:
    from hedgerow.active._rows import PoolRows

Array = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def clone(classifier: Any) -> Any:
    """Return the same classifier without what it has learnt."""
    try:
        from sklearn.base import clone as sklearn_clone

        return sklearn_clone(classifier)
    except ImportError:
        parameters = {name: copy.deepcopy(value) for name, value in classifier.get_params(deep=False).items()}
        return type(classifier)(**parameters)


def fitted(classifier: Any, X: Any, y: Array, mask: Bools, sample_weight: Any = None) -> Any:
    """Fit a copy of a classifier to the rows that have a label; None unless there are two classes."""
    from hedgerow.active._rows import take

    known = known_labels(y, mask)
    if len(known) == 0 or (known == known[0]).all():
        return None
    own = clone(classifier)
    if knows_missing(own):
        return own.fit(X, y) if sample_weight is None else own.fit(X, y, sample_weight=sample_weight)
    rows = np.flatnonzero(mask)
    if sample_weight is None:
        return own.fit(take(X, rows), known)
    return own.fit(take(X, rows), known, sample_weight=np.asarray(sample_weight)[rows])


def knows_missing(classifier: Any) -> bool:
    """Whether a classifier takes labels of which some are missing, as those of scikit-activeml do."""
    return hasattr(classifier, "missing_label") and hasattr(classifier, "classes")


class Asked:
    """A fitted classifier, or none, and the classes of the labels in the order of its columns."""

    def __init__(self, classifier: Any, rows: PoolRows, labels: Array) -> None:
        """Put the classes of labels that the classifier does not know after its own."""
        self._classifier, self._rows = classifier, rows
        own = labels[:0] if classifier is None else np.asarray(classifier.classes_)
        if own.dtype.kind == "O" and len(own):
            own = np.array(own.tolist())
        self.codes, self.classes = _labels.encode_with(labels, own) if len(labels) else (np.array([], np.int64), own)
        self._n_own = len(own)

    def arguments(self) -> Mapping[str, Any]:
        """What the engine is told about the model."""
        model = self._classifier
        if model is None:
            return {}
        is_ours = isinstance(model, Classifier) and self._n_own == len(self.classes)
        # The engine can ask a model of its own only if rows are encoded alike.
        if is_ours and model._reader.json() is None and self._rows.columns is None:
            return {"model": model._fitted()}
        if members_of(model) is None:
            return {"predict": self._predict}
        return {"predict": self._predict, "members": self._members}

    def _predict(self, x: NDArray[np.float32]) -> Floats:
        proba = self._rows.predict(self._classifier.predict_proba, self._rows.find(x))
        return self._padded(proba)

    def _members(self, x: NDArray[np.float32]) -> NDArray[np.float64]:
        places = self._rows.find(x)
        members = members_of(self._classifier) or []
        return np.stack([self._padded(self._rows.predict(member.predict_proba, places)) for member in members])

    def _padded(self, proba: Floats) -> Floats:
        wide = np.zeros((len(proba), len(self.classes)))
        wide[:, : proba.shape[1]] = proba
        return wide


def members_of(classifier: Any) -> list[Any] | None:
    """Return the members of a forest of scikit-learn, whose columns are those of the forest; None for anything else."""
    members = getattr(classifier, "estimators_", None)
    if not isinstance(members, list) or not members:
        return None
    n_classes = len(classifier.classes_)
    fits = all(hasattr(member, "predict_proba") and len(getattr(member, "classes_", ())) == n_classes for member in members)
    module = type(members[0]).__module__
    # Others may look at some columns only.
    return members if fits and module.startswith("sklearn.tree") and not hasattr(classifier, "estimators_features_") else None
