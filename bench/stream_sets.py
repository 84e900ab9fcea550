"""The streams of the benchmark: data sets read row by row, and rows that `hedgerow generate` makes.

Every system reads the same CSV file, from the first row to the last.
"""

from __future__ import annotations

import gzip
import shutil
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from datasets import CACHE, LETTER, SPAM, USPS, Dataset

FOLDER = CACHE / "streams"
DIGITS = Path(__file__).resolve().parent.parent / "data" / "digits.csv.gz"


@dataclass(frozen=True)
class Stream:
    """One stream: a data set, or what `hedgerow generate` is to make."""

    name: str
    # How its concept changes, in words.
    drift: str
    dataset: Dataset | None = None
    generate: tuple[str | Path, ...] = ()
    target: str = "class"
    # All columns hold categories, although they are written as numbers.
    nominal: bool = False
    # A file in the folder `streams` of the data.
    stored: str = ""

    def file(self) -> Path:
        return self.dataset.tables()[0] if self.dataset else FOLDER / f"{self.name}.csv"

    def unpack(self, data: Path) -> bool:
        """Writes the rows of a stored stream as plain CSV, if they are there."""
        source = data / "streams" / self.stored
        if not source.is_file():
            return False
        with gzip.open(source, "rb") as packed, self.file().open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        return True

    def test(self) -> Path | None:
        return self.dataset.tables()[1] if self.dataset else None

    def head(self, n_rows: int) -> Path:
        """A file of the first rows only."""
        path = FOLDER / "head.csv"
        with self.file().open(encoding="utf-8") as whole, path.open("w", encoding="utf-8") as part:
            part.writelines(islice(whole, n_rows + 1))
        return path


STREAMS = {
    stream.name: stream
    for stream in (
        Stream("usps", "none", USPS, target=USPS.table_target()),
        Stream("letter", "none", LETTER, target=LETTER.table_target()),
        Stream("spam", "none", SPAM, target=SPAM.table_target()),
        Stream("electricity", "never stops", stored="elec.csv.gz"),
        Stream("moving-squares", "never stops", stored="moving_squares.csv.gz"),
        Stream("chessboard", "recurring, all the time", stored="chessboard.csv.gz"),
        Stream("sea-abrupt", "abrupt, 3 changes", generate=("sea", "--drift", "abrupt")),
        Stream("sea-gradual", "gradual, 3 changes", generate=("sea", "--drift", "gradual")),
        Stream("sea-recurring", "recurring, 3 changes", generate=("sea", "--drift", "recurring")),
        Stream("hyperplane", "a plane that turns", generate=("hyperplane",)),
        Stream("rtg", "abrupt, 3 changes", generate=("rtg", "--drift", "abrupt")),
        # Zeros and ones: much faster for River's ARF as categories, and hardly less accurate.
        Stream("led", "abrupt, 3 changes", generate=("led", "--drift", "abrupt"), nominal=True),
        Stream(
            "label-swap",
            "1 and 7, 3 and 8 trade places every 10,000 rows",
            generate=("label-swap", "--data", DIGITS, "--target", "digit", "--swap", "1:7,3:8", "--every", "10000"),
            target="digit",
        ),
    )
}
# Rows for the test of bounded memory.
MEMORY = Stream("memory", "a plane that turns", generate=("hyperplane", "--features", "20"))
