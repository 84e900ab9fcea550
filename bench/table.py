"""Turns measurements into the table, and into a verdict on every figure the project has set itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

OURS = "hedgerow"
BASE = "et"
SYSTEM_NAMES = {
    OURS: "**Hedgerow**",
    BASE: "ExtraTrees",
    "rf": "RandomForest",
    "hgb": "HistGradientBoosting",
    "ranger": "ranger extratrees",
}
COLUMNS = (
    "data", "system", "accuracy %", "log-loss", "ECE", "fit s", "predict s", "one row ms", "peak MB",
    "model MB", "nodes", "bytes/node", "fit ×", "predict ×", "one row ×", "memory ×", "size ×",
)  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """One run of one system on one data set. None where the system does not say."""

    accuracy: float
    log_loss: float
    ece: float
    fit: float
    predict: float
    one_row: float | None
    memory: float | None
    size: float
    nodes: int | None
    # Bytes of the model once it is loaded, where the system tells.
    loaded: float | None = None

    @classmethod
    def from_json(cls, result: dict) -> Measurement:
        metrics, seconds = result["metrics"], result["seconds"]
        return cls(
            accuracy=metrics["accuracy"],
            log_loss=metrics["log_loss"],
            ece=metrics["ece"],
            fit=seconds["fit"],
            predict=seconds["predict"],
            one_row=result.get("one_row_seconds", {}).get("median"),
            memory=result.get("peak_memory_bytes"),
            size=result["bytes"],
            nodes=result.get("nodes"),
            loaded=result.get("model_memory_bytes"),
        )

    def brief(self) -> str:
        return f"accuracy {self.accuracy:.4f}, fit {self.fit:.2f} s, predict {self.predict:.3f} s"


# Measurements by data set and system. Repeats keep their place: number i of all systems ran side by side.
Results = dict[tuple[str, str], list[Measurement | None]]


class Summary:
    """Medians over the repeats, and ratios against ExtraTrees."""

    def __init__(self, results: Results) -> None:
        self.results = results

    def sets(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.results))

    def systems(self, dataset: str) -> list[str]:
        return [system for name, system in self.results if name == dataset and self.runs(dataset, system)]

    def runs(self, dataset: str, system: str) -> list[Measurement]:
        return [run for run in self.results.get((dataset, system), []) if run is not None]

    def value(self, dataset: str, system: str, field: str) -> float | None:
        values = [getattr(run, field) for run in self.runs(dataset, system)]
        return median(values) if values and None not in values else None

    def ratio(self, dataset: str, system: str, field: str) -> float | None:
        """How many times less than ExtraTrees: the median over repeats of the ratio within a repeat."""
        pairs = zip(self.results.get((dataset, BASE), []), self.results.get((dataset, system), []), strict=False)
        values = [(getattr(a, field), getattr(b, field)) for a, b in pairs if a is not None and b is not None]
        ratios = [a / b for a, b in values if a is not None and b]
        return median(ratios) if ratios else None

    def bytes_per_node(self, dataset: str, system: str) -> float | None:
        size, nodes = self.value(dataset, system, "size"), self.value(dataset, system, "nodes")
        return size / nodes if size and nodes else None


def show(value: float | None, style: str, scale: float = 1.0) -> str:
    return "–" if value is None else format(value * scale, style)


def significant(value: float | None, scale: float = 1.0) -> str:
    """Three digits, without an exponent."""
    if value is None:
        return "–"
    value *= scale
    if value == 0:
        return "0"
    decimals = next((d for d, least in ((0, 100), (1, 10), (2, 1), (3, 0.1)) if value >= least), 4)
    return f"{value:,.{decimals}f}"


def table(summary: Summary) -> list[str]:
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---|---|" + "---:|" * (len(COLUMNS) - 2)]
    for dataset in summary.sets():
        for system in summary.systems(dataset):
            value = partial(summary.value, dataset, system)
            cells = [
                dataset,
                SYSTEM_NAMES[system],
                show(value("accuracy"), ".2f", 100),
                show(value("log_loss"), ".4f"),
                show(value("ece"), ".4f"),
                significant(value("fit")),
                significant(value("predict")),
                significant(value("one_row"), 1e3),
                significant(value("memory"), 1e-6),
                significant(value("size"), 1e-6),
                show(value("nodes"), ",.0f"),
                significant(summary.bytes_per_node(dataset, system)),
            ]
            for field in ("fit", "predict", "one_row", "memory", "size"):
                cells.append(significant(summary.ratio(dataset, system, field)))
            lines.append("| " + " | ".join(cells) + " |")
    return lines


@dataclass(frozen=True)
class Goal:
    """A figure to reach. `value` is None where this run has not measured it."""

    what: str
    value: float | None
    limit: float | None
    at_least: bool
    write: Callable[[float], str]

    def line(self) -> str:
        limit = "–" if self.limit is None else self.write(self.limit)
        wanted = f"at {'least' if self.at_least else 'most'} {limit}"
        if self.value is None or self.limit is None:
            return f"- not measured: {self.what} (wanted: {wanted})"
        reached = self.value >= self.limit if self.at_least else self.value <= self.limit
        verdict = "**pass**" if reached else "**FAIL**"
        return f"- {verdict}: {self.what}: {self.write(self.value)} (wanted: {wanted})"


def percent(value: float) -> str:
    return f"{100 * value:.2f} %"


def times(value: float) -> str:
    return f"{value:.2f} times"


def number(value: float) -> str:
    return f"{value:.4f}"


def goals(summary: Summary, deep: Measurement | None) -> list[Goal]:
    """Points 1, 2 and 4 of what the batch forest must show."""
    found = [
        Goal("MNIST, 100 trees, accuracy", summary.value("mnist", OURS, "accuracy"), 0.972, True, percent),
        Goal("MNIST, fit against ExtraTrees", summary.ratio("mnist", OURS, "fit"), 5, True, times),
        Goal("MNIST, predict against ExtraTrees", summary.ratio("mnist", OURS, "predict"), 2, True, times),
    ]
    one_row = deep.one_row if deep else None
    per_node = deep.size / deep.nodes if deep and deep.nodes else None
    found += [
        Goal("MNIST, 1,000 deep trees, one row", one_row, 1e-3, False, lambda s: f"{1e3 * s:.3f} ms"),
        Goal("MNIST, 1,000 deep trees, bytes a node in the file", per_node, 16, False, lambda b: f"{b:.2f}"),
    ]
    if deep and deep.nodes and deep.loaded:
        what = "MNIST, 1,000 deep trees, bytes a node in memory"
        found.append(Goal(what, deep.loaded / deep.nodes, 16, False, lambda b: f"{b:.2f}"))
    for dataset in ("mnist", "usps", "letter", "spam"):
        value, limit = (summary.value(dataset, system, "log_loss") for system in (OURS, BASE))
        found.append(Goal(f"{dataset}, log-loss no worse than ExtraTrees", value, limit, False, number))
        found.append(Goal(f"{dataset}, ECE", summary.value(dataset, OURS, "ece"), 0.02, False, number))
    return found


def deep_line(deep: Measurement) -> str:
    per_node = deep.size / deep.nodes if deep.nodes else None
    return (
        f"Hedgerow with 1,000 trees of unlimited height on MNIST: accuracy {percent(deep.accuracy)}, "
        f"log-loss {number(deep.log_loss)}, fit {significant(deep.fit)} s, predict {significant(deep.predict)} s, "
        f"one row {show(deep.one_row, '.3f', 1e3)} ms, peak {significant(deep.memory, 1e-6)} MB, "
        f"model {significant(deep.size, 1e-6)} MB, {show(deep.nodes, ',.0f')} nodes, "
        f"{significant(per_node)} bytes a node in the file."
    )


def report(header: list[str], results: Results, deep: Measurement | None, notes: list[str]) -> str:
    """All of it as Markdown."""
    summary = Summary(results)
    lines = [*header, "", *table(summary), ""]
    lines.append("× is how many times faster or smaller than ExtraTrees; less than 1 is slower or larger.")
    if deep:
        lines += ["", deep_line(deep)]
    lines += ["", *(goal.line() for goal in goals(summary, deep))]
    if notes:
        lines += ["", "Notes:", "", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"
