"""The data sets of the benchmark: where they are, how they are split, and how each system is given them.

Every set becomes four arrays in `.cache/NAME/` (`train_x.npy`, `train_y.npy`, `test_x.npy`, `test_y.npy`:
float32 rows, classes numbered from 0; and `categories.npy`, how many categories each column has) for the peers, and a pair of files that `hedgerow` reads itself. Tables also
become `train.csv` and `test.csv` there, for what reads them as a stream.

Run as a program, `datasets.py DATA_DIR NAME` writes the arrays. `run.py` does so in a process of its own: a process
started from one that was ever large inherits its peak memory on Linux, and we measure peak memory.
"""

from __future__ import annotations

import gzip
import sys
from dataclasses import dataclass, field
from pathlib import Path

CACHE = Path(__file__).resolve().parent / ".cache"
ARRAYS = ("train_x", "train_y", "test_x", "test_y")
# A cache written by an older version of this file is made anew.
CACHE_VERSION = "3"


@dataclass(frozen=True)
class Dataset:
    """One data set. `sources` are relative to the data directory."""

    name: str
    sources: tuple[str, ...]
    # A column's name or number; empty where the labels are in a file of their own.
    target: str = ""
    # Rows of a table to train on; the rest is for testing. None where the files are split already.
    n_train: int | None = None
    # Rows are taken in file order, or in the order of a permutation with seed 0.
    shuffle: bool = False
    # How to read the files, for every hedgerow command.
    read_args: tuple[str, ...] = ()
    big: bool = False
    cache: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cache", CACHE / self.name)

    def missing(self, data: Path) -> list[str]:
        return [source for source in self.sources if not (data / source).is_file()]

    def is_prepared(self) -> bool:
        stamp = self.cache / "version"
        return stamp.is_file() and stamp.read_text() == CACHE_VERSION

    def files(self, data: Path) -> tuple[Path, Path]:
        """The train and the test file that hedgerow reads."""
        if self.n_train is None:
            return data / self.sources[0], data / self.sources[1]
        return self.tables()

    def tables(self) -> tuple[Path, Path]:
        """The train and the test rows as CSV with a line of names."""
        return self.cache / "train.csv", self.cache / "test.csv"

    def table_target(self) -> str:
        """The column of the labels in those."""
        return self.target if self.n_train is not None else "class"

    def target_args(self) -> list[str]:
        return ["--target", self.target] if self.target else []


MNIST = Dataset(
    "mnist",
    (
        "mnist/train-images-idx3-ubyte.gz",
        "mnist/t10k-images-idx3-ubyte.gz",
        "mnist/train-labels-idx1-ubyte.gz",
        "mnist/t10k-labels-idx1-ubyte.gz",
    ),
    big=True,
)
USPS = Dataset(
    "usps", ("usps/zip.train.gz", "usps/zip.test.gz"), target="0", read_args=("--format", "txt", "--no-header")
)
LETTER = Dataset("letter", ("tabular/letter.csv.gz",), target="lettr", n_train=16_000)
SHUTTLE = Dataset("shuttle", ("tabular/shuttle.csv.gz",), target="Class", n_train=43_500)
SPAM = Dataset("spam", ("tabular/spam.csv.gz",), target="type", n_train=3_601, shuffle=True)
WAVEFORM = Dataset("waveform", ("tabular/waveform.csv.gz",), target="label", n_train=4_000)

DATASETS = {dataset.name: dataset for dataset in (MNIST, USPS, LETTER, SHUTTLE, SPAM, WAVEFORM)}


def prepare(dataset: Dataset, data: Path) -> None:
    """Writes the arrays, and the CSV files where the split is ours to make."""
    import numpy as np

    dataset.cache.mkdir(parents=True, exist_ok=True)
    if dataset is MNIST:
        arrays = read_mnist(dataset, data)
    elif dataset is USPS:
        arrays = read_usps(dataset, data)
    else:
        arrays, n_categories = split_table(dataset, data)
        np.save(dataset.cache / "categories.npy", n_categories)
    train_x, train_y, test_x, test_y = arrays
    classes = np.unique(np.concatenate([train_y, test_y]))
    for name, x in (("train_x", train_x), ("test_x", test_x)):
        np.save(dataset.cache / f"{name}.npy", np.ascontiguousarray(x, dtype=np.float32))
    for name, y in (("train_y", train_y), ("test_y", test_y)):
        np.save(dataset.cache / f"{name}.npy", np.searchsorted(classes, y).astype(np.int32))
    (dataset.cache / "version").write_text(CACHE_VERSION)


def read_mnist(dataset: Dataset, data: Path) -> tuple:
    train_x, test_x, train_y, test_y = (read_idx(data / source) for source in dataset.sources)
    return train_x.reshape(len(train_x), -1), train_y, test_x.reshape(len(test_x), -1), test_y


def read_idx(path: Path):
    """IDX of bytes: two zeros, type 8, the number of dimensions, each dimension as a big-endian u32, the bytes."""
    import numpy as np

    with gzip.open(path) as file:
        content = file.read()
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path.name}: not an IDX file of bytes")
    n_dims = content[3]
    shape = np.frombuffer(content, ">u4", n_dims, offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dims).reshape(shape)


def read_usps(dataset: Dataset, data: Path) -> tuple:
    """Reads both files, and writes them as CSV, number for number."""
    import numpy as np

    arrays = []
    for source, path in zip(dataset.sources, dataset.tables(), strict=True):
        with gzip.open(data / source, "rt", encoding="utf-8") as file:
            rows = [line.split() for line in file]
        names = [dataset.table_target(), *(f"x{i}" for i in range(len(rows[0]) - 1))]
        path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n", encoding="utf-8")
        cells = np.array(rows, dtype=np.float32)
        arrays += [cells[:, 1:], cells[:, 0]]
    return tuple(arrays)


def split_table(dataset: Dataset, data: Path) -> tuple:
    """Cuts one CSV file in two, line by line so that no value changes, and reads both parts. Also tells how many
    categories each column has; 0 is a column of numbers."""
    import numpy as np

    with gzip.open(data / dataset.sources[0], "rt", encoding="utf-8") as file:
        header, *lines = file.read().splitlines()
    if dataset.shuffle:
        lines = [lines[i] for i in np.random.default_rng(0).permutation(len(lines))]
    target = header.split(",").index(dataset.target)
    parts = (lines[: dataset.n_train], lines[dataset.n_train :])
    cells = []
    for path, part in zip(dataset.tables(), parts, strict=True):
        path.write_text("\n".join([header, *part]) + "\n", encoding="utf-8")
        cells.append(np.array([line.split(",") for line in part]))
    labels = [part[:, target] for part in cells]
    columns = [np.delete(part, target, axis=1).T for part in cells]
    known = [categories(column) for column in columns[0]]
    train_x, test_x = (
        np.column_stack([numbers(column, names) for column, names in zip(part, known, strict=True)]) for part in columns
    )
    return (train_x, labels[0], test_x, labels[1]), [len(names) for names in known]


def categories(column) -> dict[str, int]:
    """A number for each category of a column of text; none of a column of numbers."""
    try:
        column.astype("float32")
    except ValueError:
        return {name: i for i, name in enumerate(dict.fromkeys(column.tolist()))}
    return {}


def numbers(column, names: dict[str, int]):
    """A column as float32; a category that the training rows do not have is missing."""
    import numpy as np

    if not names:
        return column.astype(np.float32)
    return np.array([names.get(name, np.nan) for name in column.tolist()], dtype=np.float32)


if __name__ == "__main__":
    prepare(DATASETS[sys.argv[2]], Path(sys.argv[1]))
