"""scikit-activeml's wrappers take only what they know to be strategies: we introduce ours, whichever package is imported first."""

from __future__ import annotations

import sys
from types import ModuleType

from hedgerow import _late_import


def welcome(strategy: type) -> None:
    """Register a strategy with scikit-activeml, now or once it is imported."""

    def register(base: ModuleType) -> None:
        base.SingleAnnotatorPoolQueryStrategy.register(strategy)

    if "skactiveml.base" in sys.modules:
        register(sys.modules["skactiveml.base"])
    else:
        _late_import.after("skactiveml.base", register)
