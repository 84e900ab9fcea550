"""Does a blend of leaf GPs with class frequencies help `leaf-gp`? With and without it, on training rows only.

    python bench/leaf_blend.py [SET ...]

needs HEDGEROW_DATA and a built `hedgerow` (`HEDGEROW` names another than target/release/hedgerow). Of each set three splits of the training rows, or of two
thirds of all rows where there is no test set, into two thirds to train and a third of validation rows.
"""

import csv
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

DATA = Path(os.environ.get("HEDGEROW_DATA", "data"))
HEDGEROW = os.environ.get("HEDGEROW", "target/release/hedgerow")
SPLITS = 3
SETTINGS = [(5, 50), (5, 200), (20, 200)]
# Name, target, rows that are for training where that is settled, share of labels that are drawn anew.
SETS = [
    ("usps", "label", None, 0.0),
    ("letter", "lettr", 16_000, 0.0),
    ("spam", "type", None, 0.0),
    ("spam", "type", None, 0.2),
    ("waveform", "label", None, 0.0),
    ("waveform", "label", None, 0.2),
    ("pima", "diabetes", None, 0.0),
    ("german", "risk", None, 0.0),
]


def read(name, n_train):
    """Header and training rows."""
    if name == "usps":
        with gzip.open(DATA / "usps" / "zip.train.gz", "rt") as file:
            rows = [line.split() for line in file]
        return ["label"] + [f"p{i}" for i in range(256)], rows
    with gzip.open(DATA / "tabular" / f"{name}.csv.gz", "rt") as file:
        header, *rows = csv.reader(file)
    if n_train:
        return header, rows[:n_train]
    random.Random(7).shuffle(rows)
    return header, rows[: 2 * len(rows) // 3]


def write(path, header, rows):
    """A table as CSV."""
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def fit(folder, target, n_trees, leaf_rows, blend):
    """What a fit reports."""
    command = [HEDGEROW, "fit", f"{folder}/train.csv", "--target", target, "--test", f"{folder}/validation.csv"]
    command += ["--model", "leaf-gp", "--json"]
    for setting in (f"n_trees={n_trees}", f"leaf_rows={leaf_rows}", f"blend={blend}"):
        command += ["--set", setting]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main(wanted):
    """Prints a table."""
    print("| set | trees | rows a leaf | accuracy % | blended | log-loss | blended | used | fit s | blended |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, target, n_train, noise in SETS:
        if wanted and name not in wanted:
            continue
        header, rows = read(name, n_train)
        place = header.index(target)
        for n_trees, leaf_rows in SETTINGS:
            sums, mixed = [0.0] * 6, 0
            for seed in range(SPLITS):
                rng = random.Random(seed)
                own = [list(row) for row in rows]
                rng.shuffle(own)
                classes = sorted({row[place] for row in own})
                for row in own:
                    if rng.random() < noise:
                        row[place] = rng.choice(classes)
                with tempfile.TemporaryDirectory() as folder:
                    write(f"{folder}/train.csv", header, own[: 2 * len(own) // 3])
                    write(f"{folder}/validation.csv", header, own[2 * len(own) // 3 :])
                    both = [fit(folder, target, n_trees, leaf_rows, blend) for blend in ("false", "true")]
                found = [100 * result["metrics"]["accuracy"] for result in both]
                found += [result["metrics"]["log_loss"] for result in both]
                found += [result["seconds"]["fit"] for result in both]
                sums = [total + value / SPLITS for total, value in zip(sums, found)]
                mixed += "blend" in both[1]
            label = f"{name}, {noise:.0%} of labels drawn anew" if noise else name
            numbers = f"{sums[0]:.2f} | {sums[1]:.2f} | {sums[2]:.4f} | {sums[3]:.4f}"
            times = f"{sums[4]:.2f} | {sums[5]:.2f}"
            print(f"| {label} | {n_trees} | {leaf_rows} | {numbers} | {mixed} of {SPLITS} | {times} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
