"""What one run of one system reports, and medians over its repeats: what the cells of most tables are made from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from page import show, significant

OURS = "hedgerow"


@dataclass(frozen=True)
class Run:
    """One run of one system. None where it does not report something."""

    accuracy: float
    log_loss: float | None
    ece: float | None
    fit: float
    predict: float | None
    memory: float | None
    # Median seconds of a prediction for one row.
    one_row: float | None
    # Bytes of the model's file, and once it is loaded.
    size: float | None
    loaded: float | None
    nodes: int | None
    # Rows that a sparse model keeps.
    active_rows: int | None
    log_evidence: float | None
    # Is a row of the first class or not: the accuracy of the one-vs-rest classifier of that class.
    first_class: float | None
    # The hyper-parameters found, in words.
    kernel: str
    # Seconds of each batch and accuracy on the test rows after it, where there are batches.
    batches: tuple[float, ...]
    curve: tuple[float, ...]
    # Out-of-sample accuracy of the forest alone and of the blend, by the model's own account.
    out_of_sample: tuple[float, float] | None

    @classmethod
    def from_json(cls, result: dict) -> Run:
        metrics, seconds = result["metrics"], result["seconds"]
        batches, comparison = result.get("batches", []), result.get("comparison")
        return cls(
            accuracy=metrics["accuracy"],
            log_loss=metrics.get("log_loss"),
            ece=metrics.get("ece"),
            fit=seconds["fit"],
            predict=seconds.get("predict"),
            memory=result.get("peak_memory_bytes"),
            one_row=result.get("one_row_seconds", {}).get("median"),
            size=result.get("bytes"),
            loaded=result.get("model_memory_bytes"),
            nodes=result.get("nodes"),
            active_rows=result.get("active_rows"),
            log_evidence=result.get("log_evidence"),
            first_class=result.get("first_class_accuracy"),
            kernel=", ".join(f"{name} {value:.3g}" for name, value in result.get("kernel", {}).items()),
            batches=tuple(batch["seconds"] for batch in batches),
            curve=tuple(batch["metrics"]["accuracy"] for batch in batches if batch.get("metrics")),
            out_of_sample=(comparison["forest_accuracy"], comparison["blend_accuracy"]) if comparison else None,
        )

    def brief(self) -> str:
        return f"accuracy {self.accuracy:.4f}, fit {self.fit:.2f} s"

    @property
    def bytes_per_node(self) -> float | None:
        return self.size / self.nodes if self.size and self.nodes else None


# Repeats of one system, each with a place of its own also where it failed: number i of all systems ran side by side.
Runs = list[Run | None]
Field = Callable[[Run], float | None]


def middle(runs: Runs, value: Field) -> float | None:
    """The median over the repeats."""
    values = [value(run) for run in runs if run is not None]
    return median(values) if values and None not in values else None


def ratio(base: Runs, runs: Runs, value: Field) -> float | None:
    """How many times less than the base: the median over repeats of the ratio within a repeat."""
    pairs = [(value(a), value(b)) for a, b in zip(base, runs, strict=False) if a is not None and b is not None]
    ratios = [a / b for a, b in pairs if a is not None and b]
    return median(ratios) if ratios else None


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
