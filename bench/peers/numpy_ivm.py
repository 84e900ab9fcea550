"""The Informative Vector Machine (IVM) in numpy: what one would write who needs one, as no library has it.

One-vs-rest classifiers; all rows compete for every place; a Gaussian kernel whose parameters are given; no
calibration, no fit to all rows at the end. Prints what it cost and how good it is, as one JSON object.

Usage: numpy_ivm.py ARRAYS_DIR --n-active 100 --length 5 --variance 30 [--noise 1e-3] [--threads 2]
       numpy_ivm.py --check            # compares itself with worked examples

Written to be fast. Classifiers that are trained together take a step each in turn, so that the kernel columns of all of
them are one matrix product, which is about three times as fast as so many products with a vector. A column is kept, as
another class often chooses the same row. `--together 1` trains one class after the other, which needs less memory;
`--cache-gb 0` keeps no columns.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from metrics import metrics
from process import peak_memory_bytes
from rows import categories_of, load, prepared
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtr, ndtri
from threadpoolctl import threadpool_limits

LOG_ROOT_2_PI = 0.5 * np.log(2 * np.pi)
# A label that lowers the entropy by less than this tells nothing.
LEAST_ENTROPY = 1e-6
LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Kernel:
    """variance · exp(−|a − b|²/(2 length²)), and noise on the diagonal of training rows."""

    length: float
    variance: float
    noise: float

    def of(self, products: np.ndarray, squares_a: np.ndarray, squares_b: np.ndarray) -> np.ndarray:
        """From inner products of rows, which it overwrites, and their squared norms."""
        distances = products
        distances *= -2
        distances += squares_a[:, None]
        distances += squares_b
        np.maximum(distances, 0, out=distances)
        distances *= -0.5 / self.length**2
        values = np.exp(distances, out=distances)
        values *= self.variance
        return values

    def cross(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return self.of(a @ b.T, np.einsum("ij,ij->i", a, a), np.einsum("ij,ij->i", b, b))


class Columns:
    """Covariances of chosen rows with all rows, noise included. Keeps as many as fit."""

    def __init__(self, kernel: Kernel, x: np.ndarray, most_bytes: float) -> None:
        self.kernel = kernel
        self.x = x
        self.squares = np.einsum("ij,ij->i", x, x)
        self.n_kept = int(most_bytes / (8 * len(x)))
        self.kept: dict[int, np.ndarray] = {}
        self.asked = self.computed = 0

    def of(self, rows: list[int]) -> dict[int, np.ndarray]:
        found = {row: self.kept[row] for row in rows if row in self.kept}
        missing = list(dict.fromkeys(row for row in rows if row not in found))
        if missing:
            products = self.x[missing] @ self.x.T
            block = self.kernel.of(products, self.squares[missing], self.squares)
            for row, column in zip(missing, block, strict=True):
                column[row] += self.kernel.noise
                found[row] = column
                if len(self.kept) < self.n_kept:
                    self.kept[row] = column
        self.asked += len(rows)
        self.computed += len(missing)
        return found


def site(y, mean, variance, bias):
    """What a label does to a Gaussian by moment matching (Lawrence et al., 2003): g, ν and log Z. Of numbers or arrays."""
    c = y / np.sqrt(1 + variance)
    u = c * (mean + bias)
    log_z = log_ndtr(u)
    gain = c * np.exp(-0.5 * u * u - LOG_ROOT_2_PI - log_z)
    return gain, gain * (gain + u * c), log_z


@dataclass
class BinaryIvm:
    """A binary classifier: one class against the rest."""

    y: np.ndarray
    n_active: int
    prior: float
    bias: float = field(init=False)
    active: list[int] = field(default_factory=list)
    done: bool = False

    def __post_init__(self) -> None:
        n = len(self.y)
        share = np.clip(np.count_nonzero(self.y > 0) / n, LEAST_SHARE, 1 - LEAST_SHARE)
        # The prior then gives each class its share.
        self.bias = float(ndtri(share) * np.sqrt(1 + self.prior))
        self.mean = np.zeros(n)
        self.variance = np.full(n, self.prior)
        self.m = np.empty((self.n_active, n))
        self.lower = np.zeros((self.n_active, self.n_active))
        self.means = np.empty(self.n_active)
        self.precisions = np.empty(self.n_active)
        self.log_evidence = 0.0

    def most_telling(self) -> int | None:
        """The row whose label would lower the entropy, −½ log(1 − νζ), most."""
        gain, shrink, log_z = site(self.y, self.mean, self.variance, self.bias)
        lowered = shrink * self.variance
        lowered[self.active] = -1
        row = int(lowered.argmax())
        if not lowered[row] > -np.expm1(-2 * LEAST_ENTROPY):
            self.done = True
            return None
        self.chosen = gain[row], shrink[row], log_z[row], max(1 - lowered[row], 1e-12)
        return row

    def include(self, row: int, column: np.ndarray) -> None:
        gain, shrink, log_z, left = self.chosen
        k = len(self.active)
        root = np.sqrt(shrink)
        own = self.m[:k, row]
        covariance = column - self.m[:k].T @ own
        self.lower[k, :k] = own
        self.lower[k, k] = 1 / root
        self.means[k] = gain / shrink + self.mean[row]
        self.precisions[k] = shrink / left
        self.log_evidence += log_z
        self.mean += gain * covariance
        covariance *= root
        self.m[k] = covariance
        covariance *= covariance
        self.variance -= covariance
        np.maximum(self.variance, 1e-9, out=self.variance)
        self.active.append(row)
        self.done = k + 1 == self.n_active

    def finish(self) -> None:
        """Lets go of what only training needs: the largest part by far."""
        del self.m, self.mean, self.variance
        k = len(self.active)
        self.lower, self.means, self.precisions = self.lower[:k, :k], self.means[:k], self.precisions[:k]

    def latent(self, kernel: Kernel, x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance of the latent function at other rows."""
        v = solve_triangular(self.lower, kernel.cross(x[self.active], at), lower=True, check_finite=False)
        weights = solve_triangular(self.lower, self.means, lower=True)
        return weights @ v, np.maximum(kernel.variance - np.einsum("ij,ij->j", v, v), 0)

    def score(self, kernel: Kernel, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The quantile of the probability: what is most probable has the highest."""
        mean, variance = self.latent(kernel, x, at)
        return (mean + self.bias) / np.sqrt(1 + variance)


def train(columns: Columns, labels: list[np.ndarray], n_active: int, together: int) -> list[BinaryIvm]:
    """A classifier for each vector of ±1."""
    prior = columns.kernel.variance + columns.kernel.noise
    classifiers: list[BinaryIvm] = []
    for start in range(0, len(labels), together):
        group = [BinaryIvm(y, min(n_active, len(y)), prior) for y in labels[start : start + together]]
        while any(not classifier.done for classifier in group):
            chosen = [(classifier, classifier.most_telling()) for classifier in group if not classifier.done]
            chosen = [(classifier, row) for classifier, row in chosen if row is not None]
            found = columns.of([row for _, row in chosen])
            for classifier, row in chosen:
                classifier.include(row, found[row])
        for classifier in group:
            classifier.finish()
        classifiers += group
    return classifiers


def check() -> None:
    """Worked examples: three sites, and a model of four rows."""

    def same(got, expected) -> None:
        np.testing.assert_allclose(got, expected, atol=2e-6)

    sites = (
        ((1, 0, 1, 0), (0.564190, 0.318310, -0.693147)),
        ((1, -1, 2, -1.2815516), (1.030402, 0.278090, -2.365773)),
        ((1, -6, 4, 0), (1.337353, 0.183689, -5.614350)),
    )
    for belief, expected in sites:
        same(site(*belief), expected)
    x = np.arange(4.0)[:, None]
    kernel = Kernel(1.0, 1.0, 1e-6)
    for together in (1, 2):
        y = np.array([1.0, 1.0, -1.0, -1.0])
        classifier, mirrored = train(Columns(kernel, x, 1e6), [y, -y], 3, together)
        assert classifier.active == mirrored.active == [0, 2, 1]
        same(classifier.means, [1.772454, -1.737462, 1.669019])
        same(mirrored.means, -classifier.means)
        same(classifier.precisions, [0.466942, 0.480281, 0.496959])
        same(classifier.lower, [[1.772454, 0, 0], [0.076355, 1.753934, 0], [0.342198, 0.330914, 1.669022]])
        same(classifier.log_evidence, -2.123528)
        at = np.array([[0.5], [1.5], [10.0]])
        mean, variance = classifier.latent(kernel, x, at)
        same(mean, [0.723160, 0.064101, 0])
        same(variance, [0.569948, 0.566786, 1])
        same(ndtr(classifier.score(kernel, x, at)), [0.718082, 0.520421, 0.5])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("arrays", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true", help="only compare with worked examples")
    parser.add_argument("--n-active", type=int, default=100, help="active rows of each classifier")
    parser.add_argument("--length", type=float, default=5.0)
    parser.add_argument("--variance", type=float, default=30.0)
    parser.add_argument("--noise", type=float, default=1e-3)
    parser.add_argument("--rows", type=int, help="train on the first rows only")
    parser.add_argument("--classes", type=int, help="the last of so many classes is that and all after it")
    parser.add_argument("--together", type=int, default=0, help="classes trained together; 0: all")
    parser.add_argument("--cache-gb", type=float, default=4.0, help="memory for kernel columns")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    if args.arrays is None and not args.check:
        parser.error("ARRAYS_DIR is missing")
    return args


def main() -> None:
    args = arguments()
    if args.check:
        check()
        print(json.dumps({"check": "passed"}))
        return
    start = time.perf_counter()
    train_x, train_y, test_x, test_y = load(args.arrays)
    if args.rows:
        train_x, train_y = train_x[: args.rows], train_y[: args.rows]
    if args.classes:
        train_y, test_y = np.minimum(train_y, args.classes - 1), np.minimum(test_y, args.classes - 1)
    read = time.perf_counter() - start
    n_classes = int(max(train_y.max(), test_y.max())) + 1
    # Of two classes, one classifier knows both.
    n_classifiers = 1 if n_classes == 2 else n_classes
    kernel = Kernel(args.length, args.variance, args.noise)

    with threadpool_limits(args.threads):
        start = time.perf_counter()
        train_x, test_x = prepared(train_x, test_x, categories_of(args.arrays))
        columns = Columns(kernel, train_x, args.cache_gb * 1e9)
        labels = [np.where(train_y == c, 1.0, -1.0) for c in range(n_classifiers)]
        classifiers = train(columns, labels, args.n_active, args.together or n_classifiers)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        scores = np.column_stack([classifier.score(kernel, train_x, test_x) for classifier in classifiers])
        predict = time.perf_counter() - start

    if n_classifiers == 1:
        scores = np.column_stack([scores, -scores])
    proba = np.maximum(ndtr(scores), 1e-9)
    result = {
        "model": "numpy IVM",
        "rows": len(train_x),
        "features": train_x.shape[1],
        "classes": n_classes,
        "n_active": [len(classifier.active) for classifier in classifiers],
        "together": args.together or n_classifiers,
        "kernel_columns": {"asked": columns.asked, "computed": columns.computed},
        "seconds": {"read": read, "fit": fit, "predict": predict},
        "peak_memory_bytes": peak_memory_bytes(),
        # Of probabilities that are made to sum to 1, and nothing else is done to them. Accuracy is that of the highest
        # score, which is also right where probabilities round to 1.
        "metrics": metrics(proba / proba.sum(axis=1, keepdims=True), test_y)
        | {"accuracy": float((scores.argmax(axis=1) == test_y).mean())},
        "first_class_accuracy": float(((scores[:, 0] > 0) == (test_y == 0)).mean()),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
