"""Arguments with scikit-learn's names and meanings as settings of the engine, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from hedgerow import _labels

# The engine has 0 where scikit-learn has None.
_ZERO_IS_NONE = ("max_depth",)
# How messages of the engine about a parameter begin.
_PARAMETER = re.compile(r"^parameter (?:\w+\.)*(\w+)(?=:)")


def settings(
    arguments: Mapping[str, Any], names: Mapping[str, str], parts: tuple[str, ...] = ()
) -> list[tuple[str, str]]:
    """Settings of the engine in JSON, from arguments; `names` has the engine's name for each.

    `parts` are arguments that are estimators themselves; None leaves their settings to the engine.
    """
    given = ((argument, name, arguments[argument]) for argument, name in names.items())
    return [
        (name, json.dumps(_part_settings(value) if argument in parts else _to_engine(argument, value)))
        for argument, name, value in given
        if argument not in parts or value is not None
    ]


def arguments(settings: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Arguments from settings of the engine."""
    return {argument: _from_engine(argument, settings[name]) for argument, name in names.items() if name in settings}


@contextmanager
def argument_names(names: Mapping[str, str]) -> Iterator[None]:
    """Errors of the engine inside of this name a parameter as the argument that it came from."""
    try:
        yield
    except ValueError as error:
        if len(error.args) == 1 and isinstance(error.args[0], str):
            error.args = (_with_argument(error.args[0], names),)
        raise


def _with_argument(message: str, names: Mapping[str, str]) -> str:
    found = _PARAMETER.match(message)
    if found is None:
        return message
    argument = next((argument for argument, name in names.items() if name == found[1]), found[1])
    return f"parameter {argument}{message[found.end() :]}"


def _part_settings(part: Any) -> dict[str, Any]:
    """Settings of an estimator that is an argument of another one."""
    return {name: json.loads(text) for name, text in settings(part.get_params(deep=False), part._settings)}


def _to_engine(argument: str, value: Any) -> Any:
    if argument in _ZERO_IS_NONE and value is None:
        return 0
    if argument == "max_features":
        return "all" if value is None else value if isinstance(value, str) else _plain(value)
    if argument == "criterion" and value == "log_loss":
        return "entropy"
    if argument == "class_weight":
        if value is None:
            return "none"
        if isinstance(value, Mapping):
            return dict(zip(_labels.names(np.array(list(value))), (float(w) for w in value.values()), strict=True))
    return _plain(value)


def _from_engine(argument: str, value: Any) -> Any:
    if argument in _ZERO_IS_NONE and value == 0:
        return None
    if argument == "max_features" and value == "all":
        return None
    if argument == "class_weight":
        if value == "none":
            return None
        if isinstance(value, Mapping):
            return dict(zip(_labels.classes_of(list(value)).tolist(), value.values(), strict=True))
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; the engine reports what is wrong with anything else."""
    item: Callable[[], Any] | None = getattr(value, "item", None)
    if callable(item):
        return item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if isinstance(value, (int, float, bool, str)) or value is None else repr(value)
