"""Hedgerow beside its peers: one run, one machine; a table of each kind below, or all of them. See README.md.

    run.py [--forest | --streams | --gp | --hybrid | --rvm | --engine | --python] [--data DIR] [--sets mnist,usps] [--peers et,arf]
           [--threads 2] [--quick] [--gp-only a,d] [--out FILE]

This process stays small on purpose and loads no data: see datasets.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import forest
import gp
import hybrid
import python_door
import rvm
import stream
import trainer
from common import ROOT, names_of, say

DOCS = ROOT / "docs"


class Table(NamedTuple):
    """One kind of table: the module that makes it (with SETS, PEERS, their quick choices and `run`) and its document."""

    module: ModuleType
    document: Path
    title: str
    help: str

    def places(self) -> tuple[str, ...]:
        """Where in the document its texts go."""
        return getattr(self.module, "PLACES", None) or (self.module.PLACE,)


TABLES = {
    "forest": Table(forest, DOCS / "benchmarks.md", "Benchmarks", "only the table of forests"),
    "streams": Table(stream, DOCS / "benchmarks-streams.md", "Benchmarks of streams", "only that of streams"),
    "gp": Table(gp, DOCS / "benchmarks-gp.md", "Benchmarks of Gaussian processes", "only those of Gaussian processes"),
    "hybrid": Table(hybrid, DOCS / "benchmarks-hybrid.md", "Benchmarks of hybrids", "only those of hybrids"),
    "rvm": Table(rvm, DOCS / "benchmarks-rvm.md", "Benchmarks of Relevance Vector Machines", "only those of RVMs"),
    "engine": Table(trainer, DOCS / "benchmarks-engine.md", "Benchmarks of the engine", "only those of the engine"),
    "python": Table(python_door, DOCS / "benchmarks-python.md", "Benchmarks of the Python package", "only Python's"),
}
SETS = {name: table.module.SETS for name, table in TABLES.items()}
PEERS = {name: table.module.PEERS for name, table in TABLES.items()}


def arguments() -> argparse.Namespace:
    def names(known: dict[str, tuple[str, ...]]) -> Callable[[str], list[str]]:
        return names_of(dict.fromkeys(name for part in known.values() for name in part))

    def each(known: dict[str, tuple[str, ...]]) -> str:
        return "; ".join(f"{table}: {','.join(part)}" for table, part in known.items())

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description="Hedgerow beside its peers, in tables.")
    only = parser.add_mutually_exclusive_group()
    for name, table in TABLES.items():
        only.add_argument(f"--{name}", dest="tables", action="store_const", const=[name], help=table.help)
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: $HEDGEROW_DATA)")
    parser.add_argument("--sets", type=names(SETS), help=f"each table takes those it knows; default: {each(SETS)}")
    parser.add_argument("--peers", type=names(PEERS), help=f"likewise; may be empty; default: {each(PEERS)}")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, help="default: 3 for the small sets, 1 for MNIST and what is generated")
    parser.add_argument(
        "--context-seconds", type=float, default=600, help=f"limit for a run of {' or '.join(forest.ONCE)}"
    )
    parser.add_argument(
        "--stream-seconds", type=float, default=400, help="a peer ends its pass over a stream then; 0: never"
    )
    parser.add_argument("--deep", action=argparse.BooleanOptionalAction, help="1,000 deep trees on MNIST")
    parser.add_argument("--quick", action="store_true", help="small sets and short streams, once; writes no docs")
    parser.add_argument("--out", type=Path, help="Markdown file to write (default: the documents in docs)")
    parser.add_argument("--hedgerow", type=Path, default=target / "release" / "hedgerow", help="the program to measure")
    with_parts = {name: table.module for name, table in TABLES.items() if hasattr(table.module, "add_arguments")}
    for module in with_parts.values():
        module.add_arguments(parser)
    args = parser.parse_args()
    if args.data is None and os.environ.get("HEDGEROW_DATA"):
        args.data = Path(os.environ["HEDGEROW_DATA"])
    named = [name for name in with_parts if getattr(args, f"{name}_only", None)]
    args.tables = args.tables or named or list(TABLES)
    return args


def chosen(asked: list[str] | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> list[str]:
    return list(otherwise) if asked is None else [name for name in asked if name in known]


def write_document(table: str, texts: dict[str, str]) -> None:
    """Puts each text between the markers of its place; the rest of the document stays."""
    _, path, title, _ = TABLES[table]
    places = TABLES[table].places()
    if path.is_file():
        document = path.read_text(encoding="utf-8")
    else:
        document = f"# {title}\n" + "".join(f"\n{begin}\n{end}\n" for begin, end in map(markers, places))
    for place, text in texts.items():
        begin, end = markers(place)
        if begin not in document or end not in document:
            document = f"{document.rstrip()}\n\n{begin}\n{end}\n"
        before, rest = document.split(begin, 1)
        _, after = rest.split(end, 1)
        document = f"{before}{begin}\n{text}{end}{after}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(document, encoding="utf-8")


def markers(place: str) -> tuple[str, str]:
    return f"<!-- bench:{place}:begin -->", f"<!-- bench:{place}:end -->"


def main() -> int:
    args = arguments()
    if not args.hedgerow.is_file():
        say("no benchmark: build the program first, with `cargo build --release -p hedgerow-cli`")
        return 2
    all_done, texts = True, []
    for table in args.tables:
        module = TABLES[table].module
        sets = chosen(args.sets, module.SETS, module.QUICK_SETS if args.quick else module.SETS)
        peers = chosen(args.peers, module.PEERS, module.QUICK_PEERS if args.quick else module.PEERS)
        if not sets:
            continue
        found, done = module.run(args, sets, peers)
        all_done = all_done and done
        if not found:
            continue
        texts += found.values()
        if args.out:
            args.out.write_text("\n".join(texts), encoding="utf-8")
        elif not args.quick:
            write_document(table, found)
        print("\n".join(found.values()), flush=True)
    return 0 if all_done else 1


if __name__ == "__main__":
    sys.exit(main())
