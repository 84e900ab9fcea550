"""The page of evidence: whether it tells noise from a lack of rows, on rows whose truth is known; maps; what it costs.

Each section can be run alone: `run.py --evidence --evidence-only a`. It needs the built examples `evidence` and `evidence_maps`.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from common import Bench, Part
from page import DOCS, ROOT, Body, Claim, Page, Sections, Table, show, table_of, times

# Kinds of model with their settings, as the example reads them.
MODELS = {
    "forest": "forest",
    "confidence forest": "forest,confidence=true",
    "ivm": "ivm",
    "gp": "gp",
    "rvm": "rvm",
    "leaf-gp": "leaf-gp",
    "forest-ivm": "forest-ivm",
    "forest-kernel": "forest-kernel",
    "kde": "kde",
    "knn": "knn",
}
QUICK_SETS = ("forest", "kde")
# What the example measures: its name there, its column, the limit, and whether it is the least.
MEASURES = (
    ("noise_rings", "noise, rings", 0.2, False),
    ("noise_slope", "noise, slope", 0.2, False),
    ("density_slope", "1/density, slope", 0.8, True),
    ("density_normal", "1/density, normal", 0.8, True),
    ("far", "variance at 5 σ", 0.11, True),
)
TOYS = {"gaussians": "two normal classes", "xor": "four corners (XOR)", "banana": "two bent classes"}
SETS = tuple(MODELS)
PEERS = QUICK_PEERS = ()


@dataclass(frozen=True)
class Measured:
    """What one run of the example prints."""

    values: dict[str, float]

    @classmethod
    def from_json(cls, result: dict) -> Measured:
        return cls({name: result[name] for name in result if name != "model"})

    def brief(self) -> str:
        return ", ".join(f"{name} {value:.3f}" for name, value in self.values.items())


class EvidenceBench(Bench):
    """Runs the examples that know the truth."""

    def example(self, name: str) -> str:
        return str(self.args.target / "release" / "examples" / name)

    def run_example(self, label: str, *words: object) -> Measured | None:
        return self.needed(label, lambda: self.execute([self.example("evidence"), *words]), Measured.from_json)

    def truth(self) -> Body | None:
        rows = []
        for name in self.sets:
            found = self.run_example(name, MODELS[name])
            if found:
                rows.append([name, *(show(found.values.get(key), ".2f" if key != "far" else ".3f") for key, *_ in MEASURES)])
        before = (
            "Rank correlations (Spearman) of the epistemic part of a prediction, the mutual information of class and probabilities. "
            "With the *noise* of labels, min(p, 1 − p), where rows are equally dense: it should be 0. *Rings*: rows spread evenly in a "
            "square, a probability that goes up and down with the distance from its middle. *Slope*: a density that falls by a factor of "
            "40 along one column and noise that rises from 0.02 to 0.45 along the other. With *1/density*: it should be 1. *Normal*: two "
            "normal classes. The last column is the least variance of the probability 5 deviations from the middle of the two normal "
            "classes, in 16 directions; that of the prior is 0.125. 2,000 rows, means over three training sets."
        )
        columns = ("kind", *(column for _, column, *_ in MEASURES))
        return Body([Table(columns, rows, 1)], before)

    def maps(self) -> Body | None:
        folder = DOCS / "pictures"
        command = [self.example("evidence_maps"), str(folder)]
        self.commands.append(self.shown(command))
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            self.note("no maps: the example evidence_maps failed")
            self.done = False
            return None
        self.n_results += 1
        pictures = " ".join(f"![Maps of {title}](pictures/evidence-{name}.svg)" for name, title in TOYS.items())
        before = (
            "The most probable class; aleatoric uncertainty (what stays when the class probabilities are known); epistemic uncertainty "
            "(what comes from too few rows nearby), whose color is full where it is that of the prior."
        )
        return Body([], before, pictures)

    def cost(self) -> Body | None:
        if self.args.quick or self.args.data is None or not (self.args.data / "mnist").is_dir():
            self.note("MNIST left out: not asked for, or not found in the data folder")
            return None
        rows = []
        for name in ("forest",):
            found = self.run_example(f"MNIST, {name}", "--cost", self.args.data / "mnist", self.args.threads, MODELS[name])
            if found:
                value = found.values
                cells = (value["fit"], value["predict"], value["first"], value["evidence"], value["ratio"])
                rows.append([name, *(show(cell, ".2f") for cell in cells)])
        columns = ("kind", "fit s", "predict s", "look at rows s", "predict with evidence s", "times plain prediction")
        before = (
            "10,000 test rows of MNIST by a model of 60,000. Rows are looked at once, when evidence is first asked for. "
            "Seconds are the least of three, of runs one after the other."
        )
        return Body([Table(columns, rows, 1)], before)


def claims(sections: Sections) -> list[Claim]:
    """What evidence must show, for each kind."""
    found = []
    table = table_of(sections, "a")
    for name in MODELS:
        for _, column, limit, at_least in MEASURES:
            value = table.value(column, name)
            value = abs(value) if value is not None and not at_least else value
            what = f"{name}, {column}" if at_least else f"{name}, {column}, either way"
            style = "{:.3f}" if column.startswith("variance") else "{:.2f}"
            found.append(Claim(what, value, limit, at_least, style.format, ("a",)))
    cost = table_of(sections, "c").value("times plain prediction", "forest")
    found.append(Claim("forest, evidence for 10,000 rows of MNIST, time of plain prediction", cost, 3, False, times, ("c",)))
    return found


PARTS = {
    "a": Part("(a) noise and density", EvidenceBench.truth),
    "b": Part("(b) maps", EvidenceBench.maps),
    "c": Part("(c) time", EvidenceBench.cost),
}
BENCH = EvidenceBench
PAGE = Page(
    "evidence",
    "Benchmarks of evidence",
    (
        "How much the training rows near a row support its prediction: relative evidence, a distribution over the class probabilities. It "
        "compares rows, and claims no coverage of the true probability. Defaults of all kinds; generators whose truth is known.",
    ),
    tuple(PARTS),
    claims,
)
