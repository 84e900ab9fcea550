"""What the tables of Gaussian processes need beside the data sets: two classes, fewer rows, other labels.

Run as a program, as this process then takes the memory that the arrays need (see datasets.py):

    gp_sets.py binary N_ROWS usps|generated             two classes with so many training rows
    gp_sets.py mnist DATA_DIR N_CLASSES N_ROWS          MNIST with other labels or fewer rows, as IDX files
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from datasets import ARRAYS, CACHE, MNIST, USPS, read_idx

FOLDER = CACHE / "gp"
# USPS digits that are hard to tell apart, the first against the others. 3 against 5 and 8 has only 1,756 training rows.
DIGITS = (3, (2, 5, 8))
N_MNIST_ROWS, N_MNIST_CLASSES = 60_000, 10


@dataclass(frozen=True)
class Binary:
    """Two classes: arrays for the peers and CSV files of the same rows."""

    n_rows: int

    @property
    def folder(self) -> Path:
        return FOLDER / f"binary-{self.n_rows}"

    def files(self) -> tuple[Path, Path]:
        return self.folder / "train.csv", self.folder / "test.csv"

    def kind(self) -> str:
        """In words, once it is made."""
        return (self.folder / "kind").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Digits:
    """The first training rows of MNIST in classes 0 to `n_classes` − 1, the last of which is all other digits."""

    n_classes: int = N_MNIST_CLASSES
    n_rows: int = N_MNIST_ROWS

    @property
    def folder(self) -> Path:
        return FOLDER / f"mnist-{self.n_classes}-{self.n_rows}"

    def is_whole(self) -> bool:
        return self.n_classes >= N_MNIST_CLASSES and self.n_rows >= N_MNIST_ROWS

    def fit_args(self, data: Path) -> list[str | Path]:
        """The files to fit and to test, for hedgerow."""
        train, test, *_ = (data / source for source in MNIST.sources)
        if self.is_whole():
            return [train, "--test", test]
        if self.n_rows < N_MNIST_ROWS:
            train = self.folder / "train-images-idx3-ubyte"
        labels, test_labels = (self.folder / f"{part}-labels-idx1-ubyte" for part in ("train", "test"))
        return [train, "--labels", labels, "--test", test, "--test-labels", test_labels]

    def peer_args(self) -> list[str]:
        return ["--classes", str(self.n_classes), "--rows", str(self.n_rows)]


def write_binary(binary: Binary, is_usps: bool) -> None:
    """From USPS, which is prepared, or generated."""
    import numpy as np

    if is_usps:
        first, others = DIGITS
        kind = f"USPS, {first} against {', '.join(map(str, others))}"
        arrays = {name: np.load(USPS.cache / f"{name}.npy") for name in ARRAYS}
        for part in ("train", "test"):
            chosen = np.isin(arrays[f"{part}_y"], (first, *others))
            arrays[f"{part}_x"] = arrays[f"{part}_x"][chosen]
            arrays[f"{part}_y"] = (arrays[f"{part}_y"][chosen] == first).astype(np.int32)
    else:
        kind = "generated: is a row of 10 normal numbers near 0?"
        rng = np.random.default_rng(0)
        arrays = {}
        for part, n in (("train", binary.n_rows), ("test", 1000)):
            x = rng.normal(size=(n, 10)).astype(np.float32)
            distance = (x.astype(np.float64) ** 2).sum(axis=1)
            arrays[f"{part}_x"] = x
            arrays[f"{part}_y"] = (distance + rng.normal(size=n) < 9.3).astype(np.int32)
    for name in ("train_x", "train_y"):
        arrays[name] = arrays[name][: binary.n_rows]
    n_rows = len(arrays["train_x"])
    binary.folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(binary.folder / f"{name}.npy", array)
    for part, path in zip(("train", "test"), binary.files(), strict=True):
        x, y = arrays[f"{part}_x"], arrays[f"{part}_y"]
        lines = [",".join(["class", *(f"x{i}" for i in range(x.shape[1]))])]
        # The shortest text that reads back as the same float32.
        lines += [",".join([str(c), *map(str, row)]) for c, row in zip(y.tolist(), x, strict=True)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (binary.folder / "kind").write_text(f"{kind}; {n_rows:,} rows", encoding="utf-8")


def write_digits(digits: Digits, data: Path) -> None:
    digits.folder.mkdir(parents=True, exist_ok=True)
    images, _, labels, test_labels = (data / source for source in MNIST.sources)
    last = digits.n_classes - 1
    for part, path in (("train", labels), ("test", test_labels)):
        y = read_idx(path)[: digits.n_rows if part == "train" else None]
        write_idx(digits.folder / f"{part}-labels-idx1-ubyte", y.clip(max=last))
    if digits.n_rows < N_MNIST_ROWS:
        write_idx(digits.folder / "train-images-idx3-ubyte", read_idx(images)[: digits.n_rows])


def write_idx(path: Path, values) -> None:
    """IDX of bytes, as `datasets.read_idx` reads it."""
    header = b"\0\0\x08" + bytes([values.ndim]) + b"".join(size.to_bytes(4, "big") for size in values.shape)
    path.write_bytes(header + values.tobytes())


def main() -> None:
    match sys.argv[1:]:
        case ["binary", n_rows, ("usps" | "generated") as source]:
            write_binary(Binary(int(n_rows)), source == "usps")
        case ["mnist", data, n_classes, n_rows]:
            write_digits(Digits(int(n_classes), int(n_rows)), Path(data))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
