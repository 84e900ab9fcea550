"""The tables of streams: Hedgerow beside River's forests, each row first asked and then learnt.

With them come ten batches against one fit on everything, and a long stream in bounded memory, for Hedgerow alone. Each is run and written on its own:
`run.py --streams --streams-only batches`.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial

import machine
from common import PEER_SCRIPTS, Bench, Failed, names_of, run_json
from datasets import CACHE, DATASETS, Dataset
from stream_sets import FOLDER, MEMORY, STREAMS, Stream
from stream_table import MEMORY_LIMIT, BatchRun, BatchRuns, MemoryRun, Pass, Passes, StreamResults, reports
from table import OURS

PARTS = ("rows", "batches", "memory")


def place(part: str) -> str:
    """Where a table stands in its document."""
    return f"stream-{part}"


PLACES = tuple(place(part) for part in PARTS)
PEERS = ("arf", "amf")
# Sets that are also learnt in batches, and the stream in bounded memory, can be asked for like streams.
BATCH_SETS = ("mnist", "usps")
SETS = ("mnist", *STREAMS, MEMORY.name)
QUICK_SETS, QUICK_PEERS = tuple(STREAMS), PEERS
N_BATCHES = 10
N_ROWS, QUICK_ROWS = 100_000, 20_000
MEMORY_ROWS, QUICK_MEMORY_ROWS = 2_000_000, 200_000
# The rows are the same in all repeats; the models' seeds are not.
STREAM_SEED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("streams")
    group.add_argument("--streams-only", type=names_of(PARTS), help=f"only these tables, of {', '.join(PARTS)}")


class StreamBench(Bench):
    """Runs systems over streams and keeps what they report."""

    results_file = CACHE / "results-streams.json"

    def __init__(self, args: argparse.Namespace) -> None:
        super().__init__(args)
        self.results = StreamResults()

    def model_args(self, seed: int) -> list[str]:
        return ["--seed", str(seed), "--threads", str(self.args.threads), "--json"]

    def made(self, stream: Stream, n_rows: int) -> bool:
        """Writes the rows of a generated stream, if it can: quickly done, so always anew."""
        rows = ["--rows", str(n_rows), "--seed", str(STREAM_SEED)]
        try:
            run_json([self.args.hedgerow, "generate", *stream.generate, *rows, "--out", stream.file(), "--json"])
        except Failed as error:
            self.note(f"{stream.name} left out: its rows could not be made, {error}")
            return False
        return True

    def measure_ours(self, stream: Stream, seed: int, n_rows: int | None = None) -> dict:
        """Row by row over the stream, or over its first rows."""
        head = stream.head(n_rows) if n_rows else None
        test = ["--test", stream.test()] if stream.test() and not head else []
        options = ["--target", stream.target, *test, *self.model_args(seed)]
        result = run_json([self.args.hedgerow, "stream", head or stream.file(), *options])
        if head:
            head.unlink()
        return result

    def measure_peer(self, stream: Stream, peer: str, seed: int) -> dict:
        test = ["--test", stream.test()] if stream.test() else []
        nominal = ["--nominal"] if stream.nominal else []
        limit = ["--limit-seconds", str(self.args.stream_seconds)]
        options = ["--target", stream.target, *test, *nominal, *limit, "--seed", str(seed)]
        return run_json([sys.executable, PEER_SCRIPTS / "river_stream.py", peer, stream.file(), *options])

    def repeats(self, small: bool) -> int:
        return self.args.repeats or (3 if small and not self.args.quick else 1)

    def run_stream(self, stream: Stream, peers: list[str]) -> None:
        """All systems in turn, then all again. Where a peer ran out of time, we also run over the rows it did."""
        repeats = self.repeats(stream.dataset is not None)
        for repeat in range(repeats):
            label = f"{stream.name} {repeat + 1}/{repeats}"
            ours = self.attempt(f"{label} {OURS}", partial(self.measure_ours, stream, repeat), Pass.from_json)
            self.results.passes.setdefault((stream.name, OURS), []).append(Passes(ours, ours))
            for peer in peers:
                measure = partial(self.measure_peer, stream, peer, repeat)
                theirs = self.attempt(f"{label} {peer}", measure, Pass.from_json)
                same = ours
                if ours and theirs and theirs.rows < ours.rows:
                    measure = partial(self.measure_ours, stream, repeat, theirs.rows)
                    same = self.attempt(f"{label} {OURS}, {theirs.rows:,} rows", measure, Pass.from_json)
                self.results.passes.setdefault((stream.name, peer), []).append(Passes(theirs, same))

    def measure_batches(self, dataset: Dataset, seed: int, n_batches: int | None) -> dict:
        """One fit on everything, or as many updates."""
        train, test = dataset.files(self.args.data)
        command = ["stream", train, "--batches", str(n_batches)] if n_batches else ["fit", train]
        reading = [*dataset.target_args(), *dataset.read_args]
        return run_json([self.args.hedgerow, *command, *reading, "--test", test, *self.model_args(seed)])

    def run_batches(self, dataset: Dataset) -> None:
        # Both are drawn at random, so several seeds are compared: on 2,007 test rows two of them differ by half a point.
        repeats = self.args.repeats or (1 if self.args.quick else 3 if dataset.big else 8)
        runs = self.results.batches.setdefault(dataset.name, [])
        for repeat in range(repeats):
            label = f"{dataset.name} {repeat + 1}/{repeats}"
            found = [
                self.attempt(f"{label} {what}", partial(self.measure_batches, dataset, repeat, n), BatchRun.from_json)
                for what, n in (("one fit", None), ("ten batches", N_BATCHES))
            ]
            runs.append(BatchRuns(*found))

    def run_memory(self) -> None:
        """Hedgerow alone, over more rows than the limit could hold."""
        if not self.made(MEMORY, QUICK_MEMORY_ROWS if self.args.quick else MEMORY_ROWS):
            return
        options = ["--target", MEMORY.target, "--max-memory", MEMORY_LIMIT, *self.model_args(0)]
        measure = partial(run_json, [self.args.hedgerow, "stream", MEMORY.file(), *options])
        self.results.memory = self.attempt(f"memory, {MEMORY_LIMIT}", measure, MemoryRun.from_json)
        MEMORY.file().unlink()  # hundreds of megabytes


def run(args: argparse.Namespace, sets: list[str], peers: list[str]) -> tuple[dict[str, str], bool]:
    """The tables as Markdown by their places, and whether Hedgerow gave a result for every stream."""
    bench = StreamBench(args)
    wanted = args.streams_only or PARTS
    header = machine.header(str(args.hedgerow), args.threads, [machine.package("river"), machine.package("numpy")])
    FOLDER.mkdir(parents=True, exist_ok=True)
    there = [name for name in sets if name not in DATASETS or bench.ready(DATASETS[name])]
    for stream in (STREAMS[name] for name in there if name in STREAMS and "rows" in wanted):
        if stream.dataset or bench.made(stream, QUICK_ROWS if args.quick else N_ROWS):
            bench.run_stream(stream, peers)
            bench.save()
    for dataset in (DATASETS[name] for name in there if name in BATCH_SETS and "batches" in wanted):
        bench.run_batches(dataset)
        bench.save()
    if MEMORY.name in sets and "memory" in wanted:
        bench.run_memory()
        bench.save()
    done = all(passes[0].run for (_, system), passes in bench.results.passes.items() if system == OURS)
    texts = reports(header, bench.results, STREAMS, bench.notes)
    return {place(part): text for part, text in texts.items()}, done
