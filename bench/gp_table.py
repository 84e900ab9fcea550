"""Turns what was measured of Gaussian processes into tables, each in a section of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from table import show, significant

# Batches of a stream whose times are looked at, counted from 1: the first ones are small and find the kernel.
FIRST_BATCH = 5


@dataclass(frozen=True)
class Run:
    """One run of one system. None where it does not say."""

    accuracy: float
    log_loss: float | None
    ece: float | None
    fit: float
    predict: float | None
    memory: float | None
    log_evidence: float | None
    # Is a row of the first class or not: the share of right answers of that class's machine.
    first_class: float | None
    # Its parameters in words, where the system tells; nothing otherwise.
    kernel: str
    # Seconds of each batch, where there are batches.
    batches: tuple[float, ...]

    @classmethod
    def from_json(cls, result: dict) -> Run:
        metrics, seconds = result["metrics"], result["seconds"]
        return cls(
            accuracy=metrics["accuracy"],
            log_loss=metrics.get("log_loss"),
            ece=metrics.get("ece"),
            fit=seconds["fit"],
            predict=seconds.get("predict"),
            memory=result.get("peak_memory_bytes"),
            log_evidence=result.get("log_evidence"),
            first_class=result.get("first_class_accuracy"),
            kernel=", ".join(f"{name} {value:.3g}" for name, value in result.get("kernel", {}).items()),
            batches=tuple(batch["seconds"] for batch in result.get("batches", [])),
        )

    def brief(self) -> str:
        return f"accuracy {self.accuracy:.4f}, fit {self.fit:.2f} s"

    @property
    def later_batches(self) -> tuple[float, ...]:
        return self.batches[FIRST_BATCH - 1 :]


# Repeats of one system, each with a place of its own also where it failed.
Runs = list[Run | None]


def middle(runs: Runs, value: Callable[[Run], float | None]) -> float | None:
    """The median over the repeats."""
    values = [value(run) for run in runs if run is not None]
    return median(values) if values and None not in values else None


def ratio(base: Runs, runs: Runs, value: Callable[[Run], float | None]) -> float | None:
    """How many times less than the base: the median over repeats of the ratio within a repeat."""
    pairs = [(value(a), value(b)) for a, b in zip(base, runs, strict=False) if a is not None and b is not None]
    ratios = [a / b for a, b in pairs if a is not None and b]
    return median(ratios) if ratios else None


def lines(columns: Sequence[str], rows: Sequence[Sequence[str]], n_text: int) -> list[str]:
    """A table whose first columns are text."""
    head = "|" + "---|" * n_text + "---:|" * (len(columns) - n_text)
    return ["| " + " | ".join(columns) + " |", head, *("| " + " | ".join(row) + " |" for row in rows)]


QUALITY_COLUMNS = ("accuracy %", "log-loss", "ECE")
COST_COLUMNS = ("fit s", "predict s", "peak MB")


def quality(runs: Runs) -> list[str]:
    return [
        show(middle(runs, lambda run: run.accuracy), ".2f", 100),
        show(middle(runs, lambda run: run.log_loss), ".4f"),
        show(middle(runs, lambda run: run.ece), ".4f"),
    ]


def cost(runs: Runs) -> list[str]:
    return [
        significant(middle(runs, lambda run: run.fit)),
        significant(middle(runs, lambda run: run.predict)),
        significant(middle(runs, lambda run: run.memory), 1e-6),
    ]


def section(title: str, header: list[str], body: list[str], commands: list[str], notes: list[str]) -> str:
    """All about one table, as Markdown."""
    out = [f"## {title}", "", *header, "", *body]
    if commands:
        out += ["", "Shown by:", "", "```", *commands, "```"]
    if notes:
        out += ["", "Notes:", "", *(f"- {note}" for note in notes)]
    return "\n".join(out) + "\n"
