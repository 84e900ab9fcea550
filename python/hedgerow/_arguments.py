"""Arguments of the estimators. Made from the engine's parameters by `cargo xtask docs`: change them there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class ForestArguments:
    """What a model of kind `forest` can be told."""

    _kind: ClassVar[str] = "forest"
    _title: ClassVar[str] = "growing trees"
    _settings: ClassVar[Mapping[str, str]] = {
        "n_estimators": "n_trees",
        "splits": "splits",
        "criterion": "criterion",
        "max_features": "max_features",
        "n_thresholds": "n_thresholds",
        "sample_rows": "sample_rows",
        "max_depth": "max_height",
        "min_samples_leaf": "min_leaf_rows",
        "bagging": "bagging",
        "learn_left_out": "learn_left_out",
        "class_weight": "class_weights",
        "probabilities": "probabilities",
        "leaf_power": "leaf_power",
        "calibrate": "calibrate",
        "patience": "patience",
        "pool_rows": "pool_rows",
        "keep": "keep",
        "replace": "replace",
        "forget": "forget",
    }

    def __init__(
        self,
        *,
        n_estimators: int = 100,
        splits: str = "random",
        criterion: str = "gini",
        max_features: str | int | float | None = "sqrt",
        n_thresholds: int = 1,
        sample_rows: int = 128,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        bagging: str = "fraction:0.8",
        learn_left_out: bool = True,
        class_weight: str | Mapping[Any, float] | None = None,
        probabilities: str = "leaf",
        leaf_power: str | float = "auto",
        calibrate: bool = True,
        patience: int = 0,
        pool_rows: int = 100000,
        keep: str = "all",
        replace: float = 0.6,
        forget: bool = True,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        n_estimators : int, default=100
            Number of trees; 0 grows as many as the time, memory or patience given allows.
        splits : str, default="random"
            How a threshold is found: `random` draws it (extremely randomized trees), `best` tries every one (random forest).
        criterion : str, default="gini"
            What makes a split good: `gini`, `entropy` (`log_loss` is the same) or `misclassification`.
        max_features : str | int | float | None, default="sqrt"
            Columns tried at each node: `sqrt`, `log2`, None for all, a whole number, or a share such as 0.3.
        n_thresholds : int, default=1
            Random thresholds tried in each column, 1 or more; ignored by `splits=best`.
        sample_rows : int, default=128
            Rows of a node that the search for its split looks at, 2 or more (up to 32 times as many where one class has nearly all rows); 0 looks at all of them.
        max_depth : int | None, default=None
            Greatest height of a tree; None sets no limit.
        min_samples_leaf : int, default=1
            Fewest rows in a leaf, 1 or more.
        bagging : str, default="fraction:0.8"
            Rows each tree sees: `all`, `bootstrap`, `fraction:F`, `amount:N` or `stride:S` (steps of 1 to S).
        learn_left_out : bool, default=True
            Let each tree learn the rows its bag left out, after they have judged it; only for bags of half the rows or more.
        class_weight : str | Mapping[Any, float] | None, default=None
            Weight of each class: None, `balanced` (all classes count the same), or a mapping from labels to weights.
        probabilities : str, default="leaf"
            What a tree contributes: `leaf` (the shares in its leaf) or `votes` (its favorite class).
        leaf_power : str | float, default="auto"
            What the answer of a tree counts: the size of its leaf to this power, from -1 to 1; 0 lets all trees count the same, below 0 suits labels that are right, above 0 noisy ones. `auto` finds out on rows that trees have not seen.
        calibrate : bool, default=True
            Calibrate probabilities on out-of-bag rows where that lowers their log-loss; needs a bagging that leaves rows out.
        patience : int, default=0
            Stop when out-of-bag accuracy has not risen for this many rounds of 10 trees; 0 never stops early.
        pool_rows : int, default=100000
            Most rows remembered to learn from; 0 sets no limit but memory. The oldest go first, but no class is forgotten.
        keep : str, default="all"
            Which rows a forest that learns online remembers: `all`, `wrong` (those it got wrong) or `uncertain` (those it got wrong or was less than half sure of).
        replace : float, default=0.6
            While a forest learns online, the share of its trees that may be grown anew each time the rows it remembers double (or half of them are exchanged), from 0 to 4; 0 never replaces a tree.
        forget : bool, default=True
            Forget rows that a noticed drift has put out of date.
        max_seconds : float | None, default=None
            Time after which a fit ends with the best model so far; None sets no limit.
        max_memory : int | str | None, default=None
            Most bytes (or a text such as `500MB`) that a model, the rows it keeps and its training take together; None sets no limit.
        n_jobs : int | None, default=-1
            Threads: a number, -1 for one a core, None for one. Results do not depend on it.
        random_state : Any, default=None
            Seed of all random choices: a whole number makes the same model each time, None another one.
        verbose : int, default=0
            1 shows how far a fit has come.
        """
        self.n_estimators = n_estimators
        self.splits = splits
        self.criterion = criterion
        self.max_features = max_features
        self.n_thresholds = n_thresholds
        self.sample_rows = sample_rows
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.bagging = bagging
        self.learn_left_out = learn_left_out
        self.class_weight = class_weight
        self.probabilities = probabilities
        self.leaf_power = leaf_power
        self.calibrate = calibrate
        self.patience = patience
        self.pool_rows = pool_rows
        self.keep = keep
        self.replace = replace
        self.forget = forget
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class IvmArguments:
    """What a model of kind `ivm` can be told."""

    _kind: ClassVar[str] = "ivm"
    _title: ClassVar[str] = "searching for a kernel"
    _settings: ClassVar[Mapping[str, str]] = {
        "n_active": "n_active",
        "n_candidates": "n_candidates",
        "length_scale": "length_scale",
        "signal_variance": "signal_variance",
        "noise_variance": "noise_variance",
        "search": "search",
        "objective": "objective",
        "n_trials": "n_trials",
        "suppress": "suppress",
        "balance": "balance",
        "second_pass": "second_pass",
        "refit": "refit",
        "max_rows": "max_rows",
    }

    def __init__(
        self,
        *,
        n_active: int = 100,
        n_candidates: int = 0,
        length_scale: float = 0.0,
        signal_variance: float = 0.0,
        noise_variance: float = 0.001,
        search: str = "grid",
        objective: str = "loss",
        n_trials: int = 60,
        suppress: bool = False,
        balance: bool = False,
        second_pass: str = "none",
        refit: bool = True,
        max_rows: int = 0,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        n_active : int, default=100
            Active rows of each class's machine, at most.
        n_candidates : int, default=0
            Rows drawn at random that compete for each place; 0 lets all rows compete.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it.
        signal_variance : float, default=0.0
            Variance of the kernel; 0 searches for it.
        noise_variance : float, default=0.001
            Variance of the noise beside the likelihood's own; keeps the numbers sound.
        search : str, default="grid"
            How length scale and variance are searched for: `grid` tries a few, `cma` lets a population of them evolve.
        objective : str, default="loss"
            What the search looks at: `loss` is the calibrated log-loss of answers that rows get without their own labels, `evidence` what the filter thinks of the active rows, `error` the thesis's mixture of that evidence and the error.
        n_trials : int, default=60
            Pairs of length scale and variance that `cma` tries.
        suppress : bool, default=False
            Rows like active ones of their class are chosen less readily.
        balance : bool, default=False
            Each machine's active rows have its class and the others in nearly equal numbers.
        second_pass : str, default="none"
            What is done with the sites once the active rows are chosen: `none`, `reversed` or `ep`.
        refit : bool, default=True
            Fit scores to all rows once the active ones are known.
        max_rows : int, default=0
            Rows that a model which goes on learning remembers, its active rows among them; 0 for 20 times `n_active`, but 2,000 at least.
        max_seconds : float | None, default=None
            Time after which a fit ends with the best model so far; None sets no limit.
        max_memory : int | str | None, default=None
            Most bytes (or a text such as `500MB`) that a model, the rows it keeps and its training take together; None sets no limit.
        n_jobs : int | None, default=-1
            Threads: a number, -1 for one a core, None for one. Results do not depend on it.
        random_state : Any, default=None
            Seed of all random choices: a whole number makes the same model each time, None another one.
        verbose : int, default=0
            1 shows how far a fit has come.
        """
        self.n_active = n_active
        self.n_candidates = n_candidates
        self.length_scale = length_scale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.search = search
        self.objective = objective
        self.n_trials = n_trials
        self.suppress = suppress
        self.balance = balance
        self.second_pass = second_pass
        self.refit = refit
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class GpArguments:
    """What a model of kind `gp` can be told."""

    _kind: ClassVar[str] = "gp"
    _title: ClassVar[str] = "searching for a kernel"
    _settings: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "kernel": "kernel",
        "degree": "degree",
        "ard": "ard",
        "length_scale": "length_scale",
        "signal_variance": "signal_variance",
        "noise_variance": "noise_variance",
        "likelihood": "likelihood",
        "max_rows": "max_rows",
    }

    def __init__(
        self,
        *,
        method: str = "labels",
        kernel: str = "rbf",
        degree: int = 2,
        ard: bool = False,
        length_scale: float = 0.0,
        signal_variance: float = 0.0,
        noise_variance: float = 0.0,
        likelihood: str = "logistic",
        max_rows: int = 0,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        method : str, default="labels"
            How labels are tied to the process: labels (regression on labels, the fastest), laplace, ep, softmax, dsgq, cik or sik.
        kernel : str, default="rbf"
            Kernel: rbf, matern12, matern32, matern52, rational-quadratic, exponential, inverse-multiquadric, linear or polynomial.
        degree : int, default=2
            Degree of the polynomial kernel, 1 to 8.
        ard : bool, default=False
            A length scale for each column instead of one for all.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it. Linear and polynomial kernels have none.
        signal_variance : float, default=0.0
            Variance of the kernel; 0 searches for it (labels: 1, as only its ratio to the noise counts).
        noise_variance : float, default=0.0
            Variance of the noise; 0 searches for it.
        likelihood : str, default="logistic"
            Link of laplace: logistic or probit. The other methods have their own.
        max_rows : int, default=0
            Rows at most; 0 for what suits the method: 20000 for labels, cik and sik (8 n² bytes, 3.2 GB), 5000 for laplace, 3000 for dsgq, 2000 for ep and softmax (8 n² bytes a class). The ivm takes more rows than that.
        max_seconds : float | None, default=None
            Time after which a fit ends with the best model so far; None sets no limit.
        max_memory : int | str | None, default=None
            Most bytes (or a text such as `500MB`) that a model, the rows it keeps and its training take together; None sets no limit.
        n_jobs : int | None, default=-1
            Threads: a number, -1 for one a core, None for one. Results do not depend on it.
        random_state : Any, default=None
            Seed of all random choices: a whole number makes the same model each time, None another one.
        verbose : int, default=0
            1 shows how far a fit has come.
        """
        self.method = method
        self.kernel = kernel
        self.degree = degree
        self.ard = ard
        self.length_scale = length_scale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.likelihood = likelihood
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
