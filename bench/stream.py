"""The page of streams: Hedgerow beside River's and MOA's forests, prequential: each row is first predicted and then learnt.

With them come ten batches against one fit on everything, and a long stream in bounded memory, for Hedgerow alone. Each
section can be run alone: `run.py --streams --streams-only batches`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from functools import partial
from statistics import mean, stdev

import drift
import machine
from common import PEER_SCRIPTS, Bench, Failed, Part
from datasets import CACHE, DATASETS
from page import (
    Body, Claim, Page, Sections, Table, number, percent, points, show, significant, table_of, times,
)  # fmt: skip
from passes import MemoryRun, Pass, Passes, faster, ours_there, smaller, value
from runs import OURS, Runs, middle, ratio
from stream_sets import FOLDER, MEMORY, STREAMS, Stream

SYSTEM_NAMES = {
    OURS: "**Hedgerow**", "arf": "River ARF", "amf": "River AMF", "moa-arf10": "MOA ARF-10", "moa-arf100": "MOA ARF-100",
    "moa-srp10": "MOA SRP-10", "moa-samknn": "MOA SAM-kNN",
}  # fmt: skip
PEERS = QUICK_PEERS = tuple(name for name in SYSTEM_NAMES if name != OURS)
# MOA, the Java program, is in the wheel of this package.
CAPYMOA = "capymoa==0.15.1"
JAR = CACHE / "moa" / "moa.jar"
# Sets that are also learnt in batches, and the stream in bounded memory, can be asked for like streams.
BATCH_SETS = ("mnist", "usps")
SETS = ("mnist", *STREAMS, MEMORY.name)
QUICK_SETS = tuple(STREAMS)
N_BATCHES = 10
N_ROWS, QUICK_ROWS = 100_000, 20_000
MEMORY_ROWS, QUICK_MEMORY_ROWS = 2_000_000, 200_000
MEMORY_LIMIT, MEMORY_LIMIT_MB = "300MB", 300
# The rows are the same in all repeats; the models' seeds are not.
STREAM_SEED = 1
COLUMNS = (
    "stream", "drift", "system", "rows done", "accuracy %", "Hedgerow there %", "kappa-temporal", "log-loss", "ECE", "test %",
    "rows/s", "peak MB", "rows/s ×", "memory ×",
)  # fmt: skip
BATCH_COLUMNS = ("data", "learnt", "seeds", "accuracy %", "fit s", "fit ÷")
TENTHS = tuple(f"tenth {i + 1}" for i in range(10))
MEMORY_COLUMNS = ("rows", "limit", "accuracy %", "peak MB", *TENTHS)


class StreamBench(Bench):
    """Runs systems over streams and keeps what they report."""

    def begin(self) -> None:
        super().begin()
        self.versions = [machine.package("river"), machine.package("numpy")]
        FOLDER.mkdir(parents=True, exist_ok=True)
        if any(peer.startswith("moa-") for peer in self.peers) and not self.has_moa():
            self.peers = [peer for peer in self.peers if not peer.startswith("moa-")]

    def has_moa(self) -> bool:
        """Whether MOA can run; its jar is taken out of the package's wheel, once."""
        if not shutil.which("java"):
            self.note("MOA left out: there is no Java here (Debian: default-jdk-headless)")
            return False
        if not JAR.is_file():
            JAR.parent.mkdir(parents=True, exist_ok=True)
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(JAR.parent), CAPYMOA]
            if subprocess.run(pip, check=False).returncode != 0:
                self.note(f"MOA left out: {CAPYMOA} cannot be downloaded")
                return False
            wheel = next(JAR.parent.glob("capymoa-*.whl"))
            with zipfile.ZipFile(wheel) as packed, packed.open("capymoa/jar/moa.jar") as jar, JAR.open("wb") as out:
                shutil.copyfileobj(jar, out)
            wheel.unlink()
        self.versions.append(f"MOA of {CAPYMOA}")
        return True

    def model_args(self, seed: int) -> list[object]:
        return ["--seed", seed, "--threads", self.args.threads, "--json"]

    def made(self, stream: Stream, n_rows: int) -> bool:
        """Writes the rows of a generated stream, if it can: quickly done, so always anew."""
        rows = ["--rows", n_rows, "--seed", STREAM_SEED]
        try:
            self.execute([self.args.hedgerow, "generate", *stream.generate, *rows, "--out", stream.file(), "--json"])
        except Failed as error:
            self.note(f"{stream.name} left out: its rows could not be made, {error}")
            return False
        return True

    def measure_ours(self, stream: Stream, seed: int, n_rows: int | None = None) -> dict:
        """Row by row over the stream, or over its first rows."""
        head = stream.head(n_rows) if n_rows else None
        test = ["--test", stream.test()] if stream.test() and not head else []
        options = ["--target", stream.target, *test, *self.model_args(seed)]
        result = self.execute([self.args.hedgerow, "stream", head or stream.file(), *options])
        if head:
            head.unlink()
        return result

    def measure_peer(self, stream: Stream, peer: str, seed: int) -> dict:
        test = ["--test", stream.test()] if stream.test() else []
        nominal = ["--nominal"] if stream.nominal else []
        limit = ["--limit-seconds", self.args.stream_seconds]
        options = ["--target", stream.target, *nominal, *limit, "--seed", seed]
        if peer.startswith("moa-"):
            options += ["--jar", JAR]
            return self.execute(
                [sys.executable, PEER_SCRIPTS / "moa_stream.py", peer.removeprefix("moa-"), stream.file(), *options]
            )
        return self.execute([sys.executable, PEER_SCRIPTS / "river_stream.py", peer, stream.file(), *test, *options])

    def repeats(self, small: bool) -> int:
        return self.args.repeats or (3 if small and not self.args.quick else 1)

    def stream_rows(self, stream: Stream) -> list[list[str]]:
        """All systems in turn, then all again. Where a peer was stopped, we also run over the rows it did."""
        repeats = self.repeats(stream.dataset is not None)
        results: dict[str, list[Passes]] = {system: [] for system in (OURS, *self.peers)}
        for repeat in range(repeats):
            label = f"{stream.name} {repeat + 1}/{repeats}"
            ours = self.needed(f"{label} {OURS}", partial(self.measure_ours, stream, repeat), Pass.from_json)
            results[OURS].append(Passes(ours, ours))
            for peer in self.peers:
                measure = partial(self.measure_peer, stream, peer, repeat)
                theirs = self.attempt(f"{label} {peer}", measure, Pass.from_json)
                same = ours
                if ours and theirs and theirs.rows < ours.rows:
                    self.note(f"{label} {peer}: stopped after {self.args.stream_seconds:g} s, {theirs.rows:,} of "
                              f"{ours.rows:,} rows done")  # fmt: skip
                    measure = partial(self.measure_ours, stream, repeat, theirs.rows)
                    same = self.attempt(f"{label} {OURS}, {theirs.rows:,} rows", measure, Pass.from_json)
                results[peer].append(Passes(theirs, same))
        n_rows = value(results[OURS], "rows")
        return [self.cells(stream, system, passes, n_rows) for system, passes in results.items()]

    def cells(self, stream: Stream, system: str, passes: list[Passes], n_rows: float | None) -> list[str]:
        rows = value(passes, "rows")
        return [
            stream.name,
            stream.drift,
            SYSTEM_NAMES[system],
            rows_done(rows, n_rows),
            show(value(passes, "accuracy"), ".2f", 100),
            show(ours_there(passes), ".2f", 100),
            show(value(passes, "kappa_temporal"), ".3f"),
            show(value(passes, "log_loss"), ".4f"),
            show(value(passes, "ece"), ".4f"),
            show(value(passes, "test"), ".2f", 100),
            show(value(passes, "rate"), ",.0f"),
            significant(value(passes, "memory"), 1e-6),
            significant(faster(passes)),
            significant(smaller(passes)),
        ]

    def is_there(self, stream: Stream) -> bool:
        """Whether its rows are there, or can be made."""
        if stream.stored:
            return self.args.data is not None and stream.unpack(self.args.data)
        return self.ready(stream.dataset) if stream.dataset else self.made(stream, self.n_rows())

    def row_by_row(self) -> Body | None:
        rows = []
        for stream in (STREAMS[name] for name in self.sets if name in STREAMS and self.is_there(STREAMS[name])):
            rows += self.stream_rows(stream)
        if not rows:
            return None
        limit = f"after {self.args.stream_seconds:g} s" if self.args.stream_seconds else "never"
        text = (
            "Accuracy is prequential; *Hedgerow there* is Hedgerow's over the rows that the system did. × is how many "
            f"times faster or smaller Hedgerow is over those rows. Peers are stopped {limit}: *rows done* then tells how "
            "many of how many."
        )
        return Body([Table(COLUMNS, rows, 4)], text)

    def n_rows(self) -> int:
        return QUICK_ROWS if self.args.quick else N_ROWS

    def batches(self) -> Body | None:
        rows = []
        for name in (name for name in BATCH_SETS if self.there(name)):
            # Both are drawn at random, so several seeds are compared.
            repeats = self.args.repeats or (1 if self.args.quick else 3 if DATASETS[name].big else 8)
            at_once: Runs = []
            in_batches: Runs = []
            files = self.files(name)
            for repeat in range(repeats):
                label = f"{name} {repeat + 1}/{repeats}"
                at_once.append(self.ours(label, "fit", "forest", files, {}, repeat))
                parts = [*files, "--batches", N_BATCHES]
                in_batches.append(self.ours(label, "stream", "forest", parts, {}, repeat))
            for learnt, runs in (("at once", at_once), ("in ten batches", in_batches)):
                cost = ratio(runs, at_once, lambda run: run.fit)
                fit = significant(middle(runs, lambda run: run.fit))
                seeds = str(sum(run is not None for run in runs))
                rows.append([name, learnt, seeds, accuracies(runs), fit, significant(cost)])
        if not rows:
            return None
        text = "Accuracies are means over seeds, ± the deviation between seeds; times and their ratio are medians."
        return Body([Table(BATCH_COLUMNS, rows, 2)], text)

    def memory(self) -> Body | None:
        """Hedgerow alone, over more rows than the limit could hold."""
        n_rows = QUICK_MEMORY_ROWS if self.args.quick else MEMORY_ROWS
        if MEMORY.name not in self.sets or not self.made(MEMORY, n_rows):
            return None
        options = ["--target", MEMORY.target, "--max-memory", MEMORY_LIMIT, *self.model_args(0)]
        measure = partial(self.execute, [self.args.hedgerow, "stream", MEMORY.file(), *options])
        found = self.attempt(f"memory, {MEMORY_LIMIT}", measure, MemoryRun.from_json)
        MEMORY.file().unlink()  # hundreds of megabytes
        self.done = self.done and found is not None
        if found is None:
            return None
        run = found.run
        cells = [f"{run.rows:,}", MEMORY_LIMIT, show(run.accuracy, ".2f", 100), significant(run.memory, 1e-6)]
        text = "20 features, `--max-memory`; rows/s in each tenth of the stream."
        return Body([Table(MEMORY_COLUMNS, [[*cells, *(f"{rate:,.0f}" for rate in found.rates)]], 2)], text)


