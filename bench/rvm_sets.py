"""The data of the page of Relevance Vector Machines: what is generated, how files are split, and the figures that were published."""

from __future__ import annotations

import csv
import gzip
import math
import random
from dataclasses import dataclass
from pathlib import Path

from datasets import CACHE

FOLDER = CACHE / "rvm"


@dataclass(frozen=True)
class Published:
    """Mean and deviation of the published Working Set: RMSE or error in percent, relevance vectors, seconds (of 2006)."""

    error: tuple[float, float]
    vectors: tuple[float, float]
    seconds: float


@dataclass(frozen=True)
class SplitTable:
    """A data set that is split at random, or that is generated."""

    name: str
    source: str | None
    target: str
    n_train: int
    n_test: int
    is_regression: bool
    published: Published | None
    repeats: int = 10


TABLES = (
    SplitTable("Boston", "tabular/boston.csv.gz", "medv", 481, 25, True, Published((3.9, 0.9), (43.4, 3.2), 2.6), 20),
    SplitTable("Friedman#1", None, "y", 2400, 1000, True, Published((0.60, 0.02), (150.7, 6), 551.7), 5),
    SplitTable("Abalone", "tabular/abalone.csv.gz", "rings", 3341, 836, True, Published((2.1, 0.1), (22.1, 1.6), 20.6)),
    SplitTable("Pumadyn-32nm", "tabular/pumadyn32nm.csv.gz", "y", 6144, 2048, True,
          Published((0.027, 3e-4), (64.4, 8), 16.8), 3),
    SplitTable("Ripley", "tabular/ripley", "yc", 250, 1000, False, Published((9.05, 1.25), (5.0, 0.8), 5.5), 5),
    SplitTable("Banana", "tabular/banana.csv.gz", "label", 3500, 1800, False, Published((9.52, 0.56), (18.1, 1.6), 389)),
    SplitTable("Titanic", "tabular/titanic.csv.gz", "Survived", 1981, 220, False,
          Published((21.6, 0.023), (458.9, 85.2), 597)),
    SplitTable("Pima", "tabular/pima.csv.gz", "diabetes", 692, 76, False, Published((22.0, 3.9), (10, 1.5), 9.2), 20),
    SplitTable("German", "tabular/german.csv.gz", "risk", 900, 100, False, Published((25.9, 4.2), (24.7, 3.5), 24.7)),
    # The publication used the 277 rows of Ljubljana; these are the 699 of Wisconsin, so nothing can be compared.
    SplitTable("Breast cancer (Wisconsin)", "tabular/breast_cancer.csv.gz", "Class", 629, 70, False, None),
)  # fmt: skip


def clean_sinc(x: float) -> float:
    return 1.0 if x == 0 else math.sin(x) / x


def write(path: Path, header: list[str], rows: list[list[object]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(header)
        out.writerows(rows)
    return path


def sinc(n: int, seed: int) -> tuple[Path, Path]:
    """sin(x)/x with noise of deviation 0.1 at evenly spaced places; the test is the clean function."""
    rng = random.Random(1000 * seed + n)
    place = [20 * i / (n - 1) - 10 for i in range(n)]
    train = write(FOLDER / f"sinc-{n}-{seed}.csv", ["x", "y"], [[x, clean_sinc(x) + rng.gauss(0, 0.1)] for x in place])
    test = [20 * i / 999 - 10 for i in range(1000)]
    return train, write(FOLDER / "sinc-test.csv", ["x", "y"], [[x, clean_sinc(x)] for x in test])


def friedman(n: int, n_test: int, seed: int) -> tuple[Path, Path]:
    """Friedman's first function of ten columns, five of which do nothing; noise 1, test without noise."""
    rng = random.Random(seed)

    def rows(n: int, noise: float) -> list[list[object]]:
        found: list[list[object]] = []
        for _ in range(n):
            x = [rng.random() for _ in range(10)]
            y = 10 * math.sin(math.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
            found.append([*x, y + rng.gauss(0, noise) if noise else y])
        return found

    header = [f"x{i}" for i in range(10)] + ["y"]
    train = write(FOLDER / f"friedman-{seed}.csv", header, rows(n, 1.0))
    return train, write(FOLDER / f"friedman-{seed}-test.csv", header, rows(n_test, 0.0))


def classes(n: int, seed: int) -> tuple[Path, Path]:
    """Two classes parted by a bent surface in ten dimensions, a tenth of the labels drawn at random."""
    rng = random.Random(7 * n + seed)

    def rows(n: int) -> list[list[object]]:
        found: list[list[object]] = []
        for _ in range(n):
            x = [rng.uniform(-1.75, 1.75) for _ in range(10)]
            value = x[0] * x[1] + 2 * math.sin(x[2]) + x[3] - 0.5 * x[4] ** 2 + 0.5
            is_one = rng.random() < 0.5 if rng.random() < 0.1 else value > 0
            found.append([*(f"{v:.5f}" for v in x), int(is_one)])
        return found

    header = [f"x{i}" for i in range(10)] + ["label"]
    train = write(FOLDER / f"classes-{n}-{seed}.csv", header, rows(n))
    return train, write(FOLDER / f"classes-{n}-{seed}-test.csv", header, rows(4000))


def split(table: SplitTable, data: Path, seed: int) -> tuple[Path, Path]:
    """The rows of a set for one repeat: in random order, the first ones to train."""
    if table.source is None:
        return friedman(table.n_train, table.n_test, seed)
    if table.name == "Ripley":  # comes split
        return data / "tabular/ripley_train.csv.gz", data / "tabular/ripley_test.csv.gz"
    with gzip.open(data / table.source, "rt", encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    random.Random(seed).shuffle(rows)
    name = table.name.split()[0].lower()
    train = write(FOLDER / f"{name}-{seed}.csv", header, rows[: table.n_train])
    return train, write(FOLDER / f"{name}-{seed}-test.csv", header, rows[table.n_train :][: table.n_test])
