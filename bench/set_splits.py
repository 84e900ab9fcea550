"""Random splits of the tables for prediction sets, as CSV: rows are exchangeable only where the split is random.

Usage: set_splits.py DATA_DIR NAME SEED FOLDER writes `train.csv` (80 %) and `test.csv`, and `fit.csv` (80 % of the training rows) and
`calibrate.csv`.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

TARGETS = {
    "digits": "digit",
    "letter": "lettr",
    "spam": "type",
    "waveform": "label",
    "german": "risk",
    "pima": "diabetes",
    "usps": "class",
}
TRAIN, FIT = 0.8, 0.8


def sources(data: Path, name: str) -> list[Path]:
    if name == "usps":
        return [data / "usps" / f"zip.{part}.gz" for part in ("train", "test")]
    return [data / "tabular" / f"{name}.csv.gz"]


def lines(data: Path, name: str) -> tuple[str, list[str]]:
    texts = []
    for source in sources(data, name):
        with gzip.open(source, "rt", encoding="utf-8") as file:
            texts.append(file.read().splitlines())
    if name == "usps":
        rows = [",".join(line.split()) for text in texts for line in text if line.strip()]
        return ",".join(["class", *(f"x{i}" for i in range(rows[0].count(",")))]), rows
    header, *rows = texts[0]
    return header, rows


def write(data: Path, name: str, seed: int, folder: Path) -> None:
    import numpy as np

    header, rows = lines(data, name)
    order = np.random.default_rng(seed).permutation(len(rows))
    n_train = int(TRAIN * len(rows))
    n_fit = int(FIT * n_train)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": order[:n_train], "test": order[n_train:], "fit": order[:n_fit], "calibrate": order[n_fit:n_train]}
    for part, places in parts.items():
        (folder / f"{part}.csv").write_text("\n".join([header, *(rows[i] for i in places)]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), Path(sys.argv[4]))
