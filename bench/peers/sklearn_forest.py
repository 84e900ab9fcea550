"""Fits one scikit-learn classifier and prints what it cost and how good it is, as one JSON object.

Usage: sklearn_forest.py et|rf|hgb ARRAYS_DIR --threads 2 --seed 0 [--fits 3] [--predictions 5] [--single-rows 1000]

`seconds` has the first fit and prediction, `fit_seconds` and `predict_seconds` have all of them in order.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from pathlib import Path

import numpy as np
from metrics import all_classes, metrics
from process import peak_memory_bytes
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

N_TREES = 100
# As many as `hedgerow predict --latency` asks for.
N_SINGLE_ROWS = 1000


def make_model(kind: str, threads: int, seed: int):
    if kind == "et":
        return ExtraTreesClassifier(N_TREES, n_jobs=threads, random_state=seed)
    if kind == "rf":
        return RandomForestClassifier(N_TREES, n_jobs=threads, random_state=seed)
    # Defaults: up to 100 rounds, early stopping above 10,000 rows. Its threads are OpenMP's, set by main.
    return HistGradientBoostingClassifier(random_state=seed)


def count_nodes(model) -> int:
    if isinstance(model, HistGradientBoostingClassifier):
        return sum(len(tree.nodes) for round_ in model._predictors for tree in round_)
    return sum(tree.tree_.node_count for tree in model.estimators_)


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one_row_seconds(model, rows: np.ndarray, n_rows: int) -> dict[str, float]:
    """Rows predicted one at a time, on one thread."""
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1
    with threadpool_limits(1):
        took = [seconds(lambda i=i: model.predict_proba(rows[i : i + 1])) for i in range(min(n_rows, len(rows)))]
    return {"median": float(np.median(took)), "p99": float(np.quantile(took, 0.99))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["et", "rf", "hgb"])
    parser.add_argument("arrays", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fits", type=int, default=1)
    parser.add_argument("--predictions", type=int, default=1)
    parser.add_argument("--single-rows", type=int, default=N_SINGLE_ROWS)
    args = parser.parse_args()

    start = time.perf_counter()
    train_x, train_y, test_x, test_y = (
        np.load(args.arrays / f"{name}.npy") for name in ("train_x", "train_y", "test_x", "test_y")
    )
    read = time.perf_counter() - start
    n_classes = int(max(train_y.max(), test_y.max())) + 1

    with threadpool_limits(args.threads):
        model = make_model(args.kind, args.threads, args.seed)
        fits = [seconds(lambda: model.fit(train_x, train_y)) for _ in range(args.fits)]
        start = time.perf_counter()
        proba = model.predict_proba(test_x)
        predictions = [time.perf_counter() - start]
        predictions += [seconds(lambda: model.predict_proba(test_x)) for _ in range(args.predictions - 1)]
    # Before the model is copied into a pickle, which would count as memory.
    peak = peak_memory_bytes()

    one_row, found = one_row_seconds(model, test_x, args.single_rows), metrics(all_classes(model, proba, n_classes), test_y)
    result = {
        "model": type(model).__name__,
        "rows": len(train_x),
        "features": train_x.shape[1],
        "seconds": {"read": read, "fit": fits[0], "predict": predictions[0]},
        "fit_seconds": fits,
        "predict_seconds": predictions,
        "one_row_seconds": one_row,
        "row_seconds": one_row["median"],
        "peak_memory_bytes": peak,
        "bytes": len(pickle.dumps(model, protocol=5)),
        "nodes": count_nodes(model),
        "accuracy": found["accuracy"],
        "metrics": found,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
