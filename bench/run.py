"""Hedgerow beside its peers: one run, one computer; the pages below, or all of them. See README.md.

    run.py [--forest | --streams | --gp | --hybrid | --rvm | --outliers | --evidence | --conformal | --engine | --python] [--data DIR] [--sets mnist,usps] [--peers et,arf]
           [--threads 2] [--quick] [--gp-only a,d] [--out FILE]
    run.py --builds OLD NEW | --fit-vs-train [PROGRAM]
    run.py --write | --check

This process stays small on purpose and loads no data: see datasets.py.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import builds
import evidence
import forest
import gp
import hybrid
import outliers
import python_door
import rvm
import sets
import stream
import trainer
from common import log, make, names_of
from page import ROOT, Page

# Each module has PAGE, BENCH, PARTS, SETS, PEERS and the QUICK choices of the last two.
MODULES: dict[str, ModuleType] = {
    module.PAGE.name: module for module in (forest, stream, gp, hybrid, rvm, outliers, evidence, sets, trainer, python_door, builds)
}
SETS = {name: module.SETS for name, module in MODULES.items()}
PEERS = {name: module.PEERS for name, module in MODULES.items() if module.PEERS}


def arguments() -> argparse.Namespace:
    def names(known: dict[str, tuple[str, ...]]) -> Callable[[str], list[str]]:
        return names_of(dict.fromkeys(name for part in known.values() for name in part))

    def each(known: dict[str, tuple[str, ...]]) -> str:
        return "; ".join(f"{page}: {','.join(part)}" for page, part in known.items())

    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    program = Path(os.environ.get("HEDGEROW", target / "release" / "hedgerow"))
    parser = argparse.ArgumentParser(description="Hedgerow beside its peers, in tables.")
    only = parser.add_mutually_exclusive_group()
    for name in (name for name in MODULES if name != "builds"):
        only.add_argument(f"--{name}", dest="pages", action="store_const", const=[name],
                          help=f"only {MODULES[name].PAGE.document.name}")  # fmt: skip
    only.add_argument("--write", action="store_true", help="measure nothing: write all pages from what is stored")
    only.add_argument("--check", action="store_true", help="measure nothing: fail if a page is not what is stored")
    parser.add_argument("--data", type=Path, help="folder with the data sets (default: $HEDGEROW_DATA)")
    parser.add_argument("--sets", type=names(SETS), help=f"each page takes those it knows; default: {each(SETS)}")
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
    parser.add_argument("--quick", action="store_true", help="small sets and short streams, once; writes no page")
    parser.add_argument("--out", type=Path, help="Markdown file for what this run makes (default: the pages in docs)")
    parser.add_argument("--hedgerow", type=Path, default=program,
                        help="the program to measure (default: $HEDGEROW or target/release/hedgerow)")  # fmt: skip
    parser.add_argument("--latency", type=Path, default=target / "release" / "examples" / "latency",
                        help="the built example of that name")  # fmt: skip
    for name, module in MODULES.items():
        if len(module.PARTS) > 1 and name != "builds":
            listed = "; ".join(f"{part}: {title}" for part, (title, _) in module.PARTS.items())
            parser.add_argument(f"--{name}-only", type=names_of(module.PARTS), help=f"only some of its tables: {listed}")
        if hasattr(module, "add_arguments"):
            module.add_arguments(parser)
    args = parser.parse_args()
    if args.data is None and os.environ.get("HEDGEROW_DATA"):
        args.data = Path(os.environ["HEDGEROW_DATA"])
    args.target, args.options = target, given_options(sys.argv[1:])
    args.builds_only = [part for part, asked in (("builds", args.builds), ("fit-vs-train", args.fit_vs_train))
                        if asked is not None]  # fmt: skip
    named = [name for name in MODULES if getattr(args, f"{name}_only", None)]
    args.pages = args.pages or named or list(MODULES)
    return args


def given_options(words: list[str]) -> list[str]:
    """The options of this run that bear on what is measured: not which page, which file or which program."""
    n_values = {"--builds": 2, "--fit-vs-train": 1, "--out": 1, "--data": 1, "--hedgerow": 1, "--latency": 1, "--rvm-python": 1}
    n_values |= {f"--{name}": 0 for name in MODULES if name != "builds"} | {f"--{name}-only": 1 for name in MODULES}
    kept, words = [], [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    while words:
        word = words.pop(0)
        if word not in n_values:
            kept.append(word)
            continue
        for _ in range(n_values[word]):
            if words and not words[0].startswith("--"):
                words.pop(0)
    return kept


def chosen(asked: list[str] | None, known: tuple[str, ...], otherwise: tuple[str, ...]) -> list[str]:
    return list(otherwise) if asked is None else [name for name in asked if name in known]


def check() -> int:
    """Whether all pages are what their stored tables give."""
    pages: list[Page] = [module.PAGE for module in MODULES.values()]
    wrong = [
        page.document.name
        for page in pages
        if (page.document.is_file() or page.data.is_file())
        and (not page.document.is_file() or page.document.read_text(encoding="utf-8") != page.text(page.stored()))
    ]
    for name in wrong:
        log(f"docs/{name} is not what bench/results gives: run `python bench/run.py --write`, never edit it by hand")
    return 1 if wrong else 0


def main() -> int:
    args = arguments()
    if args.check:
        return check()
    if args.write:
        for module in MODULES.values():
            module.PAGE.write()
        return 0
    if not args.hedgerow.is_file() and args.builds_only != ["builds"] and not args.fit_vs_train:
        log("no benchmark: build the program first, with `cargo build --release -p hedgerow-cli`")
        return 2
    all_done, texts = True, []
    for name in args.pages:
        module = MODULES[name]
        sets = chosen(args.sets, module.SETS, module.QUICK_SETS if args.quick else module.SETS)
        peers = chosen(args.peers, module.PEERS, module.QUICK_PEERS if args.quick else module.PEERS)
        if not sets:
            continue
        bench = module.BENCH(args, sets, peers)
        found = make(bench, module.PAGE, module.PARTS, getattr(args, f"{name}_only", None) or list(module.PARTS))
        all_done = all_done and bench.done
        if not found:
            continue
        text = module.PAGE.text(found, is_partial=True)
        texts.append(text)
        if args.out:
            args.out.write_text("\n".join(texts), encoding="utf-8")
        elif not args.quick:
            module.PAGE.store(found)
        print(text, flush=True)
    return 0 if all_done else 1


if __name__ == "__main__":
    sys.exit(main())
