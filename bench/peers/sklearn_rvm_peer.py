"""sklearn-rvm on scikit-learn's breast-cancer data: a third of the rows to test. Writes the same rows as CSV for Hedgerow.

    sklearn_rvm_peer.py FOLDER THREADS

The columns are prepared as Hedgerow's RVM prepares them, and that is on the clock for both.
"""

from __future__ import annotations

import csv
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from rows import prepared

warnings.filterwarnings("ignore")


def main() -> None:
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn_rvm import EMRVC
    from threadpoolctl import threadpool_limits

    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    data = load_breast_cancer()
    parts = train_test_split(data.data, data.target, test_size=0.33, random_state=0)
    train_x, test_x, train_y, test_y = parts
    for name, x, y in (("train", train_x, train_y), ("test", test_x, test_y)):
        with (folder / f"breast569-{name}.csv").open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow([f"x{i}" for i in range(x.shape[1])] + ["label"])
            out.writerows([*row, label] for row, label in zip(x.tolist(), y.tolist()))
    model = EMRVC(kernel="rbf", gamma="auto")
    with threadpool_limits(threads):
        start = time.perf_counter()
        train_x, test_x = prepared(train_x.astype(np.float32), test_x.astype(np.float32))
        model.fit(train_x, train_y)
        seconds = time.perf_counter() - start
    accuracy = float(np.mean(model.predict(test_x) == test_y))
    vectors = int(len(model.relevance_vectors_))
    print(json.dumps({"seconds": {"fit": seconds}, "metrics": {"accuracy": accuracy}, "active_rows": vectors}))


if __name__ == "__main__":
    main()
