"""Turns what was measured on streams into the table, and into a verdict on every figure set for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import mean, median, stdev

from stream_sets import Stream
from table import OURS, Goal, percent, show, significant, times

SYSTEM_NAMES = {OURS: "**Hedgerow**", "arf": "River ARF", "amf": "River AMF"}
COLUMNS = (
    "stream", "drift", "system", "rows", "accuracy %", "Hedgerow there %", "test %", "rows/s", "peak MB",
    "rows/s ×", "memory ×",
)  # fmt: skip
N_TEXT_COLUMNS = 3
BATCH_COLUMNS = ("data", "learnt", "seeds", "accuracy %", "fit s", "fit ÷")
MEMORY_LIMIT, MEMORY_LIMIT_BYTES = "300MB", 300e6


@dataclass(frozen=True)
class Pass:
    """One pass of one system over one stream, or over the rows that its time was enough for."""

    rows: int
    # Right answers to rows not yet learnt.
    accuracy: float
    # On rows of the test file after the pass, where there is one.
    test: float | None
    # Rows a second, of asking and learning.
    rate: float
    memory: float | None

    @classmethod
    def from_json(cls, result: dict) -> Pass:
        return cls(
            rows=result["rows"],
            accuracy=result["prequential"]["accuracy"],
            test=result["metrics"]["accuracy"] if result.get("metrics_from") == "test" else None,
            rate=result["rows_per_second"],
            memory=result.get("peak_memory_bytes"),
        )

    def brief(self) -> str:
        test = "" if self.test is None else f", test {self.test:.4f}"
        return f"{self.rows:,} rows, accuracy {self.accuracy:.4f}{test}, {self.rate:,.0f} rows/s"


@dataclass(frozen=True)
class Passes:
    """A system's pass, and Hedgerow's over the same rows right beside it."""

    run: Pass | None
    ours: Pass | None


@dataclass(frozen=True)
class BatchRun:
    """A data set learnt at once or in batches."""

    accuracy: float
    fit: float

    @classmethod
    def from_json(cls, result: dict) -> BatchRun:
        return cls(result["metrics"]["accuracy"], result["seconds"]["fit"])

    def brief(self) -> str:
        return f"accuracy {self.accuracy:.4f}, fit {self.fit:.2f} s"


@dataclass(frozen=True)
class BatchRuns:
    at_once: BatchRun | None
    in_batches: BatchRun | None


@dataclass(frozen=True)
class MemoryRun:
    """A long stream under a limit of memory. Rates are of its tenths, from the first to the last."""

    run: Pass
    rates: tuple[float, ...]

    @classmethod
    def from_json(cls, result: dict) -> MemoryRun:
        rows, seconds = [0.0] * 10, [0.0] * 10
        done = 0
        for batch in result["batches"]:
            tenth = int(10 * (done + batch["rows"] / 2) / result["rows"])
            rows[tenth] += batch["rows"]
            seconds[tenth] += batch["seconds"]
            done += batch["rows"]
        if done != result["rows"] or 0 in seconds:
            raise KeyError("batches in every tenth of its rows")
        return cls(Pass.from_json(result), tuple(r / s for r, s in zip(rows, seconds, strict=True)))

    def brief(self) -> str:
        return f"{self.run.brief()}, peak {significant(self.run.memory, 1e-6)} MB"

    @property
    def last_to_second(self) -> float:
        return self.rates[-1] / self.rates[1]


@dataclass
class StreamResults:
    """All that was measured. Repeats keep their place."""

    passes: dict[tuple[str, str], list[Passes]] = field(default_factory=dict)
    batches: dict[str, list[BatchRuns]] = field(default_factory=dict)
    memory: MemoryRun | None = None

    def value(self, stream: str, system: str, what: str) -> float | None:
        """The median over the repeats."""
        values = [getattr(passes.run, what) for passes in self.passes.get((stream, system), []) if passes.run]
        return median(values) if values and None not in values else None

    def pairs(self, stream: str, system: str) -> list[tuple[Pass, Pass]]:
        return [(p.run, p.ours) for p in self.passes.get((stream, system), []) if p.run and p.ours]

    def ours_there(self, stream: str, system: str) -> float | None:
        """Our accuracy over the rows that the system did."""
        values = [ours.accuracy for _, ours in self.pairs(stream, system)]
        return median(values) if values else None

    def faster(self, stream: str, system: str) -> float | None:
        """How many times its rows a second we do, over the same rows."""
        ratios = [ours.rate / run.rate for run, ours in self.pairs(stream, system)]
        return median(ratios) if ratios else None

    def smaller(self, stream: str, system: str) -> float | None:
        ratios = [run.memory / ours.memory for run, ours in self.pairs(stream, system) if run.memory and ours.memory]
        return median(ratios) if ratios else None

    def at_once(self, name: str) -> list[BatchRun]:
        return [runs.at_once for runs in self.batches.get(name, []) if runs.at_once]

    def in_batches(self, name: str) -> list[BatchRun]:
        return [runs.in_batches for runs in self.batches.get(name, []) if runs.in_batches]

    def batch_cost(self, name: str) -> float | None:
        """What all the batches cost, in fits on everything."""
        runs = self.batches.get(name, [])
        ratios = [r.in_batches.fit / r.at_once.fit for r in runs if r.in_batches and r.at_once]
        return median(ratios) if ratios else None


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def table(results: StreamResults, streams: Mapping[str, Stream]) -> list[str]:
    lines = [line(list(COLUMNS)), "|" + "---|" * N_TEXT_COLUMNS + "---:|" * (len(COLUMNS) - N_TEXT_COLUMNS)]
    for (name, system), passes in results.passes.items():
        if not any(p.run for p in passes):
            continue
        lines.append(line([
            name,
            streams[name].drift,
            SYSTEM_NAMES[system],
            show(results.value(name, system, "rows"), ",.0f"),
            show(results.value(name, system, "accuracy"), ".2f", 100),
            show(results.ours_there(name, system), ".2f", 100),
            show(results.value(name, system, "test"), ".2f", 100),
            show(results.value(name, system, "rate"), ",.0f"),
            significant(results.value(name, system, "memory"), 1e-6),
            significant(results.faster(name, system)),
            significant(results.smaller(name, system)),
        ]))  # fmt: skip
    return lines


def batch_table(results: StreamResults) -> list[str]:
    lines = [line(list(BATCH_COLUMNS)), "|---|---|---:|---:|---:|---:|"]
    for name in results.batches:
        at_once, in_batches = results.at_once(name), results.in_batches(name)
        parts = (("at once", at_once, 1.0), ("in ten batches", in_batches, results.batch_cost(name)))
        for learnt, runs, cost in parts:
            if runs:
                accuracies, fit = [run.accuracy for run in runs], median(run.fit for run in runs)
                spread = f" ± {100 * stdev(accuracies):.2f}" if len(runs) > 1 else ""
                accuracy = f"{100 * mean(accuracies):.2f}{spread}"
                lines.append(line([name, learnt, str(len(runs)), accuracy, significant(fit), significant(cost)]))
    return lines


def memory_line(memory: MemoryRun) -> str:
    rates = ", ".join(f"{rate:,.0f}" for rate in memory.rates)
    return (
        f"A stream of {memory.run.rows:,} rows and 20 features with `--max-memory {MEMORY_LIMIT}`: accuracy "
        f"{percent(memory.run.accuracy)}, peak {significant(memory.run.memory, 1e-6)} MB; rows/s in each tenth: "
        f"{rates}."
    )


def points(value: float) -> str:
    return f"{100 * value:+.2f} points"


def megabytes(value: float) -> str:
    return f"{1e-6 * value:.1f} MB"


def row_goals(results: StreamResults, streams: Mapping[str, Stream]) -> list[Goal]:
    """Points 2 and 3 of what learning online must show."""
    found = [
        Goal("usps row by row, rows a second against AMF", results.faster("usps", "amf"), 50, True, times),
        Goal("usps row by row, test accuracy", results.value("usps", OURS, "test"), 0.92, True, percent),
    ]
    for name in (name for name, stream in streams.items() if stream.dataset is None):
        ours, theirs = results.ours_there(name, "arf"), results.value(name, "arf", "accuracy")
        found += [
            Goal(f"{name}, accuracy no worse than ARF over the same rows", ours, theirs, True, percent),
            Goal(f"{name}, rows a second against ARF", results.faster(name, "arf"), 20, True, times),
        ]
    return found


def batch_goals(results: StreamResults) -> list[Goal]:
    """Point 1."""
    found = []
    for name, least in (("mnist", 0.973), ("usps", 0.942)):
        batches, once = results.in_batches(name), results.at_once(name)
        accuracy = mean(run.accuracy for run in batches) if batches else None
        lost = accuracy - mean(run.accuracy for run in once) if batches and once else None
        found += [
            Goal(f"{name}, ten batches, accuracy", accuracy, least, True, percent),
            Goal(f"{name}, ten batches against one fit, accuracy", lost, -0.002, True, points),
            Goal(f"{name}, ten batches against one fit, cost", results.batch_cost(name), 2, False, times),
        ]
    return found


def memory_goals(memory: MemoryRun) -> list[Goal]:
    """Point 5."""
    rows = f"{memory.run.rows:,} rows"
    return [
        Goal(
            f"{rows} with a limit of {MEMORY_LIMIT}, peak memory",
            memory.run.memory,
            MEMORY_LIMIT_BYTES,
            False,
            megabytes,
        ),
        Goal(f"{rows}, rows a second of the last tenth against the second", memory.last_to_second, 0.8, True, times),
    ]


def reports(header: list[str], results: StreamResults, streams: Mapping[str, Stream], notes: list[str]) -> dict[str, str]:
    """What was measured, as Markdown: a text for each part that was."""
    parts: dict[str, tuple[list[str], list[Goal]]] = {}
    if results.passes:
        text = (
            "Accuracy is that of answers to rows not yet learnt; *Hedgerow there* is Hedgerow's over the rows that the "
            "system did. × is how many times faster or smaller Hedgerow is over those rows."
        )
        parts["rows"] = ([*table(results, streams), "", text], row_goals(results, streams))
    if results.batches:
        text = "Accuracies are means over seeds, ± the deviation between seeds; times and their ratio are medians."
        parts["batches"] = ([*batch_table(results), "", text], batch_goals(results))
    if results.memory:
        parts["memory"] = ([memory_line(results.memory)], memory_goals(results.memory))
    told = ["", "Notes:", "", *(f"- {note}" for note in notes)] if notes else []
    return {
        part: "\n".join([*header, "", *body, "", *(goal.line() for goal in goals), *told]) + "\n"
        for part, (body, goals) in parts.items()
    }
