"""Small problems that the tests share."""

import os
from pathlib import Path

import numpy as np
import pytest

from hedgerow import (
    ForestIvmClassifier,
    ForestKernelClassifier,
    GpClassifier,
    GpRegressor,
    IvmClassifier,
    KdeClassifier,
    KnnClassifier,
    LeafGpClassifier,
    OnlineForestClassifier,
    RvmClassifier,
    RvmRegressor,
)

ONLINE = [
    OnlineForestClassifier(n_estimators=20, random_state=0),
    IvmClassifier(n_active=20, random_state=0),
    RvmClassifier(random_state=0),
    LeafGpClassifier(n_estimators=3, random_state=0),
    ForestIvmClassifier(
        forest=OnlineForestClassifier(n_estimators=20), ivm=IvmClassifier(n_active=20), random_state=0
    ),
    ForestKernelClassifier(forest=OnlineForestClassifier(n_estimators=20), random_state=0),
    KdeClassifier(random_state=0),
    KnnClassifier(random_state=0),
]
ALL = [*ONLINE, GpClassifier(random_state=0)]
REGRESSORS = [RvmRegressor(random_state=0), GpRegressor(random_state=0)]
# Not tests themselves.
collect_ignore = ["smoke.py", "typed_usage.py"]


def name_of(model):
    return type(model).__name__


@pytest.fixture(params=ALL, ids=name_of)
def any_model(request):
    return fresh(request.param)


@pytest.fixture(params=ONLINE, ids=name_of)
def online_model(request):
    return fresh(request.param)


def fresh(model):
    return type(model)(**model.get_params(deep=False))


@pytest.fixture(scope="session")
def rings():
    """Three rings around each other, with text for labels."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(300, 2))
    radius = np.hypot(*X.T)
    return X, np.where(radius < 0.8, "inner", np.where(radius < 1.5, "middle", "outer"))


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("HEDGEROW_DATA")
    if not folder:
        pytest.skip("HEDGEROW_DATA is not set")
    return Path(folder)
