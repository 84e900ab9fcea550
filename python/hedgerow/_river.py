"""River's functions take only what they know to be classifiers: we introduce ours, whichever package is imported first."""

from __future__ import annotations

import sys
from types import ModuleType

from hedgerow import _late_import


def welcome() -> None:
    """Register our online classifiers with River, now or once it is imported."""
    if "river.base" in sys.modules:
        _register(sys.modules["river.base"])
    else:
        _late_import.after("river.base", _register)


def _register(base: ModuleType) -> None:
    from hedgerow._online import OnlineClassifier

    if hasattr(base, "Classifier"):
        base.Classifier.register(OnlineClassifier)
