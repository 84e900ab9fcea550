"""What every estimator does: it keeps its arguments, reads rows, saves and loads."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow, _settings
from hedgerow._native import NativeEstimator
from hedgerow._progress import Watchers
from hedgerow._table import TableReader

if TYPE_CHECKING:
    from typing_extensions import Self

Array = NDArray[Any]

_KINDS: dict[tuple[str, str], type[Estimator]] = {}


class Estimator(NativeEstimator):
    """The base of all estimators of this package.

    A subclass gives `_kind` and, for each argument of its constructor that the engine knows, the engine's name in
    `_settings`.
    """

    _holds = "_model"
    _kind: ClassVar[str]
    _settings: ClassVar[Mapping[str, str]]
    # Arguments that are estimators themselves, called by the kind of each.
    _parts: ClassVar[tuple[str, ...]] = ()
    _title: ClassVar[str] = "fitting"
    _task: ClassVar[str]

    n_jobs: int | None
    max_seconds: float | None
    max_memory: int | str | None
    verbose: int
    random_state: Any
    _model: _hedgerow.Model

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Register which class has which kind of model."""
        super().__init_subclass__(**kwargs)
        kind = getattr(cls, "_kind", None)
        if kind is not None:
            _KINDS.setdefault((kind, cls._task), cls)

    def outlier_score(self, X: Any) -> NDArray[np.float64]:
        """Return how unlike the rows that the model has learnt each row is: from 0 to 1, larger is stranger.

        Of rows like those it has learnt, one in twenty lies above 0.95: rows above that may be rejected, as rows of a class that the model
        does not know. Rows that are learnt with `partial_fit` count from then on.

        >>> import numpy as np
        >>> from hedgerow import OnlineForestClassifier
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = OnlineForestClassifier(random_state=0).fit(X, X[:, 0] > 0)
        >>> near, far = model.outlier_score([[0.5, 0.0], [9.0, 9.0]])
        >>> bool(near < 0.9 and far > 0.99)
        True

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        array of shape (n_samples,)
        """
        model = self._fitted()
        scores: NDArray[np.float64] = model.outlier_score(self._rows(X), threads=_base.threads(self.n_jobs))
        return scores

    def save(self, path: str | os.PathLike[str]) -> int:
        """Write the model to a file, the same that the command line reads and writes, and return its size in bytes.

        All of it or nothing is written: an older file stays until the new one is whole.
        """
        return self._fitted().save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model from a file that was saved here or by the command line."""
        return cls._of_model(_hedgerow.load(os.fspath(path)))

    def to_bytes(self) -> bytes:
        """Return the bytes of the model file."""
        return self._fitted().to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Make a model from the bytes of a model file."""
        return cls._of_model(_hedgerow.from_bytes(data))

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if self.__sklearn_is_fitted__():
            state["_waiting"] = self._model.waiting()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_model"), bytes):
            self._model = _hedgerow.from_bytes(state["_model"])
            waiting = self.__dict__.pop("_waiting", None)
            if waiting is not None:
                self._model.wait(waiting)

    @classmethod
    def _of_model(cls, model: _hedgerow.Model) -> Self:
        """Make an estimator with the arguments that a model was made with."""
        kind = _KINDS.get((model.kind, model.task))
        if kind is None:
            raise ValueError(f"models of kind {model.kind} have no class in this version of the package")
        if not issubclass(kind, cls):
            raise ValueError(f"{cls.__name__} was asked to load a model of kind {model.kind}: use {kind.__name__}.load")
        settings = json.loads(model.settings)
        estimator = kind(**kind._arguments_of(settings))
        estimator.random_state = settings.get("seed")
        columns = json.loads(model.columns) if model.columns is not None else None
        estimator._reader = TableReader(kind.__name__, columns, model.n_features)
        estimator._take_loaded(model)
        return estimator

    @classmethod
    def _arguments_of(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments of the constructor from settings of the engine."""
        arguments = _settings.arguments(settings, cls._settings)
        for part in cls._parts:
            if part in arguments:
                own, usual = (dict(each[part]) for each in (settings, json.loads(_hedgerow.default_settings(cls._kind))))
                usual["seed"] = own.get("seed")
                arguments[part] = None if own == usual else _part(part, own)
        return arguments

    def _take_loaded(self, model: _hedgerow.Model) -> None:
        """Set the model from a file."""
        self._take_columns(model)

    def _take_columns(self, model: _hedgerow.Model) -> None:
        """Set the model and what is known of its columns."""
        self._model = model
        self._name_columns(model.n_features)

    def _engine_settings(self) -> list[tuple[str, str]]:
        seed = ("seed", str(_base.seed_of(self.random_state)))
        return [*_settings.settings(self.get_params(deep=False), self._settings, self._parts), seed]

    def _argument_names(self) -> AbstractContextManager[None]:
        """Errors of the engine inside of this name the arguments of this class, and of its parts."""
        names = dict(self._settings)
        for part in self._parts:
            names = {**_KINDS[part, "classification"]._settings, **names}
        return _settings.argument_names(names)

    def _limits(self) -> dict[str, Any]:
        return {
            "threads": _base.threads(self.n_jobs),
            "seconds": None if self.max_seconds is None else float(self.max_seconds),
            "memory": _base.bytes_of(self.max_memory),
        }

    def _fitted(self) -> _hedgerow.Model:
        model: _hedgerow.Model = self._held()
        return model

    def _fit_model(
        self, X: Any, y: Any, reader: TableReader, rows: Any, targets: Any, classes: Any = None, weights: Any = None
    ) -> _hedgerow.Fitted:
        """Let the engine fit a model to rows that were read; `X` and `y` are what the caller gave."""
        watchers = Watchers(self, self._title, X, y)
        try:
            with self._argument_names():
                return _hedgerow.Model.fit(
                    self._kind,
                    self._engine_settings(),
                    rows,
                    targets,
                    classes,
                    columns=reader.json(),
                    weights=weights,
                    watch=watchers.watch(),
                    **self._limits(),
                )
        finally:
            watchers.close()

    def _active_rows(self) -> NDArray[np.float32]:
        """Give the rows that predictions are computed from."""
        rows = self._fitted().active_rows
        return np.empty((0, self.n_features_in_), np.float32) if rows is None else rows

    def _rows(self, X: Any) -> Array:
        # The way of one row a time from a plain array: no look at names, no copy.
        if type(X) is np.ndarray and X.dtype.char in "fd" and X.ndim == 2 and not self._reader.has_names:
            if X.shape[1] == self.n_features_in_ and X.flags.aligned and X.dtype.isnative:
                return X
        return self._reader.more(X, grow=False)[0]


class WithKernel(Estimator):
    """An estimator whose model has a kernel."""

    @property
    def kernel_(self) -> dict[str, Any]:
        """The parameters of the kernel by name."""
        return dict(self._fitted().kernel)


def load(path: str | os.PathLike[str]) -> Estimator:
    """Read a model of any kind from a file that was saved here or by the command line.

    >>> import os, tempfile, hedgerow
    >>> model = hedgerow.OnlineForestClassifier(n_estimators=10).fit([[0.0], [1.0]] * 5, [0, 1] * 5)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.hedgerow")
    >>> model.save(path) > 0
    True
    >>> hedgerow.load(path).predict([[0.9]]).tolist()
    [1]
    """
    return Estimator.load(path)


def _part(name: str, settings: Mapping[str, Any]) -> Any:
    """Make an estimator that is an argument of another one."""
    kind = _KINDS[name, "classification"]
    return kind(**kind._arguments_of(settings))


def check_lengths(values: Array, codes: Array) -> None:
    if len(values) != len(codes):
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {[len(values), len(codes)]}")
    if not len(values):
        raise ValueError(f"Found array with 0 sample(s) (shape={values.shape}) while a minimum of 1 is required.")
