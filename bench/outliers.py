"""The page of outliers: the sets of ADBench beside isolation forests, published experiments beside their figures, and time.

Each section (a to f) can be run alone: `run.py --outliers --outliers-only a`. `--repeats` sets the draws of b and the runs of c and d.
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median

from common import HERE, Bench, Part
from datasets import CACHE
from outlier_sets import TOYS
from page import NOT_MEASURED, Body, Claim, Page, Sections, Table, points, show, significant, table_of, times

FORESTS = "isolation forests"
SETS = QUICK_SETS = ("outliers",)
PEERS = QUICK_PEERS = (FORESTS,)
FOLDER = CACHE / "outliers"
# Our methods, with their settings.
METHODS = {
    "auto": [],
    "separation": ["--method", "separation"],
    "isolation": ["--method", "isolation"],
    "knn": ["--method", "knn"],
    "forest": ["--method", "forest"],
    "proximity": ["--method", "proximity"],
}
# The methods of the dissertation; the number of trees is its own.
TREES = ["--set", "n_trees=1000"]
DISSERTATION = {
    "forest, uniform": ["--method", "forest", *TREES],
    "forest, uniform, fresh for each tree": ["--method", "forest", "--set", "fresh_background=true", *TREES],
    "proximity, permuted": ["--method", "proximity", "--set", "background=permuted", *TREES],
    "proximity, uniform": ["--method", "proximity", *TREES],
    "3-NN": ["--method", "knn"],
    "auto": [],
}
# Röder, 2013, table 5.1: median and mean ranks on the toys a to d.
PUBLISHED_RANKS = {
    "forest, uniform": ((1, 1, 1, 1), (3.3, 12.7, 2.6, 1.4)),
    "proximity, permuted": ((94.5, 74, 1, 39), (96.1, 83.7, 10.4, 126.2)),
    "3-NN": ((37, 15.5, 48.5, 26.5), (49.1, 34.6, 144.3, 130.2)),
}
# Table 5.2: AUROC of the forest, of proximities with permuted and with uniform background, and of 3-NN.
PUBLISHED_AREAS = {
    "Balance-Scale": (0.994, 0.959, 0.983, 0.989),
    "Breast-W": (0.979, 0.793, 0.985, 0.991),
    "Ionosphere": (0.966, 0.953, 0.950, 0.974),
    "Iris": (1.000, 0.847, 0.983, 1.000),
    "Letters": (0.993, 0.969, 0.956, 0.998),
    "Wine": (0.954, 0.597, 0.943, 0.943),
}
AREA_METHODS = ("forest, uniform", "proximity, permuted", "proximity, uniform", "3-NN")
# Table 5.3: with so many background rows for a row, AUROC at 1, then the best and the worst difference with their share.
SHARES = (0.1, 0.3, 1, 3, 10)
PUBLISHED_SHARES = {
    "Balance-Scale": "0.994; 0.000 at 1; -0.007 at 0.1",
    "Breast-W": "0.979; 0.009 at 0.1; -0.001 at 3",
    "Ionosphere": "0.966; 0.011 at 0.3; -0.040 at 10",
    "Iris": "1.000; 0.000 at 1; -0.034 at 10",
    "Letters": "0.993; 0.001 at 0.3; -0.002 at 0.1",
    "Wine": "0.954; 0.000 at 1; -0.028 at 0.1",
}
N_TOYS, N_OUTLIERS, N_SHARE_OUTLIERS = 200, 100, 30
# Sets whose classes are left out one at a time; the first three are those of the claims.
UNKNOWN_SETS = ("digits", "letter", "usps", "dna", "glass", "shuttle", "waveform")
SPEED = ((100_000, 20),)
SPEED_REPEATS = 5
KNOWN = "known above 0.95"
MEAN, WORST = "mean", "least difference to the forests"


@dataclass(frozen=True)
class Scored:
    """One run: AUROC in percent where there are marks, seconds of fit and scores."""

    area: float | None
    mean_area: float | None
    seconds: float
    memory: float

    @classmethod
    def from_json(cls, result: dict) -> Scored:
        took = result["seconds"]
        areas = [result.get(name) for name in ("auc", "mean_auc")]
        area, mean_area = (None if value is None else 100 * value for value in areas)
        return cls(area, mean_area, took["fit"] + took["predict"], (result.get("peak_memory_bytes") or 0) / 1e6)

    def brief(self) -> str:
        return f"AUROC {show(self.area, '.2f')} %, {self.seconds:.3f} s"


@dataclass(frozen=True)
class Rejected:
    """What a model's outlier scores tell of the rows of a class that it does not know; shares and areas in percent."""

    area: float
    probability_area: float
    known_rejected: float
    unknown_rejected: float

    @classmethod
    def from_json(cls, result: dict) -> Rejected:
        names = ("auc", "probability_auc", "known_rejected", "unknown_rejected")
        return cls(*(100 * result[name] for name in names))

    def brief(self) -> str:
        return f"AUROC {self.area:.2f} %, by the largest probability {self.probability_area:.2f} %"


