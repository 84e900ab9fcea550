"""Fits scikit-learn's GaussianProcessClassifier with a kernel whose parameters are given; prints one JSON object.

Usage: sklearn_gp.py ARRAYS_DIR --length 4 --variance 25 --threads 2

Two classes. It is Laplace's method with a logistic likelihood. Without a search for the parameters it still finds the
peak twice, once for the evidence and once for the predictions: that is what its users wait for, so both count.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from metrics import metrics
from process import peak_memory_bytes
from rows import categories_of, load, prepared
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("arrays", type=Path)
    parser.add_argument("--length", type=float, default=4.0)
    parser.add_argument("--variance", type=float, default=25.0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    start = time.perf_counter()
    train_x, train_y, test_x, test_y = load(args.arrays)
    read = time.perf_counter() - start

    with threadpool_limits(args.threads):
        start = time.perf_counter()
        train_x, test_x = prepared(train_x, test_x, categories_of(args.arrays))
        kernel = ConstantKernel(args.variance, "fixed") * RBF(args.length, "fixed")
        model = GaussianProcessClassifier(kernel, optimizer=None)
        model.fit(train_x, train_y)
        fit = time.perf_counter() - start
        start = time.perf_counter()
        proba = model.predict_proba(test_x)
        predict = time.perf_counter() - start

    result = {
        "model": type(model).__name__,
        "rows": len(train_x),
        "features": train_x.shape[1],
        "seconds": {"read": read, "fit": fit, "predict": predict},
        "peak_memory_bytes": peak_memory_bytes(),
        "log_evidence": float(model.log_marginal_likelihood_value_),
        "metrics": metrics(proba, test_y),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
