"""What every estimator does that holds an object of the engine: it can be asked whether it is fitted, and be pickled."""

from __future__ import annotations

from typing import Any, ClassVar

from numpy.typing import NDArray

from hedgerow._base import BaseEstimator, CallbackSupportMixin, NotFittedError
from hedgerow._table import TableReader


class NativeEstimator(CallbackSupportMixin, BaseEstimator):
    """The base of estimators that hold an object of the engine. A subclass says in `_holds` which attribute has it."""

    _holds: ClassVar[str]

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    _reader: TableReader

    def __sklearn_is_fitted__(self) -> bool:
        return self._holds in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        if self._holds in state:
            state[self._holds] = state[self._holds].to_bytes()
        return state

    def _held(self) -> Any:
        """Give the object of the engine; fail if there is none yet."""
        held = self.__dict__.get(self._holds)
        if held is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before"
                " using this estimator."
            )
        return held

    def _name_columns(self, n_features: int) -> None:
        """Set what is known of the columns."""
        self.n_features_in_ = n_features
        names = self._reader.names()
        if names is not None:
            self.feature_names_in_ = names
        else:
            self.__dict__.pop("feature_names_in_", None)