def rows_done(rows: float | None, of: float | None) -> str:
    """How many rows, and of how many where a system was stopped before the last."""
    if rows is None:
        return "–"
    return f"{rows:,.0f}" if of is None or rows >= of else f"{rows:,.0f} of {of:,.0f}, stopped"


def accuracies(runs: Runs) -> str:
    values = [100 * run.accuracy for run in runs if run is not None]
    if not values:
        return "–"
    return f"{mean(values):.2f}" + (f" ± {stdev(values):.2f}" if len(values) > 1 else "")


# How many times as fast as each peer Hedgerow must be; 0 where nothing is asked.
WANTED_SPEED = {"River ARF": 20, "River AMF": 0, "MOA ARF-10": 2, "MOA ARF-100": 10, "MOA SRP-10": 0, "MOA SAM-kNN": 0}


def row_claims(table: Table) -> list[Claim]:
    def at(column: str, stream: str, system: str) -> float | None:
        found = [row for row in table.matching(stream) if row[2].strip("*") == system]
        # A stored table may be older than a column.
        known = bool(found) and column in table.columns
        return number(found[0][table.columns.index(column)]) if known else None

    found = [
        Claim("usps row by row, rows/s against AMF", at("rows/s ×", "usps", "River AMF"), 50, True, times, ("rows",)),
        Claim("usps row by row, accuracy on test rows", at("test %", "usps", "Hedgerow"), 92, True, percent, ("rows",)),
    ]
    least = {"electricity": 93.0, "moving-squares": 97.5, "chessboard": 99.0}
    for name, stream in STREAMS.items():
        if name in least:
            found.append(Claim(f"{name}, accuracy", at("accuracy %", name, "Hedgerow"), least[name], True, percent, ("rows",)))
        if stream.dataset is None:
            most = 0.01 if stream.stored else 0.03
            found.append(Claim(f"{name}, ECE", at("ECE", name, "Hedgerow"), most, False, "{:.4f}".format, ("rows",)))
        for system, wanted in WANTED_SPEED.items():
            # Over the rows that the peer did.
            ours, theirs = (at(column, name, system) for column in ("Hedgerow there %", "accuracy %"))
            if theirs is None:
                continue
            what = f"{name}, accuracy no more than 0.3 points below {system}"
            found.append(Claim(what, ours, theirs - 0.3, True, percent, ("rows",)))
            if wanted:
                faster = at("rows/s ×", name, system)
                found.append(Claim(f"{name}, rows/s against {system}", faster, wanted, True, times, ("rows",)))
    return found


