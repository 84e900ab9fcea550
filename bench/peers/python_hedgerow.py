"""Times the Python package of Hedgerow on arrays and prints one JSON object.

Usage: python_hedgerow.py ARRAYS_DIR --threads 2
"""

from __future__ import annotations

import argparse
import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
from process import peak_memory_bytes

from hedgerow import (
    ForestIvmClassifier,
    GpClassifier,
    IvmClassifier,
    LeafGpClassifier,
    OnlineForestClassifier,
    RvmClassifier,
)

# As often as in_memory.rs and sklearn_forest.py; the first of each does not count.
N_FITS, N_TIMES, N_SINGLE_ROWS = 3, 5, 1000


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def rows_a_second(model, rows: np.ndarray, n_threads: int) -> float:
    """All rows predicted by each of several threads of Python at once, each using one core."""
    model.n_jobs = 1
    threads = [threading.Thread(target=model.predict_proba, args=(rows,)) for _ in range(n_threads)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return n_threads * len(rows) / (time.perf_counter() - start)


def seconds_to_stop(model, X: np.ndarray, y: np.ndarray, after: float) -> float:
    """From Ctrl-C to the exception, with a model that predicts."""
    sent = []

    def send() -> None:
        sent.append(time.perf_counter())
        signal.raise_signal(signal.SIGINT)

    threading.Timer(after, send).start()
    try:
        model.fit(X, y)
    except KeyboardInterrupt:
        stopped = time.perf_counter()
        model.predict(X[:10])
        return stopped - sent[0]
    raise SystemExit("the fit ended before it was stopped")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("arrays", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    # A job in the background of a shell begins with SIGINT ignored; the fits below are to be stopped by it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    train_x, train_y, test_x, test_y = (
        np.load(args.arrays / f"{name}.npy") for name in ("train_x", "train_y", "test_x", "test_y")
    )
    model = OnlineForestClassifier(random_state=0, n_jobs=args.threads)
    before = peak_memory_bytes()
    first_fit = seconds(lambda: model.fit(train_x, train_y))
    first_predict = seconds(lambda: model.predict_proba(test_x))
    peak = peak_memory_bytes()
    fits = [first_fit, *(seconds(lambda: model.fit(train_x, train_y)) for _ in range(N_FITS - 1))]
    predicts = [first_predict, *(seconds(lambda: model.predict_proba(test_x)) for _ in range(N_TIMES - 1))]
    singles = [seconds(lambda i=i: model.predict_proba(test_x[i : i + 1])) for i in range(N_SINGLE_ROWS)]
    accuracy = model.score(test_x, test_y)
    alone, together = (max(rows_a_second(model, test_x, n) for _ in range(N_TIMES)) for n in (1, 2))
    endless = OnlineForestClassifier(n_estimators=10_000_000, random_state=0, n_jobs=args.threads)
    ivm = IvmClassifier(n_active=300, random_state=0, n_jobs=args.threads)
    gp = GpClassifier(random_state=0, n_jobs=args.threads)
    result = {
        "fit_seconds": fits,
        "predict_seconds": predicts,
        "row_seconds": float(np.median(singles)),
        "accuracy": accuracy,
        "data_bytes": train_x.nbytes,
        "added_bytes": peak - before,
        "model_bytes": model._model.n_bytes,
        "rows_a_second": [alone, together],
        "seconds_to_stop": {
            "forest": [seconds_to_stop(endless, train_x, train_y, after) for after in (0.3, 1.0, 2.0)],
            "ivm": [seconds_to_stop(ivm, train_x, train_y, after) for after in (0.5, 2.0, 6.0)],
            "gp": [seconds_to_stop(gp, train_x[:7000], train_y[:7000], after) for after in (0.3, 1.0, 2.0)],
            **{
                name: [seconds_to_stop(model, train_x, train_y, after) for after in (0.5, 1.5, 3.0)]
                for name, model in (
                    ("forest-ivm", ForestIvmClassifier(random_state=0, n_jobs=args.threads)),
                    ("leaf-gp", LeafGpClassifier(random_state=0, n_jobs=args.threads)),
                    ("rvm", RvmClassifier(random_state=0, n_jobs=args.threads)),
                )
            },
        },
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
