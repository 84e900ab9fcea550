"""Arguments of the estimators. Made from the engine's parameters by `cargo xtask docs`: change them there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class ForestArguments:
    """The parameters of models of kind `forest`."""

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
        "min_split_rows": "min_split_rows",
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
        "horizons": "horizons",
        "confidence": "confidence",
        "confidence_rows": "confidence_rows",
        "background_rows": "background_rows",
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
        min_split_rows: int = 2,
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
        horizons: bool = True,
        confidence: bool = False,
        confidence_rows: int = 0,
        background_rows: str = "auto",
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
        min_split_rows : int, default=2
            Fewest rows that a node must have to be split, 2 or more: smaller ones become leaves, pure or not.
        bagging : str, default="fraction:0.8"
            Rows each tree sees: `all`, `bootstrap`, `fraction:F`, `amount:N` or `stride:S` (steps of 1 to S).
        learn_left_out : bool, default=True
            Let each tree learn the rows its bag left out, after their out-of-bag votes; only for bags of half the rows or more.
        class_weight : str | Mapping[Any, float] | None, default=None
            Weight of each class: None, `balanced` (all classes count the same), or a mapping from labels to weights.
        probabilities : str, default="leaf"
            What a tree contributes: `leaf` (the class frequencies in its leaf) or `votes` (its most frequent class).
        leaf_power : str | float, default="auto"
            The leaf weight, by which the vote of a tree counts: the size of its leaf to this power, from -1 to 1; 0 lets all trees count the same, below 0 suits labels that are right, above 0 noisy ones. `auto` chooses by out-of-sample predictions.
        calibrate : bool, default=True
            Calibrate probabilities on out-of-bag rows where that lowers their log-loss; needs a bagging that leaves rows out.
        patience : int, default=0
            Stop when out-of-bag accuracy has not risen for this many rounds of 10 trees; 0 never stops early.
        pool_rows : int, default=100000
            Most retained rows; 0 sets no limit but memory. The oldest go first, but no class is forgotten.
        keep : str, default="all"
            Which rows a forest that learns online retains: `all`, `wrong` (those it got wrong) or `uncertain` (those it got wrong or was less than half sure of).
        replace : float, default=0.6
            While a forest learns online, the share of its trees that may be grown anew each time its retained rows double (or half of them are exchanged), from 0 to 4; 0 never replaces a tree.
        forget : bool, default=True
            Forget rows that a detected concept drift has put out of date.
        horizons : bool, default=True
            While a forest learns online, let small forests of the newest 20, 100, 300 and 1,000 rows predict beside it, weighed by how well each has predicted: for concepts that keep changing.
        confidence : bool, default=False
            Grow a confidence forest, which tells how much evidence there is for what it predicts: trees with leaves of many rows, each with background rows of its own that take the places of rows where these are few.
        confidence_rows : int, default=0
            With `confidence=true`: fewest rows in a leaf, which is also the most that all labels near a row count together; 0 chooses it by out-of-bag accuracy.
        background_rows : str, default="auto"
            With `confidence=true`: background rows, drawn anew for each tree and spread evenly over the space of the rows: a number, or `auto`, which takes as many as out-of-bag accuracy allows.
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
        self.min_split_rows = min_split_rows
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
        self.horizons = horizons
        self.confidence = confidence
        self.confidence_rows = confidence_rows
        self.background_rows = background_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class IvmArguments:
    """The parameters of models of kind `ivm`."""

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
        "error_weight": "error_weight",
        "n_trials": "n_trials",
        "class_kernels": "class_kernels",
        "suppress": "suppress",
        "balance": "balance",
        "second_pass": "second_pass",
        "refit": "refit",
        "forget": "forget",
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
        error_weight: float = 0.5,
        n_trials: int = 60,
        class_kernels: bool = False,
        suppress: bool = False,
        balance: bool = False,
        second_pass: str = "none",
        refit: bool = True,
        forget: str = "inactive",
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
            Most rows in the active set of each one-vs-rest classifier.
        n_candidates : int, default=0
            Rows drawn at random that compete for each place; 0 lets all rows compete.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it.
        signal_variance : float, default=0.0
            Variance of the kernel; 0 searches for it.
        noise_variance : float, default=0.001
            Variance of the noise beside the likelihood's own; keeps the numbers sound.
        search : str, default="grid"
            How length scale and variance are searched for: `grid` tries a few, `cma` lets a population of them evolve, `gradient` climbs the log marginal likelihood of the active rows.
        objective : str, default="loss"
            What the search looks at: `loss` is the calibrated log-loss of out-of-sample predictions, `evidence` the log marginal likelihood of the active rows, `error` a mixture of that evidence and the mean error.
        error_weight : float, default=0.5
            With `objective=error`: the weight of the errors among the rows of a class, between 0 and 1; those among the others have the rest.
        n_trials : int, default=60
            Pairs of length scale and variance that `cma` and `gradient` try at most.
        class_kernels : bool, default=False
            Let each class have a length scale and a variance of its own, near those found for all, where held-out rows show that this is better. With `refit` they only serve to choose active rows.
        suppress : bool, default=False
            Rows like active ones of their class are chosen less readily.
        balance : bool, default=False
            Each active set has rows of its class and of the others in nearly equal numbers.
        second_pass : str, default="none"
            What is done with the sites once the active rows are chosen: `none`, `reversed` or `ep`.
        refit : bool, default=True
            Fit scores to all rows once the active ones are known.
        forget : str, default="inactive"
            Which rows a model that goes on learning forgets first: `inactive` draws them at random among those that are not active, then takes active ones by their rating; `rating` takes the lowest rating of all. It is the entropy that an active row's removal would give back, or that the label of another row would still take away.
        max_rows : int, default=0
            Rows that a model which goes on learning retains, its active rows among them; 0 for 20 times `n_active`, but 2,000 at least.
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
        self.error_weight = error_weight
        self.n_trials = n_trials
        self.class_kernels = class_kernels
        self.suppress = suppress
        self.balance = balance
        self.second_pass = second_pass
        self.refit = refit
        self.forget = forget
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class GpArguments:
    """The parameters of models of kind `gp`."""

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
            How labels are tied to the latent function: labels (regression on labels, the fastest), laplace, ep, softmax, dsgq, cik or sik. A regression has labels only: numbers then are the labels.
        kernel : str, default="rbf"
            Kernel: rbf, matern12, matern32, matern52, rational-quadratic, exponential, inverse-multiquadric, linear or polynomial.
        degree : int, default=2
            Degree of the polynomial kernel, 1 to 8.
        ard : bool, default=False
            A length scale for each column instead of one for all.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it. Linear and polynomial kernels have none.
        signal_variance : float, default=0.0
            Variance of the kernel; 0 searches for it (labels: 1, as only its ratio to the noise counts). In a regression it is in units of the variance of the targets.
        noise_variance : float, default=0.0
            Variance of the noise, in the same units; 0 searches for it.
        likelihood : str, default="logistic"
            Link of laplace: logistic or probit. The other methods have their own.
        max_rows : int, default=0
            Rows at most; 0 for what suits the method: 20000 for labels, cik and sik (8 n² bytes, 3.2 GB), 5000 for laplace, 3000 for dsgq, 2000 for ep and softmax (8 n² bytes a class), 5000 for a regression. The ivm, and for a regression the rvm, take more rows.
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


class LeafGpArguments:
    """The parameters of models of kind `leaf-gp`."""

    _kind: ClassVar[str] = "leaf-gp"
    _title: ClassVar[str] = "training leaves"
    _settings: ClassVar[Mapping[str, str]] = {
        "n_estimators": "n_trees",
        "leaf_rows": "leaf_rows",
        "learner": "learner",
        "n_active": "n_active",
        "fusion": "fusion",
        "sharing": "sharing",
        "blend": "blend",
        "length_scale": "length_scale",
        "signal_variance": "signal_variance",
        "noise_variance": "noise_variance",
        "max_rows": "max_rows",
        "forest": "forest",
    }
    _parts: ClassVar[tuple[str, ...]] = ("forest",)

    def __init__(
        self,
        *,
        n_estimators: int = 20,
        leaf_rows: int = 200,
        learner: str = "labels",
        n_active: int = 50,
        fusion: str = "mean",
        sharing: str = "shared",
        blend: bool = True,
        length_scale: float = 0.0,
        signal_variance: float = 0.0,
        noise_variance: float = 0.0,
        max_rows: int = 100000,
        forest: Any = None,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        n_estimators : int, default=20
            Number of trees, 1 or more.
        leaf_rows : int, default=200
            Most rows of a leaf that holds more than one class, 2 or more: larger ones are split. More is slower and better.
        learner : str, default="labels"
            The classifier of a leaf: labels (regression on labels, the fastest), laplace, ivm or rvm (the fewest rows are kept).
        n_active : int, default=50
            Active rows of each one-vs-rest classifier in a leaf, at most; for `learner=ivm`.
        fusion : str, default="mean"
            How the scores of trees become one: mean (of scores), vote, clipped or normalized.
        sharing : str, default="shared"
            Whether all leaves have the same kernel: shared, or leaf for a length scale of its own for each.
        blend : bool, default=True
            Blend the class frequencies in leaves, which are the predictions of the trees without GPs, with those of the leaf GPs, by exponents fitted on out-of-fold predictions. The folds take about as long as the rest of a fit, longer with fewer than 5,000 rows.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it.
        signal_variance : float, default=0.0
            Signal variance of the kernel; 0 searches for it (labels: 1, as only its ratio to the noise counts).
        noise_variance : float, default=0.0
            Noise variance; 0 searches for it (other learners than labels: 0.001).
        max_rows : int, default=100000
            Most rows retained; 0 sets no limit. The oldest are forgotten first.
        forest : Any, default=None
            How trees are grown: an estimator with its arguments; None for the arguments that suit most.
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
        self.leaf_rows = leaf_rows
        self.learner = learner
        self.n_active = n_active
        self.fusion = fusion
        self.sharing = sharing
        self.blend = blend
        self.length_scale = length_scale
        self.signal_variance = signal_variance
        self.noise_variance = noise_variance
        self.max_rows = max_rows
        self.forest = forest
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class ForestIvmArguments:
    """The parameters of models of kind `forest-ivm`."""

    _kind: ClassVar[str] = "forest-ivm"
    _title: ClassVar[str] = "growing trees, then a kernel"
    _settings: ClassVar[Mapping[str, str]] = {
        "combine": "combine",
        "margin": "margin",
        "purity": "purity",
        "min_rows": "min_rows",
        "forest": "forest",
        "ivm": "ivm",
    }
    _parts: ClassVar[tuple[str, ...]] = ("forest", "ivm")

    def __init__(
        self,
        *,
        combine: str = "pool",
        margin: float = 0.0,
        purity: float = 0.95,
        min_rows: int = 200,
        forest: Any = None,
        ivm: Any = None,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        combine : str, default="pool"
            Which predictions of the forest are blended with those of an IVM: pool (all), gate (those with a small margin) or route (those of a class that the forest often predicts wrongly).
        margin : float, default=0.0
            With `combine=gate`: the difference of the forest's two largest probabilities from which on it predicts alone, from 0 to 1; 0 searches for it.
        purity : float, default=0.95
            With `combine=route`: a class that the forest predicts with a higher precision than this gets no IVM, from 0 to 1.
        min_rows : int, default=200
            With `combine=route`: fewest rows that an IVM is trained on.
        forest : Any, default=None
            The forest: an estimator with its arguments; None for the arguments that suit most.
        ivm : Any, default=None
            The IVMs: an estimator with its arguments; None for the arguments that suit most.
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
        self.combine = combine
        self.margin = margin
        self.purity = purity
        self.min_rows = min_rows
        self.forest = forest
        self.ivm = ivm
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class RvmArguments:
    """The parameters of models of kind `rvm`."""

    _kind: ClassVar[str] = "rvm"
    _title: ClassVar[str] = "searching for a kernel"
    _settings: ClassVar[Mapping[str, str]] = {
        "kernel": "kernel",
        "length_scale": "length_scale",
        "ard": "ard",
        "search": "search",
        "folds": "folds",
        "search_rows": "search_rows",
        "multi_class": "multi_class",
        "max_relevant": "max_relevant",
        "trainer": "trainer",
        "solver": "solver",
        "partition_size": "partition_size",
        "probe_limits": "probe_limits",
        "probe_factors": "probe_factors",
        "water_mark": "water_mark",
        "rows": "rows",
        "sample_rows": "sample_rows",
        "patience": "patience",
        "reinsert": "reinsert",
        "bias": "bias",
        "noise_variance": "noise_variance",
        "noise_every": "noise_every",
        "variance": "variance",
        "hyper_priors": "hyper_priors",
        "alpha_max": "alpha_max",
        "tolerance": "tolerance",
        "min_gain": "min_gain",
        "max_iterations": "max_iterations",
        "max_rows": "max_rows",
    }

    def __init__(
        self,
        *,
        kernel: str = "rbf",
        length_scale: float = 0.0,
        ard: bool = False,
        search: str = "cv",
        folds: int = 5,
        search_rows: int = 1000,
        multi_class: str = "shared",
        max_relevant: int = 0,
        trainer: str = "auto",
        solver: str = "fast",
        partition_size: int = 0,
        probe_limits: tuple[float, ...] = (0.25, 0.75),
        probe_factors: tuple[float, ...] = (0.2, 0.6, 1.0),
        water_mark: str = "current",
        rows: str = "auto",
        sample_rows: int = 8000,
        patience: int = 3,
        reinsert: bool = False,
        bias: bool = True,
        noise_variance: float = 0.1,
        noise_every: int = 10,
        variance: str = "plain",
        hyper_priors: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0),
        alpha_max: float = 1000000000.0,
        tolerance: float = 0.001,
        min_gain: float = 0.01,
        max_iterations: int = 1000,
        max_rows: int = 2000,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        kernel : str, default="rbf"
            The kernel: `rbf`, `matern1` to `matern4`, `exponential`, `inverse_multiquadric`, `polynomial`, `linear`, `sigmoid`, `compact`.
        length_scale : float, default=0.0
            Length scale of the kernel, on prepared columns; 0 searches for it.
        ard : bool, default=False
            Search for a length scale for each column, after one for all was found.
        search : str, default="cv"
            What the search optimises: `cv` the out-of-fold error, `evidence` the log evidence.
        folds : int, default=5
            Folds of `cv`.
        search_rows : int, default=1000
            Rows that the search uses, drawn at random, at most.
        multi_class : str, default="shared"
            Of several classes: `shared` is one sparse regression of all of them, in which a row is relevant to all or to none; `rest` trains each against the rest, `pairs` each against each other, `softmax` all together. For two classes and for few rows, `shared` is `rest`.
        max_relevant : int, default=0
            Of `shared`: relevant rows, at most; 0 is 100 for each class, and no more than a third of the rows.
        trainer : str, default="auto"
            Which rows are tried when: `whole` all at once, `working_set` those with large errors next, `incremental` in random order, `split_merge` parts side by side; `auto` is `whole` for few rows and `working_set` for many.
        solver : str, default="fast"
            How the evidence is maximised: `fast` a row at a time, `basic` all rows at once, dropping those without use.
        partition_size : int, default=0
            Rows that are tried at a time, besides relevant ones; 0 finds a number by a probe.
        probe_limits : tuple[float, ...], default=(0.25, 0.75)
            Shares of relevant rows up to which a probe counts as sparse, and as half sparse.
        probe_factors : tuple[float, ...], default=(0.2, 0.6, 1.0)
            What the size of the probe is multiplied with for the partition size: sparse, half sparse, not sparse.
        water_mark : str, default="current"
            When a solve of `basic` that is not the last ends early: with half of the `current` candidates left, or half of the `partition`, or `none`.
        rows : str, default="auto"
            Rows that the evidence of candidates is taken of: `all`, a `sample` except in the last solve, or the `active` ones only; `auto` is `all` unless there are more than `sample_rows`.
        sample_rows : int, default=8000
            Rows of the `sample`.
        patience : int, default=3
            Rounds without gain after which no more rows are tried; 0 tries all.
        reinsert : bool, default=False
            Try rows that were dropped once more at the end, and take those that raise the evidence.
        bias : bool, default=True
            Whether a constant is offered beside the rows.
        noise_variance : float, default=0.1
            Variance of the noise, in units of the variance of the target, to start from.
        noise_every : int, default=10
            Iterations from one estimate of the noise to the next; 0 keeps `noise_variance`.
        variance : str, default="plain"
            The variance of predictions: `plain` is the RVM's own, which shrinks away from the rows; `healed` grows there.
        hyper_priors : tuple[float, ...], default=(0.0, 0.0, 0.0, 0.0)
            Shape and rate of the Gamma priors on the precisions of weights and of noise; 0 is flat. The first two need `solver=basic`.
        alpha_max : float, default=1000000000.0
            Weights of a larger precision are dropped.
        tolerance : float, default=0.001
            Of `basic`: the change of log precisions below which it has converged.
        min_gain : float, default=0.01
            Of `fast`: the gain in log evidence below which nothing is changed.
        max_iterations : int, default=1000
            Iterations of one solve, at most.
        max_rows : int, default=2000
            Rows that a model which goes on learning retains, relevant ones among them.
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
        self.kernel = kernel
        self.length_scale = length_scale
        self.ard = ard
        self.search = search
        self.folds = folds
        self.search_rows = search_rows
        self.multi_class = multi_class
        self.max_relevant = max_relevant
        self.trainer = trainer
        self.solver = solver
        self.partition_size = partition_size
        self.probe_limits = probe_limits
        self.probe_factors = probe_factors
        self.water_mark = water_mark
        self.rows = rows
        self.sample_rows = sample_rows
        self.patience = patience
        self.reinsert = reinsert
        self.bias = bias
        self.noise_variance = noise_variance
        self.noise_every = noise_every
        self.variance = variance
        self.hyper_priors = hyper_priors
        self.alpha_max = alpha_max
        self.tolerance = tolerance
        self.min_gain = min_gain
        self.max_iterations = max_iterations
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class ForestKernelArguments:
    """The parameters of models of kind `forest-kernel`."""

    _kind: ClassVar[str] = "forest-kernel"
    _title: ClassVar[str] = "growing trees, then a Gaussian process"
    _settings: ClassVar[Mapping[str, str]] = {
        "learner": "learner",
        "n_active": "n_active",
        "blend": "blend",
        "noise_variance": "noise_variance",
        "max_rows": "max_rows",
        "forest": "forest",
    }
    _parts: ClassVar[tuple[str, ...]] = ("forest",)

    def __init__(
        self,
        *,
        learner: str = "gp",
        n_active: int = 100,
        blend: bool = True,
        noise_variance: float = 0.0,
        max_rows: int = 20000,
        forest: Any = None,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        learner : str, default="gp"
            What learns with the kernel: gp (a Gaussian process with all rows) or ivm (all rows through the active sets of IVMs).
        n_active : int, default=100
            With `learner=ivm`: active rows of each class, at most.
        blend : bool, default=True
            Blend the predictions of the GP with those of the forest, by out-of-fold predictions.
        noise_variance : float, default=0.0
            Noise variance of labels of ±1, the kernel of a row with itself being 1; 0 searches for it.
        max_rows : int, default=20000
            Rows that the GP is trained on when the model goes on learning, at most: drawn from those that the forest retains. A fit takes all rows.
        forest : Any, default=None
            The forest whose leaves are compared: an estimator with its arguments; None for the arguments that suit most.
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
        self.learner = learner
        self.n_active = n_active
        self.blend = blend
        self.noise_variance = noise_variance
        self.max_rows = max_rows
        self.forest = forest
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class KdeArguments:
    """The parameters of models of kind `kde`."""

    _kind: ClassVar[str] = "kde"
    _title: ClassVar[str] = "choosing a bandwidth"
    _settings: ClassVar[Mapping[str, str]] = {
        "kernel": "kernel",
        "bandwidth": "bandwidth",
        "bandwidth_scale": "bandwidth_scale",
        "prior": "prior",
        "max_rows": "max_rows",
    }

    def __init__(
        self,
        *,
        kernel: str = "gaussian",
        bandwidth: float = 0.0,
        bandwidth_scale: float = 0.0,
        prior: float = 0.0,
        max_rows: int = 20000,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        kernel : str, default="gaussian"
            Kernel: gaussian, or ball, whose radius is such that it has the variance of the other.
        bandwidth : float, default=0.0
            Bandwidth h, on prepared columns; 0 for `bandwidth_scale` times the normal-reference rule.
        bandwidth_scale : float, default=0.0
            Times the normal-reference bandwidth; 0 chooses it by the log-loss of leave-one-out predictions.
        prior : float, default=0.0
            What each class counts before any row does; 0 for one over the number of classes, which for two is Jeffreys' prior.
        max_rows : int, default=20000
            Rows that are retained at most; those learnt longest ago are forgotten first, and a fit to more draws them at random.
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
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.bandwidth_scale = bandwidth_scale
        self.prior = prior
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose


class KnnArguments:
    """The parameters of models of kind `knn`."""

    _kind: ClassVar[str] = "knn"
    _title: ClassVar[str] = "choosing neighbours"
    _settings: ClassVar[Mapping[str, str]] = {
        "method": "method",
        "metric": "metric",
        "k": "k",
        "reach": "reach",
        "n_artificial": "n_artificial",
        "radius": "radius",
        "prior": "prior",
        "max_rows": "max_rows",
    }

    def __init__(
        self,
        *,
        method: str = "probabilistic",
        metric: str = "manhattan",
        k: int = 0,
        reach: float = 2.0,
        n_artificial: int = 0,
        radius: float = 0.0,
        prior: float = 0.0,
        max_rows: int = 20000,
        max_seconds: float | None = None,
        max_memory: int | str | None = None,
        n_jobs: int | None = -1,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        """Say how the model is made.

        Parameters
        ----------
        method : str, default="probabilistic"
            Which rows count: probabilistic (confidence k-NN in closed form), data-driven (the same by artificial rows) or epsilon (all rows up to a distance).
        metric : str, default="manhattan"
            How distances are measured on prepared columns: euclidean, manhattan or chebyshev.
        k : int, default=0
            Neighbors; 0 chooses among 3 to 60 by the log-loss of leave-one-out predictions.
        reach : float, default=2.0
            probabilistic: a row counts half or so where its k-th neighbor is so many deviations farther away than the mean one of training rows.
        n_artificial : int, default=0
            data-driven: artificial rows; 0 takes the most with which the leave-one-out accuracy is within a standard error of the best.
        radius : float, default=0.0
            epsilon: the distance, on prepared columns; 0 chooses it by the log-loss of leave-one-out predictions.
        prior : float, default=0.0
            What each class counts before any row does; 0 for one over the number of classes, which for two is Jeffreys' prior.
        max_rows : int, default=20000
            Rows that are retained at most; those learnt longest ago are forgotten first, and a fit to more draws them at random.
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
        self.metric = metric
        self.k = k
        self.reach = reach
        self.n_artificial = n_artificial
        self.radius = radius
        self.prior = prior
        self.max_rows = max_rows
        self.max_seconds = max_seconds
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