def batch_claims(table: Table) -> list[Claim]:
    found = []
    for name, least in (("mnist", 97.3), ("usps", 94.2)):
        batches, once = (table.value("accuracy %", name, learnt) for learnt in ("in ten batches", "at once"))
        lost = batches - once if batches is not None and once is not None else None
        cost = table.value("fit ÷", name, "in ten batches")
        found += [
            Claim(f"{name}, ten batches, accuracy", batches, least, True, percent, ("batches",)),
            Claim(f"{name}, ten batches against one fit, accuracy", lost, -0.2, True, points, ("batches",)),
            Claim(f"{name}, ten batches against one fit, time", cost, 2, False, times, ("batches",)),
        ]
    return found


def claims(sections: Sections) -> list[Claim | str]:
    """What learning online must show."""
    rows, batches, memory, calibrated, single, after = (table_of(sections, name) for name in PARTS)
    done = memory.rows[0][0] if memory.rows else "–"
    second, last = (memory.value(TENTHS[i]) for i in (1, 9))
    megabytes = "{:.0f} MB".format
    rate = last / second if last and second else None
    found = [
        *row_claims(rows),
        *drift.claims(calibrated, single, after, lambda stream: rows.value("rows done", stream, "", "Hedgerow")),
        *batch_claims(batches),
        Claim(f"{done} rows, peak memory", memory.value("peak MB"), MEMORY_LIMIT_MB, False, megabytes, ("memory",)),
        Claim(f"{done} rows, rows/s of the last tenth against the second", rate, 0.8, True, times, ("memory",)),
    ]
    stopped = [f"{row[2]} on {row[0]} ({row[3].removesuffix(', stopped')} rows)" for row in rows.rows if "stopped" in row[3]]
    return [*found, f"Stopped before the last row: {'; '.join(stopped)}."] if stopped else found


PARTS = {
    "rows": Part("Row by row", StreamBench.row_by_row),
    "batches": Part("In ten batches", StreamBench.batches),
    "memory": Part("In bounded memory", StreamBench.memory),
    "calibration": Part("With and without calibration", drift.calibration),
    "memories": Part("Against single memories", drift.memories),
    "changes": Part("Calibration after changes", drift.changes),
}
BENCH = StreamBench
PAGE = Page("streams", "Benchmarks of streams", (), tuple(PARTS), claims)
