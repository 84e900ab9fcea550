"""Query strategies with the conventions of scikit-activeml."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow, _labels
from hedgerow._base import BaseEstimator
from hedgerow.active import _model, _welcome
from hedgerow.active._missing import MISSING_LABEL, is_labelled, known_labels, labels_of
from hedgerow.active._rows import PoolRows

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Rows without a label up to which all are candidates.
_MOST_CANDIDATES = 2_000

STRATEGIES: dict[str, str] = dict(_hedgerow.query_strategies())
"""The strategies by name, with what each is."""


class QueryStrategy(BaseEstimator):
    """Choose the rows whose labels should help most.

    Parameters
    ----------
    strategy : str, default="auto"
        How rows are chosen; `hedgerow.active.STRATEGIES` has the names.
    diversity : float, default=1.0
        How much less a row counts that is like one chosen before it for the same batch, from 0 (not at all) to 1 (a copy counts nothing).
    n_candidates : int, default=0
        Candidates among the rows without labels, drawn afresh for each query where `candidates` is None; 0 leaves it to the strategy.
    n_jobs : int or None, default=-1
        Threads: a number, -1 for one a core, None for one. Results do not depend on it.
    missing_label : number, text or None, default=nan
        What stands for a missing label.
    random_state : int, generator or None, default=None
        Seed of all random choices.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import OnlineForestClassifier
    >>> from hedgerow.active import QueryStrategy
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> y = np.full(100, np.nan)
    >>> strategy = QueryStrategy(random_state=0)
    >>> rows = strategy.query(X, y, batch_size=4)
    >>> y[rows] = X[rows, 0] > 0
    >>> len(strategy.query(X, y, clf=OnlineForestClassifier(random_state=0), batch_size=2))
    2
    """

    def __init__(
        self,
        strategy: str = "auto",
        *,
        diversity: float = 1.0,
        n_candidates: int = 0,
        n_jobs: int | None = -1,
        missing_label: Any = MISSING_LABEL,
        random_state: Any = None,
    ) -> None:
        self.strategy = strategy
        self.diversity = diversity
        self.n_candidates = n_candidates
        self.n_jobs = n_jobs
        self.missing_label = missing_label
        self.random_state = random_state

    def query(
        self,
        X: Any,
        y: Any,
        clf: Any = None,
        fit_clf: bool = True,
        sample_weight: Any = None,
        candidates: Any = None,
        batch_size: int = 1,
        return_utilities: bool = False,
    ) -> Any:
        """Choose rows.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            All rows, with and without labels.
        y : array of shape (n_samples,)
            Their labels, of which some or all are missing.
        clf : classifier, optional
            The classifier whose predictions rows are chosen by: one of this package, of scikit-learn or of scikit-activeml. Without it, or without
            labels of two
            classes, rows are chosen by where they lie.
        fit_clf : bool
            Whether a copy of it is fitted to the labels there are. Otherwise it has been fitted.
        sample_weight : array of shape (n_samples,), optional
            Weights for that fit.
        candidates : array, optional
            Rows to choose from: their numbers, or rows of a table of their own. Without them, all rows without a label.
        batch_size : int
            How many rows to choose. Rows that are like one another are not chosen together.
        return_utilities : bool
            Whether to return utilities too.

        Returns
        -------
        query_indices : array of int of shape (batch_size,)
            The chosen rows by their numbers in X, or in `candidates` if these are rows; the most useful first.
        utilities : array of shape (batch_size, n_samples) or (batch_size, n_candidates)
            What each row was worth when each was chosen; NaN for rows that could not be chosen, those chosen before among them. Only if they are
            asked for.
        """
        y = labels_of(y)
        mask = is_labelled(y, self.missing_label)
        batch_size = _count("batch_size", batch_size)
        is_table = candidates is not None and np.ndim(candidates) == 2
        rows = PoolRows(X, candidates if is_table else None)
        if len(y) != rows.n_first:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[rows.n_first, len(y)]}")
        chooses_from = self._candidates(candidates, mask, rows, is_table=is_table)
        if len(chooses_from) < batch_size:
            warnings.warn(
                f"'batch_size={batch_size}' is larger than number of candidates. Instead, 'batch_size={len(chooses_from)}' was set.",
                stacklevel=2,
            )
            batch_size = len(chooses_from)
        model = _model.fitted(clf, X, y, mask, sample_weight) if fit_clf and clf is not None else clf
        asked = _model.Asked(model, rows, known_labels(y, mask))
        seed = _base.seed_of(self.random_state)
        pool = _hedgerow.ActivePool(rows.values, self._settings(seed), columns=rows.columns)
        pool.label(np.flatnonzero(mask).astype(np.int64), asked.codes, _labels.names(asked.classes))
        given = {"threads": _base.threads(self.n_jobs), **asked.arguments()}
        offset = rows.n_first if is_table else 0
        if candidates is None and not return_utilities and len(chooses_from) > _MOST_CANDIDATES:
            # The engine draws some of them.
            return pool.query(batch_size, **given)[0] - offset
        # Of equal utilities the first is taken: their order must be no order.
        chooses_from = np.random.default_rng(seed).permutation(chooses_from)
        if not return_utilities:
            return pool.query(batch_size, candidates=chooses_from, **given)[0] - offset
        chosen, steps = pool.query_with_utilities(batch_size, chooses_from, **given)
        utilities = np.full((batch_size, len(rows.values) - offset), np.nan)
        utilities[:, chooses_from - offset] = steps
        return chosen - offset, utilities

    def _candidates(self, candidates: Any, mask: NDArray[np.bool_], rows: PoolRows, *, is_table: bool) -> Ints:
        if is_table:
            return np.arange(rows.n_first, len(rows.values))
        if candidates is None:
            return np.flatnonzero(~mask).astype(np.int64)
        numbers = np.asarray(candidates)
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            raise ValueError(f"candidates: expected numbers of rows or a table of rows, got {numbers.dtype} of shape {numbers.shape}")
        return numbers.astype(np.int64)

    def _settings(self, seed: int) -> list[tuple[str, str]]:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy: expected one of {', '.join(STRATEGIES)}, got {self.strategy!r}")
        settings = {
            "strategy": self.strategy,
            "diversity": float(self.diversity),
            "n_candidates": int(self.n_candidates),
            "seed": seed,
        }
        return [(name, json.dumps(value)) for name, value in settings.items()]


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"`{name}` must be a whole number (got {value!r})")
    if value < 1:
        raise ValueError(f"`{name}` must be 1 or more (got {value!r})")
    return int(value)


_welcome.welcome(QueryStrategy)
