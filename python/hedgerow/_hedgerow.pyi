# Made from the native module by `cargo xtask stubs`.
"""
The private native module. Use the classes of `hedgerow` instead.
"""

from _typeshed import Incomplete, SupportsGetItem
from os import PathLike
from typing import Any, Final, SupportsFloat, SupportsIndex, final

__all__ = ["VERSION", "Detector", "Early", "Evidence", "Fitted", "FittedDetector", "Model", "Update", "command_line", "default_outlier_settings", "default_settings", "from_bytes", "load"]

VERSION: Final[str]
"""
The version of the engine.
"""

@final
class Detector:
    """
    A detector and the columns it was fitted to.
    """
    def attributions(self, /, x: Any, *, threads: SupportsIndex = 0) -> Incomplete:
        """
        The share of each column in what makes each row strange.
        """
    @property
    def columns(self, /) -> str | None:
        """
        The columns in JSON, where they are more than numbers without names.
        """
    @staticmethod
    def fit(settings: SupportsGetItem[int, tuple[str, str]], x: Any, *, columns: str | None = None, threads: SupportsIndex = 0, seconds: SupportsFloat | SupportsIndex | None = None, watch: Any | None = None) -> FittedDetector:
        """
        Fits a detector to rows. `columns` describes them in JSON where they are more than numbers without names.
        """
    @staticmethod
    def from_bytes(bytes: bytes, *, columns: str | None = None) -> Detector:
        """
        A detector from its bytes, with the columns it was fitted to.
        """
    def score(self, /, x: Any, *, threads: SupportsIndex = 0) -> Incomplete:
        """
        Scores rows: from 0 to 1, larger is stranger.
        """
    @property
    def threshold(self, /) -> float:
        """
        The score above which a row is taken for an outlier.
        """
    def to_bytes(self, /) -> bytes:
        """
        The detector as bytes.
        """
    def training_scores(self, /) -> Incomplete:
        """
        The scores of the rows it was fitted to, by what was not made from the row itself.
        """

@final
class Early:
    """
    What was predicted of a row when it came. It is given back with the label, for calibration to learn from.
    """
    def __new__(cls, /, text: str) -> Early: ...
    def text(self, /) -> str:
        """
        The same in JSON.
        """

@final
class Evidence:
    """
    A distribution over the class probabilities of each of some rows.
    """
    @property
    def about(self, /) -> str:
        """
        What the distributions are about.
        """
    @property
    def concentrations(self, /) -> Incomplete | None:
        """
        The concentrations of the Dirichlet distributions; none where they are samples.
        """
    def counts(self, /) -> Incomplete:
        """
        Counts of labels that stand for the evidence.
        """
    def density(self, /, class_: SupportsIndex, points: SupportsGetItem[int, SupportsFloat | SupportsIndex]) -> Incomplete:
        """
        The density of a class's probability at some points.
        """
    def interval(self, /, level: SupportsFloat | SupportsIndex) -> tuple[Incomplete, Incomplete]:
        """
        The lower and the upper ends of equal-tailed intervals.
        """
    def mean(self, /) -> Incomplete:
        """
        The mean of each class's probability.
        """
    def parts(self, /, *, by_variance: bool = False) -> tuple[Incomplete, Incomplete, Incomplete]:
        """
        Total, aleatoric and epistemic uncertainty: entropies, or variances summed over classes.
        """
    def quantile(self, /, level: SupportsFloat | SupportsIndex) -> Incomplete:
        """
        The quantile of each class's probability.
        """
    def sample(self, /, n_samples: SupportsIndex, seed: SupportsIndex) -> Incomplete:
        """
        Draws of probability vectors: sample, row, class.
        """
    def variance(self, /) -> Incomplete:
        """
        The variance of each class's probability.
        """

@final
class Fitted:
    """
    What a fit gives. `raised` is what stopped it, where something was raised while it ran: the model is the best so far.
    """
    @property
    def log_evidence(self, /) -> float | None: ...
    @property
    def model(self, /) -> Model: ...
    @property
    def notes(self, /) -> list[str]:
        """
        What a user should know about the fit, in words; empty if all is well.
        """
    @property
    def oob(self, /) -> Incomplete | None:
        """
        Probabilities of the training rows by trees that have not seen them, where there are such.
        """
    @property
    def raised(self, /) -> Any | None: ...
    @property
    def stop(self, /) -> str:
        """
        Why training ended: done, converged, time, memory or interrupted.
        """

@final
class FittedDetector:
    """
    A detector, and what stopped its fit where something was raised while it ran: it is made of what there was time for.
    """
    @property
    def detector(self, /) -> Detector: ...
    @property
    def raised(self, /) -> Any | None: ...

