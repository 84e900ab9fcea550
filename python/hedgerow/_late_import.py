"""Something that is done when a module is imported later, if it ever is."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any


def after(name: str, call: Callable[[ModuleType], None]) -> None:
    """Call a function with a module once that has been imported."""
    sys.meta_path.insert(0, _After(name, call))


class _After(importlib.abc.MetaPathFinder):
    """Finds nothing itself: lets the module be found as ever, and calls once it is loaded."""

    def __init__(self, name: str, call: Callable[[ModuleType], None]) -> None:
        self._name, self._call = name, call

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._call)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, call: Callable[[ModuleType], None]) -> None:
        self._loader, self._call = loader, call

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self._loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._call(module)
