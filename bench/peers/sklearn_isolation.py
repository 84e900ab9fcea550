"""Fits scikit-learn's isolation forests with seeds 0, 1, … to rows, scores rows, and prints areas under the ROC curve and times as one
JSON object.

Usage: sklearn_isolation.py FIT.npz [SCORE.npz] [--forests 5] [--threads 2]
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
from process import peak_memory_bytes
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--forests", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    with np.load(args.files[0]) as kept:
        rows = kept["X"].astype(np.float32)
    with np.load(args.files[-1]) as kept:
        scored, marks = kept["X"].astype(np.float32), kept.get("y")
    fit_seconds, score_seconds, scores = [], [], []
    for seed in range(args.forests):
        start = time.perf_counter()
        forest = IsolationForest(random_state=seed, n_jobs=args.threads).fit(rows)
        fit_seconds.append(time.perf_counter() - start)
        start = time.perf_counter()
        scores.append(-forest.score_samples(scored))
        score_seconds.append(time.perf_counter() - start)
    result = {"seconds": {"fit": min(fit_seconds), "predict": min(score_seconds)}, "peak_memory_bytes": peak_memory_bytes()}
    if marks is not None:
        each = [float(roc_auc_score(marks, one)) for one in scores]
        result |= {"auc": float(roc_auc_score(marks, np.mean(scores, axis=0))), "mean_auc": float(np.mean(each)), "aucs": each}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
