"""Fits scikit-learn's SVM with a Gaussian kernel and calibrated probabilities; prints one JSON object.

Usage: sklearn_svm.py ARRAYS_DIR --threads 2 --seed 0

C and gamma are those of a small grid that are right most often in cross-validation on training rows. Probabilities are
libsvm's own, from pairs of classes (`SVC(probability=True)`). scikit-learn 1.9 means to remove them in 1.11 and names
`CalibratedClassifierCV(SVC(), ensemble=False)` instead, but with that the log-loss on the test rows of USPS is 0.46
instead of 0.16 (0.37 with `method="temperature"`, 0.19 around `OneVsRestClassifier`): we compare with the best.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from joblib import parallel_config
from metrics import all_classes, metrics
from process import peak_memory_bytes
from rows import categories_of, load, prepared
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

N_FOLDS = 3
# The search looks at no more rows than this, drawn at random.
MOST_SEARCH_ROWS = 3000
CS = (1.0, 10.0, 100.0)
# Times scikit-learn's "scale", 1/(columns · variance of all values).
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
KERNEL_CACHE_MB = 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("arrays", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    start = time.perf_counter()
    train_x, train_y, test_x, test_y = load(args.arrays)
    read = time.perf_counter() - start
    n_classes = int(max(train_y.max(), test_y.max())) + 1

    with threadpool_limits(args.threads):
        start = time.perf_counter()
        train_x, test_x = prepared(train_x, test_x, categories_of(args.arrays))
        scale = 1 / (train_x.shape[1] * train_x.var())
        some = np.random.default_rng(args.seed).permutation(len(train_x))[:MOST_SEARCH_ROWS]
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=args.seed)
        grid = {"C": CS, "gamma": [factor * scale for factor in GAMMAS]}
        search = GridSearchCV(SVC(), grid, cv=folds, n_jobs=args.threads, refit=False)
        # libsvm lets other threads run: processes would only cost time and memory.
        with parallel_config("threading"):
            search.fit(train_x[some], train_y[some])
        searched = time.perf_counter() - start

        start = time.perf_counter()
        model = SVC(**search.best_params_, probability=True, cache_size=KERNEL_CACHE_MB, random_state=args.seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            model.fit(train_x, train_y)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        proba = model.predict_proba(test_x)
        predict = time.perf_counter() - start

    result = {
        "model": "SVC",
        "params": {"C": search.best_params_["C"], "gamma": search.best_params_["gamma"], "gamma_scale": scale},
        "rows": len(train_x),
        "features": train_x.shape[1],
        # What a user waits for: the search is part of fitting.
        "seconds": {"read": read, "search": searched, "fit": searched + fit, "predict": predict},
        "peak_memory_bytes": peak_memory_bytes(),
        "metrics": metrics(all_classes(model, proba, n_classes), test_y),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
