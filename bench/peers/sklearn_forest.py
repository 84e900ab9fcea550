"""Fits one scikit-learn classifier and prints what it cost and how good it is, as one JSON object.

Usage: sklearn_forest.py et|rf|hgb ARRAYS_DIR --threads 2 --seed 0
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
N_SINGLE_ROWS = 50


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


def one_row_seconds(model, rows: np.ndarray) -> dict[str, float]:
    """Rows asked one at a time, on one thread, after one that does not count."""
    if hasattr(model, "n_jobs"):
        model.n_jobs = 1
    seconds = []
    with threadpool_limits(1):
        model.predict_proba(rows[:1])
        for i in range(min(N_SINGLE_ROWS, len(rows))):
            start = time.perf_counter()
            model.predict_proba(rows[i : i + 1])
            seconds.append(time.perf_counter() - start)
    return {"median": float(np.median(seconds)), "p99": float(np.quantile(seconds, 0.99))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["et", "rf", "hgb"])
    parser.add_argument("arrays", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    start = time.perf_counter()
    train_x, train_y, test_x, test_y = (
        np.load(args.arrays / f"{name}.npy") for name in ("train_x", "train_y", "test_x", "test_y")
    )
    read = time.perf_counter() - start
    n_classes = int(max(train_y.max(), test_y.max())) + 1

    with threadpool_limits(args.threads):
        model = make_model(args.kind, args.threads, args.seed)
        start = time.perf_counter()
        model.fit(train_x, train_y)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        proba = model.predict_proba(test_x)
        predict = time.perf_counter() - start
    # Before the model is copied into a pickle, which would count as memory.
    peak = peak_memory_bytes()

    result = {
        "model": type(model).__name__,
        "rows": len(train_x),
        "features": train_x.shape[1],
        "seconds": {"read": read, "fit": fit, "predict": predict},
        "one_row_seconds": one_row_seconds(model, test_x),
        "peak_memory_bytes": peak,
        "bytes": len(pickle.dumps(model, protocol=5)),
        "nodes": count_nodes(model),
        "metrics": metrics(all_classes(model, proba, n_classes), test_y),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
