"""Runs one of MOA's classifiers over a CSV file, each row first predicted and then learnt, and prints what it cost and how good
it was, as one JSON object.

Usage: moa_stream.py arf10|arf100|srp10|samknn FILE --target class --jar moa.jar [--seed 0] [--limit-seconds 90] [--nominal]

MOA reads ARFF: the rows are converted first. `MoaStream.java` is the loop; only predicting and learning is on the clock.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from pathlib import Path

LEARNERS = {
    "arf10": "meta.AdaptiveRandomForest -s 10",
    "arf100": "meta.AdaptiveRandomForest -s 100",
    "srp10": "meta.StreamingRandomPatches -s 10",
    "samknn": "lazy.SAMkNN",
}


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def convert(source: Path, out: Path, target: str, nominal: bool) -> None:
    """Writes the rows as ARFF with the class at the end. Columns of text, or all of a `nominal` file, are nominal."""
    with source.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    at = names.index(target)
    columns = [i for i in range(len(names)) if i != at]
    with out.open("w", encoding="utf-8") as file:
        file.write("@relation stream\n")
        for i in [*columns, at]:
            values = sorted({row[i] for row in rows}) if i == at or nominal or not all(is_number(row[i]) for row in rows) else []
            kind = "{" + ",".join(f"'{value}'" for value in values) + "}" if values else "numeric"
            file.write(f"@attribute 'a{i}' {kind}\n")
            if values:
                for row in rows:
                    row[i] = f"'{row[i]}'"
        file.write("@data\n")
        file.writelines(",".join(row[i] for i in [*columns, at]) + "\n" for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=list(LEARNERS))
    parser.add_argument("file", type=Path)
    parser.add_argument("--target", required=True)
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit-seconds", type=float, default=0, help="stop then, with the rows done so far; 0: never")
    parser.add_argument("--nominal", action="store_true", help="all columns hold categories")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.arff"
        convert(args.file, rows, args.target, args.nominal)
        script = Path(__file__).with_name("MoaStream.java")
        java = ["java", "-cp", args.jar, script, LEARNERS[args.kind], rows, args.seed, args.limit_seconds]
        return subprocess.run([str(part) for part in java], check=False, stdout=sys.stdout).returncode


if __name__ == "__main__":
    sys.exit(main())
