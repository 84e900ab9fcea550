"""What one pass over a stream reports, and medians over repeats of a system's passes beside ours."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from page import significant


@dataclass(frozen=True)
class Pass:
    """One pass of one system over one stream, or over the rows that its time was enough for."""

    rows: int
    # Prequential accuracy.
    accuracy: float
    # The others are none where a system does not report them.
    kappa_temporal: float | None
    log_loss: float | None
    ece: float | None
    # On rows of the test file after the pass, where there is one.
    test: float | None
    # Rows a second, of predicting and learning.
    rate: float
    memory: float | None

    @classmethod
    def from_json(cls, result: dict) -> Pass:
        return cls(
            rows=result["rows"],
            accuracy=result["prequential"]["accuracy"],
            kappa_temporal=result["prequential"].get("kappa_temporal"),
            log_loss=result["prequential"].get("log_loss"),
            ece=result["prequential"].get("ece"),
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


def value(passes: list[Passes], what: str) -> float | None:
    """The median over the repeats."""
    values = [getattr(p.run, what) for p in passes if p.run]
    return median(values) if values and None not in values else None


def pairs(passes: list[Passes]) -> list[tuple[Pass, Pass]]:
    return [(p.run, p.ours) for p in passes if p.run and p.ours]


def ours_there(passes: list[Passes]) -> float | None:
    """Our accuracy over the rows that the system did."""
    values = [ours.accuracy for _, ours in pairs(passes)]
    return median(values) if values else None


def faster(passes: list[Passes]) -> float | None:
    """How many times its rows a second we do, over the same rows."""
    ratios = [ours.rate / run.rate for run, ours in pairs(passes)]
    return median(ratios) if ratios else None


def smaller(passes: list[Passes]) -> float | None:
    ratios = [run.memory / ours.memory for run, ours in pairs(passes) if run.memory and ours.memory]
    return median(ratios) if ratios else None
