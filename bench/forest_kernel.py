"""Which leaves should a GP with the forest kernel compare? Two ways and the forest side by side, on training rows only.

    python bench/forest_kernel.py

needs scikit-learn (`bench/requirements.txt`) and HEDGEROW_DATA. Forests are scikit-learn's extremely randomized
trees with bootstrap, GPs are solved exactly; for each way the error of the best of six noise variances is printed, with the leaf sizes tried.
"""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.ensemble import ExtraTreesClassifier

DATA = Path(os.environ.get("HEDGEROW_DATA", "data"))
N_TREES = 100
NOISES = [0.01, 0.1, 1.0, 3.0, 10.0, 30.0]
LEAF_SIZES = [1, 3, 5, 10, 20]


def table(name, target, n_rows):
    """Features and class numbers of the first rows of a table."""
    with gzip.open(DATA / "tabular" / f"{name}.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    place = header.index(target)
    X = np.array([[float(v) for i, v in enumerate(row) if i != place] for row in rows[:n_rows]])
    return X, np.unique([row[place] for row in rows[:n_rows]], return_inverse=True)[1]


def sets():
    """Some training rows of four sets."""
    rng = np.random.RandomState(0)
    usps = np.loadtxt(gzip.open(DATA / "usps" / "zip.train.gz"), max_rows=3000)
    yield "usps", usps[:, 1:], usps[:, 0].astype(int)
    for name, target, n_rows, n_drawn in [("letter", "lettr", 16_000, 4000), ("spam", "type", 4601, 3000)]:
        X, y = table(name, target, n_rows)
        drawn = rng.permutation(len(y))[:n_drawn]
        yield name, X[drawn], y[drawn]
    X, y = table("waveform", "label", 4000)
    yield "waveform", X[:3000], y[:3000]


def indicators(leaves, weights, ends):
    """A row for each row, a column for each leaf of each tree."""
    n = len(leaves)
    columns = (leaves + ends[:-1]).ravel()
    return csr_matrix((weights.ravel(), (np.repeat(np.arange(n), N_TREES), columns)), shape=(n, ends[-1]))


def errors(X, y, train, test, leaf_size, seed):
    """Errors in % of a forest and, for each noise, of GPs with its kernel."""
    forest = ExtraTreesClassifier(N_TREES, bootstrap=True, min_samples_leaf=leaf_size, random_state=seed)
    forest.fit(X[train], y[train])
    ends = np.cumsum([0] + [tree.tree_.node_count for tree in forest.estimators_])
    leaves, at = forest.apply(X[train]), forest.apply(X[test])
    out_of_bag = np.ones(leaves.shape)
    for tree, rows in enumerate(forest.estimators_samples_):
        out_of_bag[rows, tree] = 0.0
    root = np.sqrt(N_TREES)
    known = {
        "as they are": np.full(leaves.shape, 1 / root),
        "out-of-bag trees": out_of_bag * root / out_of_bag.sum(1, keepdims=True),
    }
    asked = indicators(at, np.full(at.shape, 1 / root), ends)
    Y = 2.0 * (y[train][:, None] == np.arange(y.max() + 1)) - 1.0
    mean = Y.mean(0)
    found = {"forest": [100 * np.mean(forest.predict(X[test]) != y[test])]}
    for name, weights in known.items():
        Z = indicators(leaves, weights, ends)
        values, vectors = np.linalg.eigh((Z @ Z.T).toarray())
        cross = (asked @ Z.T).toarray() @ vectors
        parts = vectors.T @ (Y - mean)
        scores = [cross @ (parts / (values + noise)[:, None]) + mean for noise in NOISES]
        found[name] = [100 * np.mean(score.argmax(1) != y[test]) for score in scores]
    return found


def main():
    for name, X, y in sets():
        order = np.random.RandomState(1).permutation(len(y))
        for leaf_size in LEAF_SIZES:
            folds = []
            for fold in range(2):
                test = order[fold::5]
                folds.append(errors(X, y, np.setdiff1d(order, test), test, leaf_size, fold))
            best = {way: np.mean([fold[way] for fold in folds], axis=0).min() for way in folds[0]}
            print(name, f"leaves of {leaf_size}:", ", ".join(f"{way} {error:.2f}" for way, error in best.items()))


if __name__ == "__main__":
    main()
