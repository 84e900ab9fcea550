"""A classifier that keeps learning.

A model predicts a probability for each class and can learn more rows, and new classes, at any time.

>>> from hedgerow import OnlineForestClassifier
>>> X, y = [[0.0], [0.2], [0.9], [1.0]] * 10, ["low", "low", "high", "high"] * 10
>>> model = OnlineForestClassifier(random_state=0).fit(X, y)
>>> model.predict([[0.1], [0.95]]).tolist()
['low', 'high']

Classes may come late, without having been announced:

>>> _ = model.partial_fit([[5.0], [5.1], [5.2]] * 10, ["huge"] * 30)
>>> model.classes_.tolist()
['high', 'low', 'huge']
"""

from hedgerow import _river
from hedgerow._classifier import Classifier
from hedgerow._estimator import Estimator, load
from hedgerow._forest import OnlineForestClassifier
from hedgerow._gp import GpClassifier, GpRegressor
from hedgerow._hedgerow import VERSION as __version__
from hedgerow._hybrid import ForestIvmClassifier, ForestKernelClassifier, LeafGpClassifier
from hedgerow._ivm import IvmClassifier
from hedgerow._late import LateLabels
from hedgerow._neighbors import KdeClassifier, KnnClassifier
from hedgerow._outliers import OutlierDetector
from hedgerow._rvm import RvmClassifier, RvmRegressor

__all__ = [
    "Classifier",
    "Estimator",
    "ForestIvmClassifier",
    "ForestKernelClassifier",
    "GpClassifier",
    "GpRegressor",
    "IvmClassifier",
    "LateLabels",
    "KdeClassifier",
    "KnnClassifier",
    "LeafGpClassifier",
    "OnlineForestClassifier",
    "OutlierDetector",
    "RvmClassifier",
    "RvmRegressor",
    "__version__",
    "load",
]

_river.welcome()
