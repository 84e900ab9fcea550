"""Active learning: which rows should be labelled next.

`ActiveLearner` is for notebooks: it asks for labels, is told them, and its classifier learns each at once. `QueryStrategy` follows the conventions of
scikit-activeml, and `StreamQuerier` decides about the rows of a stream. All work from an empty label set on, with the classifiers of this package and
with
any of scikit-learn. `hedgerow.active.skactiveml` has a class for the strategies of scikit-activeml, and `modal_query` goes into modAL's learners.

>>> import numpy as np
>>> from hedgerow.active import ActiveLearner
>>> X = np.random.default_rng(0).normal(size=(300, 2))
>>> truth = np.where(X[:, 0] > 0, "right", "left")
>>> learner = ActiveLearner(X, random_state=0)
>>> for _ in range(10):
...     rows = learner.ask(3)
...     learner.tell(rows, truth[rows])
>>> bool((learner.predict(X) == truth).mean() > 0.9)
True
"""

from hedgerow.active._advice import Advice, Gain
from hedgerow.active._learner import ActiveLearner
from hedgerow.active._missing import MISSING_LABEL, is_labelled
from hedgerow.active._modal import modal_query
from hedgerow.active._strategy import STRATEGIES, QueryStrategy
from hedgerow.active._stream import StreamQuerier

__all__ = [
    "MISSING_LABEL",
    "STRATEGIES",
    "ActiveLearner",
    "Advice",
    "Gain",
    "QueryStrategy",
    "StreamQuerier",
    "is_labelled",
    "modal_query",
]
