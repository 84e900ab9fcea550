"""River's functions take only what they know to be classifiers: we introduce ours, whichever package is imported first."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any


def welcome() -> None:
    """Register our online classifiers with River, now or once it is imported."""
    if "river.base" in sys.modules:
        _register(sys.modules["river.base"])
    else:
        sys.meta_path.insert(0, _AfterRiver())


def _register(base: ModuleType) -> None:
    from hedgerow._online import OnlineClassifier

    if hasattr(base, "Classifier"):
        base.Classifier.register(OnlineClassifier)


class _AfterRiver(importlib.abc.MetaPathFinder):
    """Finds nothing itself: lets `river.base` be found as ever, and registers us once it is loaded."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != "river.base":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _register(module)
