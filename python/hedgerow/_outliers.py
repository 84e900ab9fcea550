"""Outliers of a table without labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow import _base, _hedgerow, _settings
from hedgerow._base import OutlierMixin, with_callbacks
from hedgerow._native import NativeEstimator
from hedgerow._progress import Watchers
from hedgerow._table import TableReader

if TYPE_CHECKING:
    from typing_extensions import Self

Floats = NDArray[np.float64]


class OutlierDetector(OutlierMixin, NativeEstimator):
    """Find the rows that are unlike the others, without labels.

    It takes any table as it is: missing values, categories and numbers of any scale. Scores depend on a row and the rows that the detector
    was fitted to, not on the batch.

    Parameters
    ----------
    method : str, default="auto"
        How rows are scored: `auto` (separation depth and distances together), `isolation`, `separation`, `knn`, `forest` or `proximity`.
    contamination : "auto" or float, default="auto"
        The share of outliers among the rows of `fit`, above 0 to 0.5, from which `offset_` follows. `auto` takes rows for outliers whose
        score lies above the upper fence of a box plot (with `method="forest"`, rows that most trees take for background), and the strangest
        hundredth of the rows of `fit` in any case.
    n_estimators : int or None, default=None
        Trees; None is 50 for `auto`, 100 for `isolation` and `separation`, and 500 for `forest` and `proximity`.
    max_samples : int, default=256
        Rows from which each tree of `auto`, `isolation` and `separation` is grown.
    n_neighbors : int, default=3
        Neighbors whose mean distance is the score of `knn`.
    compared_rows : int, default=20000
        Rows that others are compared with by `knn`, `forest` and `proximity`; of larger tables, so many are drawn at random.
    background : str, default="uniform"
        What `forest` and `proximity` tell the rows from: `uniform` or `permuted`.
    background_share : float, default=1.0
        Background rows for each row of the data.
    fresh_background : bool, default=False
        Draw new background rows for each tree of `forest`.
    max_seconds : float or None, default=None
        Time after which a fit ends with what it has; None sets no limit.
    n_jobs : int or None, default=-1
        Threads: a number, -1 for one a core, None for one. Results do not depend on it.
    random_state : int, generator or None, default=None
        Seed of all random choices: a whole number gives the same scores each time, None others.
    verbose : int, default=0
        1 shows how far a fit has come.

    Attributes
    ----------
    outlier_scores_ : array of shape (n_samples,)
        Scores of the rows of `fit`, from 0 to 1, larger is stranger. No row testifies for itself: these are better than the scores that
        the same rows get as new ones.
    offset_ : float
        `decision_function` is `score_samples` less this.
    n_features_in_ : int
        Columns of the rows it was fitted to.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where they have names.

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import OutlierDetector
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> detector = OutlierDetector(random_state=0).fit(X)
    >>> detector.predict([[0.0, 0.1], [7.0, 0.0]]).tolist()
    [1, -1]
    >>> detector.feature_attributions([[7.0, 0.0]]).argmax(axis=1).tolist()
    [0]
    """

    _holds = "_detector"
    _settings: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "max_samples": "sample_rows",
        "n_neighbors": "n_neighbors",
        "compared_rows": "compared_rows",
        "background": "background",
        "background_share": "background_share",
        "fresh_background": "fresh_background",
    }

    outlier_scores_: Floats
    offset_: float
    _detector: _hedgerow.Detector

    def __init__(
        self,
        *,
        method: str = "auto",
        contamination: str | float = "auto",
        n_estimators: int | None = None,
        max_samples: int = 256,
        n_neighbors: int = 3,
        compared_rows: int = 20000,
        background: str = "uniform",
        background_share: float = 1.0,
        fresh_background: bool = False,
        max_seconds: float | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.method = method
        self.contamination = contamination
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.n_neighbors = n_neighbors
        self.compared_rows = compared_rows
        self.background = background
        self.background_share = background_share
        self.fresh_background = fresh_background
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the detector to rows.

        Ctrl-C ends the fit early: `KeyboardInterrupt` is raised, and a detector made of what there was time for is there to be used.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows: numpy, pandas, polars or Arrow. Missing values are fine, and so are columns of text and categories in tables.
        y : ignored

        Returns
        -------
        self
        """
        name = type(self).__name__
        share = self._share()
        reader = TableReader(name)
        values = reader.first(X)
        if len(values) < 2:
            raise ValueError(f"{name} needs at least two rows to compare, got n_samples={len(values)}: 0 or 1 sample")
        settings = [
            *_settings.settings(self.get_params(deep=False), self._settings),
            ("n_trees", str(0 if self.n_estimators is None else self.n_estimators)),
            ("seed", str(_base.seed_of(self.random_state))),
        ]
        watchers = Watchers(self, "scoring rows", X, None)
        try:
            with _settings.argument_names({**self._settings, "n_estimators": "n_trees"}):
                fitted = _hedgerow.Detector.fit(
                    settings,
                    values,
                    columns=reader.json(),
                    threads=_base.threads(self.n_jobs),
                    seconds=None if self.max_seconds is None else float(self.max_seconds),
                    watch=watchers.watch(),
                )
        finally:
            watchers.close()
        self._reader, self._detector = reader, fitted.detector
        self._name_columns(values.shape[1])
        self.outlier_scores_ = self._detector.training_scores()
        # As new rows, which is how `predict` sees them, too.
        normality = -self._score(values)
        if share is None:
            self.offset_ = max(-self._detector.threshold, float(np.percentile(normality, 1.0)))
        else:
            self.offset_ = float(np.percentile(normality, 100.0 * share))
        if fitted.raised is not None:
            raise fitted.raised
        return self

    def outlier_score(self, X: Any) -> Floats:
        """Return how unlike the rows of `fit` each row is: from 0 to 1, larger is stranger."""
        self._fitted()
        return self._score(self._reader.more(X, grow=False)[0])

    def score_samples(self, X: Any) -> Floats:
        """Return the opposite of `outlier_score`, as scikit-learn has it: larger is more normal."""
        return -self.outlier_score(X)

    def decision_function(self, X: Any) -> Floats:
        """Return `score_samples` less `offset_`: below 0 for outliers."""
        scores: Floats = self.score_samples(X) - self.offset_
        return scores

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return -1 for outliers and 1 for others."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def feature_attributions(self, X: Any) -> Floats:
        """Return the share of each column in what makes each row strange.

        Parameters
        ----------
        X : array or table of shape (n_samples, n_features)
            The rows. Each takes 16 scores a column.

        Returns
        -------
        array of shape (n_samples, n_features)
            Each row sums to 1, or is 0 where no column makes it stranger.
        """
        detector = self._fitted()
        rows = self._reader.more(X, grow=False)[0]
        shares: Floats = detector.attributions(rows, threads=_base.threads(self.n_jobs))
        return shares

    def _share(self) -> float | None:
        """Give the share of outliers; None where it is not known."""
        if isinstance(self.contamination, str) and self.contamination == "auto":
            return None
        is_number = isinstance(self.contamination, (int, float, np.floating)) and not isinstance(self.contamination, bool)
        if not is_number or not 0.0 < float(self.contamination) <= 0.5:
            raise ValueError(f'contamination: expected "auto", or a share above 0 to 0.5, got {self.contamination!r}')
        return float(self.contamination)

    def _score(self, values: NDArray[Any]) -> Floats:
        scores: Floats = self._fitted().score(values, threads=_base.threads(self.n_jobs))
        return scores

    def _fitted(self) -> _hedgerow.Detector:
        detector: _hedgerow.Detector = self._held()
        return detector

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(state.get("_detector"), bytes):
            self._detector = _hedgerow.Detector.from_bytes(state["_detector"], columns=self._reader.json())