class OutlierBench(Bench):
    """Runs one section after the other and keeps what the programs report."""

    def score(self, label: str, files: list[Path], words: list[str], seed: int = 0) -> Scored | None:
        other = ["--score", files[1]] if len(files) > 1 else []
        command = [self.args.hedgerow, "outliers", files[0], *other, *words, "--top", 0, "--seed", seed, "--threads",
                   self.args.threads, "--json"]  # fmt: skip
        return self.needed(f"{label} {' '.join(words)}".strip(), lambda: self.execute(command), Scored.from_json)

    def forests(self, label: str, files: list[Path], n: int = 5) -> Scored | None:
        command = [sys.executable, HERE / "peers" / "sklearn_isolation.py", *files, "--forests", n, "--threads",
                   self.args.threads]  # fmt: skip
        return self.attempt(f"{label} {FORESTS}", lambda: self.execute(command), Scored.from_json)

    def draw(self, *words: object) -> None:
        """Makes files."""
        subprocess.run([sys.executable, HERE / "outlier_sets.py", *map(str, words), str(FOLDER)], check=True)

    def sources(self) -> list[Path]:
        folder = None if self.args.data is None else self.args.data / "outliers"
        if folder is None or not folder.is_dir():
            self.note("sets left out: outliers/*.npz not found in the data folder")
            return []
        found = sorted(folder.glob("*.npz"))
        return [path for path in found if path.stem in ("glass", "wbc", "cardio")] if self.args.quick else found

    def adbench(self) -> Body | None:
        if not (sources := self.sources()):
            return None
        n_seeds = 1 if self.args.quick else 5
        names = list(METHODS)[:2] if self.args.quick else list(METHODS)
        columns = ("set", f"{FORESTS}, mean of five", f"{FORESTS}, five averaged", *names)
        tables = []
        for way, text in (
            ("contaminated", "Contaminated: fitted to all rows, which are scored too, ours out of bag."),
            ("clean", "Clean: fitted to half of the normal rows; the other half and all outliers are scored."),
        ):
            rows, values = [], []
            for source in sources:
                files = [source]
                if way == "clean":
                    self.draw("clean", source)
                    files = [FOLDER / f"{source.stem}-fit.npz", FOLDER / f"{source.stem}-score.npz"]
                theirs = self.forests(f"{source.stem}, {way}", files) if FORESTS in self.peers else None
                of_set = [theirs.mean_area, theirs.area] if theirs else [None, None]
                for name in names:
                    # What takes long is run with one seed; its forests have five times as many trees.
                    seeds = range(1 if name in ("knn", "forest", "proximity") else n_seeds)
                    found = [self.score(f"{source.stem}, {way}", files, METHODS[name], seed) for seed in seeds]
                    areas = [one.area for one in found if one and one.area is not None]
                    of_set.append(mean(areas) if areas else None)
                values.append(of_set)
                rows.append([source.stem, *(show(value, ".2f") for value in of_set)])
            by_column = list(zip(*values, strict=True))
            means = [show(mean(c), ".2f") if None not in c else NOT_MEASURED for c in by_column]
            least = [least_difference(c, by_column[1]) for c in by_column]
            rows += [[f"**{MEAN}**", *means], [f"**{WORST}**", *least]]
            tables.append(Table(columns, rows, 1, text))
        # Those of the first set; of the others only the names of files differ.
        first = [command for command in self.commands if sources[0].stem in command]
        self.commands = [command for command in first if "--seed 0" in command or "--seed" not in command]
        return Body(tables, "AUROC in %. Ours are means over the seeds; *five averaged* is one score, the mean of five forests'.")

    def toys(self) -> Body | None:
        """Ranks follow from the AUROC, as there is one outlier."""
        n = 3 if self.args.quick else self.args.repeats or N_TOYS
        ranks: dict[str, dict[str, list[float]]] = {name: {kind: [] for kind in TOYS} for name in DISSERTATION}
        for kind, n_rows in TOYS.items():
            for seed in range(n):
                self.draw("toy", kind, seed)
                file = FOLDER / f"toy-{kind}-{seed}.npz"
                for name, words in DISSERTATION.items():
                    if found := self.score(f"toy {kind}, {seed}, {name}:", [file], words, seed):
                        ranks[name][kind].append(1 + (1 - found.area / 100) * (n_rows - 1))
                file.unlink()
        self.commands = self.commands[: len(DISSERTATION)]
        rows = []
        for name, found in ranks.items():
            medians, means = PUBLISHED_RANKS.get(name, ((None,) * 4, (None,) * 4))
            rows.append([name, *(show(median(found[kind]), "g") for kind in TOYS), *(show(v, "g") for v in medians),
                         *(f"{mean(found[kind]):.1f}" for kind in TOYS), *(show(v, "g") for v in means)])  # fmt: skip
        columns = ("method", *(f"{what} {kind}" for what in ("median", "published median", "mean", "published mean") for kind in TOYS))
        text = f"The rank of the one outlier, 1 is best, of 200 rows (a, b) or 1,000 (c, d); {n} draws of each toy."
        return Body([Table(columns, rows, 1)], text)

    def one_by_one(self, name: str, limit: int) -> list[Path]:
        if self.args.data is None:
            return []
        self.draw("one", name, self.args.data, limit)
        return sorted(FOLDER.glob(f"{name}-*.npz"))

    def mean_area(self, name: str, files: list[Path], words: list[str]) -> float | None:
        found = [self.score(f"{name}, {file.stem}", [file], words) for file in files]
        areas = [one.area / 100 for one in found if one]
        return mean(areas) if areas else None

    def published_areas(self) -> Body | None:
        rows = []
        for name, published in PUBLISHED_AREAS.items():
            files = self.one_by_one(name, 2 if self.args.quick else self.args.repeats or N_OUTLIERS)
            areas = [self.mean_area(name, files, DISSERTATION[method]) for method in (*AREA_METHODS, "auto")]
            known = [show(value, ".3f") for value in published]
            rows.append([name, str(len(files)), *(cell for pair in zip((show(a, ".3f") for a in areas), (*known, "")) for cell in pair)][:-1])
            self.remove(files)
        self.commands = self.commands[: len(AREA_METHODS) + 1]
        columns = ("set", "runs", *(c for m in AREA_METHODS for c in (m, f"published {m}")), "auto")
        text = (
            "The rows of the larger class with one row of the smaller, for each of these or a random choice of them; the mean AUROC "
            "over these runs. Of classes of the same size the one with the smaller label plays the outliers."
        )
        return Body([Table(columns, rows, 1)], text)

    def shares(self) -> Body | None:
        rows = []
        for name, published in PUBLISHED_SHARES.items():
            files = self.one_by_one(name, 2 if self.args.quick else self.args.repeats or N_SHARE_OUTLIERS)
            areas = []
            for share in SHARES:
                words = [*DISSERTATION["forest, uniform"], "--set", f"background_share={share}"]
                areas.append(self.mean_area(name, files, words))
            rows.append([name, published, str(len(files)), *(show(area, ".3f") for area in areas)])
            self.remove(files)
        self.commands = self.commands[: len(SHARES)]
        columns = ("set", "published: AUROC at 1; best and worst difference", "runs", *(f"{share:g}" for share in SHARES))
        return Body([Table(columns, rows, 2)], "AUROC by the number of background rows for each row.")

    def speed(self) -> Body | None:
        rows = []
        for n_rows, n_columns in ((10_000, 20),) if self.args.quick else SPEED:
            self.draw("gauss", n_rows, n_columns)
            file = FOLDER / f"gauss-{n_rows}x{n_columns}.npz"
            found: dict[str, list[Scored | None]] = {}
            for _ in range(1 if self.args.quick else SPEED_REPEATS):
                if FORESTS in self.peers:
                    found.setdefault("IsolationForest (scikit-learn)", []).append(self.forests(file.stem, [file], 1))
                for name in ("auto", "separation", "isolation"):
                    found.setdefault(name, []).append(self.score(file.stem, [file], METHODS[name]))
            base = [one.seconds if one else None for one in found.get("IsolationForest (scikit-learn)", [])]
            for name, runs in found.items():
                done = [one for one in runs if one]
                ratios = [theirs / ours.seconds for theirs, ours in zip(base, runs, strict=False) if theirs and ours]
                took = median(one.seconds for one in done) if done else None
                memory = max((one.memory for one in done), default=None)
                rows.append([f"{n_rows:,} × {n_columns}", name, str(len(done)), significant(took),
                             significant(median(ratios)) if ratios else NOT_MEASURED, show(memory, ".0f")])  # fmt: skip
            file.unlink()
        columns = ("rows", "system", "runs", "fit and scores s", "times as fast", "peak MB, data included")
        return Body([Table(columns, rows, 2)], "All rows are scored; medians, and the median of the ratios within a repeat.")

    def unknown(self) -> Body | None:
        if self.args.data is None:
            return None
        names = UNKNOWN_SETS[:1] if self.args.quick else UNKNOWN_SETS
        model, predictions = FOLDER / "unknown.hedgerow", FOLDER / "unknown.csv"
        rows = []
        for name in names:
            self.draw("unknown", name, self.args.data)
            files = sorted(FOLDER.glob(f"unknown-{name}-*-fit.npz"))[: 2 if self.args.quick else None]
            found: list[tuple[Rejected, Scored | None]] = []
            for fitted in files:
                label, test = fitted.stem.removesuffix("-fit"), fitted.with_name(fitted.name.replace("-fit", "-score"))
                if ours := self.reject(label, fitted, test, model, predictions):
                    theirs = self.forests(label, [fitted, test], 2) if FORESTS in self.peers else None
                    found.append((ours, theirs))
            self.remove(sorted(FOLDER.glob(f"unknown-{name}-*")))
            if not found:
                continue
            ours = [one for one, _ in found]
            means = [mean(getattr(one, part) for one in ours)
                     for part in ("area", "probability_area", "known_rejected", "unknown_rejected")]  # fmt: skip
            forests = [one.mean_area for _, one in found if one and one.mean_area is not None]
            rows.append([name, str(len(found)), show(means[0], ".2f"), show(means[1], ".2f"),
                         show(mean(forests) if forests else None, ".2f"), show(min(one.area for one in ours), ".2f"),
                         show(means[2], ".2f"), show(means[3], ".2f")])  # fmt: skip
        self.remove([path for path in (model, predictions) if path.is_file()])
        self.commands = self.commands[:4]
        columns = ("set", "classes", "outlier", "1 − largest probability", FORESTS, "outlier, worst class", KNOWN, "unknown above 0.95")
        text = (
            "A forest is fitted without one class; the test rows of that class are to be told from the others by `predict --outlier`. "
            "Means over the classes, in %: AUROC, then the shares of rows with a score above 0.95. The test rows of USPS are harder than "
            "its training rows, so more of them are strange."
        )
        return Body([Table(columns, rows, 1)], text)

    def reject(self, label: str, fitted: Path, test: Path, model: Path, predictions: Path) -> Rejected | None:
        """Fits a forest to rows without a class, and scores test rows."""
        with_threads = ["--threads", self.args.threads, "--json"]
        fit = [self.args.hedgerow, "fit", fitted, "--out", model, "--seed", 0, *with_threads]
        predict = [self.args.hedgerow, "predict", model, test, "--outlier", "--out", predictions, *with_threads]
        measure = [sys.executable, HERE / "outlier_sets.py", "rejected", predictions, test]

        def run() -> dict:
            self.execute(fit)
            self.execute(predict)
            return self.execute(measure)

        return self.needed(label, run, Rejected.from_json)

    def remove(self, files: list[Path]) -> None:
        for file in files:
            file.unlink()