@final
class Model:
    """
    A model and the schema it was trained on. Several threads may ask it at once; while it learns, they wait.
    """
    def __new__(cls, /, kind: str, settings: SupportsGetItem[int, tuple[str, str]], n_features: SupportsIndex, classes: SupportsGetItem[int, str] | None = None, *, columns: str | None = None) -> Model:
        """
        A model that knows nothing yet and learns what it is given.
        """
    @property
    def active_rows(self, /) -> Incomplete | None:
        """
        The rows that predictions are computed from, where the model has such rows.
        """
    @property
    def can_learn(self, /) -> bool:
        """
        Whether it can go on learning.
        """
    @property
    def classes(self, /) -> list[str]:
        """
        The names of the classes, in the order of the columns of its predictions.
        """
    @property
    def columns(self, /) -> str | None:
        """
        The feature columns, in JSON; none where they are numbers without names.
        """
    def evidence(self, /, x: Any, *, threads: SupportsIndex = 0) -> Evidence:
        """
        How much evidence there is for the prediction of each row.
        """
    @staticmethod
    def fit(kind: str, settings: SupportsGetItem[int, tuple[str, str]], x: Any, targets: Incomplete, classes: SupportsGetItem[int, str] | None = None, *, columns: str | None = None, weights: Incomplete | None = None, threads: SupportsIndex = 0, seconds: SupportsFloat | SupportsIndex | None = None, memory: SupportsIndex | None = None, watch: Any | None = None) -> Fitted:
        """
        Fits a model to rows.

        `columns` describes them in JSON where they are more than numbers without names. `targets` are places in `classes`, or the numbers
        of a regression, which has no classes.
        """
    def frozen(self, /) -> Model:
        """
        A copy that learns no more: smaller, as it has no rows.
        """
    @property
    def importances(self, /) -> list[float] | None:
        """
        The share of each column in what the splits of trees gained, where the model can tell.
        """
    @property
    def kernel(self, /) -> list[tuple[str, float]]:
        """
        The parameters of the kernel by name, where there is one.
        """
    @property
    def kind(self, /) -> str:
        """
        The kind of model.
        """
    def learn(self, /, x: Any, targets: Incomplete, *, new_classes: SupportsGetItem[int, str] = ..., new_categories: SupportsGetItem[int, tuple[SupportsIndex, SupportsGetItem[int, str]]] = ..., weights: Incomplete | None = None, earlier: SupportsGetItem[int, Early] | None = None, delay: SupportsIndex = 0, threads: SupportsIndex = 0, seconds: SupportsFloat | SupportsIndex | None = None, memory: SupportsIndex | None = None, watch: Any | None = None) -> Update:
        """
        Learns rows in order, each when `delay` more rows have come. `new_classes` and `new_categories` (by column) are those that have not been seen
        before, `earlier` is what was predicted of each row when it came, if its label came later.
        """
    @property
    def n_bytes(self, /) -> int:
        """
        Bytes in memory.
        """
    @property
    def n_features(self, /) -> int:
        """
        How many feature columns there are.
        """
    @property
    def n_seen(self, /) -> int | None:
        """
        How many rows it has learnt, where it can go on learning.
        """
    @property
    def n_trees(self, /) -> int | None:
        """
        How many trees there are, where it is made of some.
        """
    @property
    def n_waiting(self, /) -> int:
        """
        Rows that wait for their labels.
        """
    def outlier_score(self, /, x: Any, *, threads: SupportsIndex = 0) -> Incomplete:
        """
        How unlike the rows that the model has learnt each row is.
        """
    def predict_early(self, /, x: Any) -> tuple[Incomplete, list[Early]]:
        """
        A probability for every class of every row, with what is given back when the labels come.
        """
    def predict_proba(self, /, x: Any, *, threads: SupportsIndex = 0) -> Incomplete:
        """
        A probability for every class of every row.
        """
    def predict_set(self, /, x: Any, level: SupportsFloat | SupportsIndex, *, method: str = "balanced", never_empty: bool = False, threads: SupportsIndex = 0) -> Incomplete:
        """
        Whether each class is in the prediction set of each row.
        """
    def predict_values(self, /, x: Any, *, threads: SupportsIndex = 0) -> tuple[Incomplete, Incomplete]:
        """
        The number of every row and the variance of what would be observed.
        """
    def save(self, /, path: str | PathLike[str]) -> int:
        """
        Writes the model file.
        """
    @property
    def settings(self, /) -> str:
        """
        The parameters it was made with, in JSON.
        """
    @property
    def task(self, /) -> str:
        """
        What it predicts: classification or regression.
        """
    def to_bytes(self, /) -> bytes:
        """
        The bytes of the model file.
        """
    def true_probability(self, /, x: Any, *, threads: SupportsIndex = 0) -> Evidence:
        """
        Where the true class probabilities of each row lie.
        """
    def wait(self, /, waiting: str) -> None:
        """
        Puts rows there that wait for their labels.
        """
    def waiting(self, /) -> str | None:
        """
        The rows that wait for their labels, in JSON; none if there are none.
        """

@final
class Update:
    """
    What came of learning some rows.
    """
    @property
    def drifts(self, /) -> list[int]:
        """
        The rows at which drift was noticed, counted from the first ever learnt.
        """
    @property
    def n_forgotten(self, /) -> int: ...
    @property
    def n_learnt(self, /) -> int: ...
    @property
    def n_replaced(self, /) -> int: ...
    @property
    def predictions(self, /) -> Incomplete:
        """
        What the model predicted before it learnt each row: probabilities, or mean and variance.
        """
    @property
    def raised(self, /) -> Any | None: ...

def command_line(args: SupportsGetItem[int, str]) -> int:
    """
    Runs the command line and returns its exit code.
    """

def default_outlier_settings() -> str:
    """
    The parameters of an outlier detector as they are when none is given: an object in JSON.
    """

def default_settings(kind: str) -> str:
    """
    The parameters of a kind of model as they are when none is given: an object in JSON.
    """

def from_bytes(bytes: bytes) -> Model:
    """
    A model from the bytes of a model file.
    """

def load(path: str | PathLike[str]) -> Model:
    """
    Reads a model file.
    """
