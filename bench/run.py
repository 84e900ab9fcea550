"""Hedgerow beside its peers: one run, one machine, a table of forests and a table of streams. See README.md.

    run.py [--forest | --streams] [--data DIR] [--sets mnist,usps] [--peers et,arf] [--threads 2] [--quick] [--out FILE]

This process stays small on purpose and loads no data: see datasets.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import forest
import stream
from common import ROOT, say
from datasets import DATASETS

DOCS = ROOT / "docs"
FOREST, STREAMS = "forest", "streams"
# The document of each table, and its title for when it has to be made.
DOCUMENTS = {
    FOREST: (DOCS / "benchmarks.md", "Benchmarks"),
    STREAMS: (DOCS / "benchmarks-streams.md", "Benchmarks of streams"),
}
SETS = {FOREST: tuple(DATASETS), STREAMS: stream.SETS}
PEERS = {FOREST: forest.PEERS, STREAMS: stream.PEERS}
QUICK_SETS = {FOREST: forest.QUICK_SETS, STREAMS: stream.QUICK_SETS}
QUICK_PEERS = {FOREST: forest.QUICK_PEERS, STREAMS: stream.QUICK_PEERS}
RUN = {FOREST: forest.run, STREAMS: stream.run}


def arguments() -> argparse.Namespace:
    def names(known: dict[str, tuple[str, ...]]):
        every = list(dict.fromkeys(name for part in known.values() for name in part))

        def parse(text: str) -> list[str]:
            found = [name.strip() for name in text.split(",") if name.strip()]
            if unknown := [name for name in found if name not in every]:
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(every)}")
            return found

        return parse

    def both(known: dict[str, tuple[str, ...]]) -> str:
        return "; ".join(f"{table}: {','.join(part)}" for table, part in known.items())

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description="Hedgerow beside its peers, in two tables.")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--forest", dest="tables", action="store_const", const=[FOREST], help="only the table of forests")
    only.add_argument("--streams", dest="tables", action="store_const", const=[STREAMS], help="only that of streams")
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: $HEDGEROW_DATA)")
    parser.add_argument("--sets", type=names(SETS), help=f"each table takes those it knows; default: {both(SETS)}")
    parser.add_argument("--peers", type=names(PEERS), help=f"likewise; may be empty; default: {both(PEERS)}")
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
    args = parser.parse_args()
    if args.data is None and os.environ.get("HEDGEROW_DATA"):
        args.data = Path(os.environ["HEDGEROW_DATA"])
    args.tables = args.tables or [FOREST, STREAMS]
    return args


def chosen(asked: list[str] | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> list[str]:
    return list(otherwise) if asked is None else [name for name in asked if name in known]


def write_document(table: str, text: str) -> None:
    """Puts the text between its markers; the rest of the document stays."""
    path, title = DOCUMENTS[table]
    begin, end = f"<!-- bench:{table}:begin -->", f"<!-- bench:{table}:end -->"
    old = path.read_text(encoding="utf-8") if path.is_file() else f"# {title}\n\n{begin}\n{end}\n"
    if begin not in old or end not in old:
        old = f"{old.rstrip()}\n\n{begin}\n{end}\n"
    before, rest = old.split(begin, 1)
    _, after = rest.split(end, 1)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{before}{begin}\n{text}{end}{after}", encoding="utf-8")


def main() -> int:
    args = arguments()
    if not args.hedgerow.is_file():
        say("no benchmark: build the program first, with `cargo build --release -p hedgerow-cli`")
        return 2
    all_done, texts = True, []
    for table in args.tables:
        sets = chosen(args.sets, SETS[table], QUICK_SETS[table] if args.quick else SETS[table])
        peers = chosen(args.peers, PEERS[table], QUICK_PEERS[table] if args.quick else PEERS[table])
        if not sets:
            continue
        text, done = RUN[table](args, sets, peers)
        all_done = all_done and done
        if not text:
            continue
        texts.append(text)
        if args.out:
            args.out.write_text("\n".join(texts), encoding="utf-8")
        elif not args.quick:
            write_document(table, text)
        print(text, flush=True)
    return 0 if all_done else 1


if __name__ == "__main__":
    sys.exit(main())
