"""Hedgerow beside its peers: one run, one machine; forests, streams and Gaussian processes. See README.md.

    run.py [--forest | --streams | --gp | --rvm] [--data DIR] [--sets mnist,usps] [--peers et,arf] [--threads 2] [--quick]
           [--gp-only a,d] [--out FILE]

This process stays small on purpose and loads no data: see datasets.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import forest
import gp
import rvm
import stream
from common import ROOT, say

DOCS = ROOT / "docs"
FOREST, STREAMS, GP, RVM = "forest", "streams", "gp", "rvm"
# The document of each kind of table, its title for when it has to be made, and the places of tables in it.
DOCUMENTS = {
    FOREST: (DOCS / "benchmarks.md", "Benchmarks", (forest.PLACE,)),
    STREAMS: (DOCS / "benchmarks-streams.md", "Benchmarks of streams", (stream.PLACE,)),
    GP: (DOCS / "benchmarks-gp.md", "Benchmarks of Gaussian processes", gp.PLACES),
    RVM: (DOCS / "benchmarks-rvm.md", "Benchmarks of Relevance Vector Machines", rvm.PLACES),
}
SETS = {FOREST: forest.SETS, STREAMS: stream.SETS, GP: gp.SETS, RVM: rvm.SETS}
PEERS = {FOREST: forest.PEERS, STREAMS: stream.PEERS, GP: gp.PEERS, RVM: rvm.PEERS}
QUICK_SETS = {FOREST: forest.QUICK_SETS, STREAMS: stream.QUICK_SETS, GP: gp.QUICK_SETS, RVM: rvm.QUICK_SETS}
QUICK_PEERS = {FOREST: forest.QUICK_PEERS, STREAMS: stream.QUICK_PEERS, GP: gp.QUICK_PEERS, RVM: rvm.QUICK_PEERS}
RUN = {FOREST: forest.run, STREAMS: stream.run, GP: gp.run, RVM: rvm.run}


def arguments() -> argparse.Namespace:
    def names(known: dict[str, tuple[str, ...]]):
        every = list(dict.fromkeys(name for part in known.values() for name in part))

        def parse(text: str) -> list[str]:
            found = [name.strip() for name in text.split(",") if name.strip()]
            if unknown := [name for name in found if name not in every]:
                raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(every)}")
            return found

        return parse

    def each(known: dict[str, tuple[str, ...]]) -> str:
        return "; ".join(f"{table}: {','.join(part)}" for table, part in known.items())

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser = argparse.ArgumentParser(description="Hedgerow beside its peers, in tables.")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--forest", dest="tables", action="store_const", const=[FOREST], help="only the table of forests")
    only.add_argument("--streams", dest="tables", action="store_const", const=[STREAMS], help="only that of streams")
    only.add_argument("--gp", dest="tables", action="store_const", const=[GP], help="only those of Gaussian processes")
    only.add_argument("--rvm", dest="tables", action="store_const", const=[RVM], help="only Relevance Vector Machines")
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
    gp.add_arguments(parser)
    rvm.add_arguments(parser)
    args = parser.parse_args()
    if args.data is None and os.environ.get("HEDGEROW_DATA"):
        args.data = Path(os.environ["HEDGEROW_DATA"])
    args.tables = args.tables or ([GP] if args.gp_only else [RVM] if args.rvm_only else [FOREST, STREAMS, GP, RVM])
    return args


def chosen(asked: list[str] | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> list[str]:
    return list(otherwise) if asked is None else [name for name in asked if name in known]


def write_document(table: str, texts: dict[str, str]) -> None:
    """Puts each text between the markers of its place; the rest of the document stays."""
    path, title, places = DOCUMENTS[table]
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
        sets = chosen(args.sets, SETS[table], QUICK_SETS[table] if args.quick else SETS[table])
        peers = chosen(args.peers, PEERS[table], QUICK_PEERS[table] if args.quick else PEERS[table])
        if not sets:
            continue
        found, done = RUN[table](args, sets, peers)
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