def least_difference(values: tuple[float | None, ...], base: tuple[float | None, ...]) -> str:
    differences = [a - b for a, b in zip(values, base, strict=True) if a is not None and b is not None]
    return f"{min(differences):+.2f}" if differences else NOT_MEASURED


def claims(sections: Sections) -> list[Claim]:
    """What the default must show."""
    found = []
    for index, (way, lead) in enumerate((("contaminated", 1.5), ("clean", 2.5))):
        table = table_of(sections, "a", index)
        ours, theirs = (table.value(column, MEAN) for column in ("auto", f"{FORESTS}, five averaged"))
        gained = None if ours is None or theirs is None else ours - theirs
        found.append(Claim(f"auto, mean AUROC over that of five averaged {FORESTS}, {way}", gained, lead, True, points, ("a",)))
        worst = table.value("auto", WORST)
        found.append(Claim(f"auto, least difference on a set, {way}", worst, -10, True, points, ("a",)))
    toys = table_of(sections, "b")
    for kind in TOYS:
        rank = toys.value(f"median {kind}", "forest, uniform")
        found.append(Claim(f"toy {kind}, forest against uniform background, median rank", rank, 1, False, "{:g}".format, ("b",)))
    for name, published in PUBLISHED_AREAS.items():
        area = table_of(sections, "c").value("forest, uniform", name)
        limit = published[0] - 0.02
        found.append(Claim(f"{name}, forest against uniform background, AUROC", area, limit, True, "{:.3f}".format, ("c",)))
    left_out = table_of(sections, "f")
    for name in UNKNOWN_SETS[:3]:
        ours, known = left_out.value("outlier", name), left_out.value(KNOWN, name)
        for column, lead in ((FORESTS, 5), ("1 − largest probability", 2)):
            theirs = left_out.value(column, name)
            gained = None if ours is None or theirs is None else ours - theirs
            text = f"{name}, classes left out, mean AUROC of the outlier score over that of {column}"
            found.append(Claim(text, gained, lead, True, points, ("f",)))
        off = None if known is None else abs(known - 5)
        found.append(Claim(f"{name}, known test rows above 0.95, difference to 5 %", off, 1, False, points, ("f",)))
    for method in ("auto", "isolation"):
        faster = table_of(sections, "e").value("times as fast", "100,000 × 20", method)
        found.append(Claim(f"{method}, 100,000 rows, speed against scikit-learn's IsolationForest", faster, 3, True, times, ("e",)))
    return found


PARTS = {
    "a": Part("(a) sets of ADBench", OutlierBench.adbench),
    "b": Part("(b) one outlier in a toy", OutlierBench.toys),
    "c": Part("(c) one row of another class", OutlierBench.published_areas),
    "d": Part("(d) how many background rows", OutlierBench.shares),
    "e": Part("(e) time", OutlierBench.speed),
    "f": Part("(f) classes that a model does not know", OutlierBench.unknown),
}
BENCH = OutlierBench
PAGE = Page(
    "outliers",
    "Benchmarks of outlier detection",
    (
        "One setting for all sets, no labels used. Isolation forests (Liu, Ting & Zhou, 2008) differ by up to ten points from one seed "
        "to the next on some sets, so five of them stand beside ours: the mean of their AUROC, and the AUROC of their mean score.",
        "The sets are 13 of ADBench (Han et al., 2022). What `auto` combines, and how, was chosen by means over these sets and over 22 "
        "made of tables with classes (one class and a few rows of the others), not set by set.",
        "Published figures in (b) to (d) are those of Röder, 2013, Active learning: new approaches, and industrial applications.",
    ),
    tuple(PARTS),
    claims,
)
