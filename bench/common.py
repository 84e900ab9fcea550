"""What all pages need: programs run one at a time, each in a process of its own, and sections made of what they print."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import machine
from datasets import CACHE, DATASETS, Dataset
from page import ROOT, Body, Page, Section, Sections
from runs import OURS, Run

HERE = Path(__file__).resolve().parent
PEER_SCRIPTS = HERE / "peers"
# Programs whose threads wait for each other by spinning suffer out of proportion when they have to share cores.
MOST_OTHER_CORES = 0.2

Settings = Mapping[str, object]
Command = list[str | Path]


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def names_of(known: Collection[str]) -> Callable[[str], list[str]]:
    """Reads an argument such as `a,c`, of which all names must be known."""

    def parse(text: str) -> list[str]:
        found = [name.strip() for name in text.split(",") if name.strip()]
        if unknown := [name for name in found if name not in known]:
            raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
        return found

    return parse


class Failed(Exception):
    """A system that did not give a result."""


class TimedOut(Failed):
    """A system that was stopped before it had one."""


def run_json(command: Sequence[object], limit: float | None = None, extra: dict[str, str] | None = None) -> dict:
    """Runs a program to its end, or for `limit` seconds, and reads the JSON object that it prints. `extra` goes into its
    environment."""
    env = {**os.environ, **(extra or {})}
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired as error:
        raise TimedOut(f"stopped after {limit:.0f} s") from error
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-3:]
        raise Failed(f"exit code {done.returncode}: {' / '.join(last)}")
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError as error:
        raise Failed(f"no JSON on stdout: {error}") from error


class Brief(Protocol):
    """Something measured that can be told in a few words."""

    def brief(self) -> str: ...


T = TypeVar("T", bound=Brief)


class Bench:
    """Runs systems and keeps what they report. A page's bench has a method for each of its parts."""

    def __init__(self, args: argparse.Namespace, sets: list[str], peers: list[str]) -> None:
        self.args, self.sets, self.peers = args, sets, peers
        # All that was printed, for those who want to look closer.
        self.raw: list[dict] = []
        # Whether Hedgerow gave a result each time.
        self.done = True
        self.begin()

    def begin(self) -> None:
        """Forgets what belongs to the part before."""
        self.commands: list[str] = []
        self.notes: list[str] = []
        # Runs that gave a result, and the cores that other programs took during some of them.
        self.n_results = 0
        self.busy: dict[str, float] = {}
        # Of whom the page tells the versions.
        self.versions: list[str] = []
        # The commit, and what run.py is given to make this part, where they are not the usual ones.
        self.commit = self.invocation = ""

    def note(self, text: str) -> None:
        log(text)
        for folder in (self.args.data, ROOT):  # names of files, not where this computer keeps them
            if folder is not None:
                text = text.replace(f"{folder}{os.sep}", "")
        if text not in self.notes:
            self.notes.append(text)

    def execute(
        self, command: Sequence[object], limit: float | None = None, extra: dict[str, str] | None = None
    ) -> dict:
        """Runs a command, and remembers it for those who read the table."""
        shown = self.shown(command)
        if shown not in self.commands:
            self.commands.append(shown)
        return run_json(command, limit, extra)

    def shown(self, command: Sequence[object]) -> str:
        """A command with the names that a reader would use."""
        text = " ".join(map(str, command))
        names = {str(self.args.hedgerow): OURS, sys.executable: "bench/.venv/bin/python"}
        names |= {f"{folder}{os.sep}": name for folder, name in ((self.args.data, "$HEDGEROW_DATA/"), (ROOT, ""))}
        for old, new in names.items():
            text = text.replace(old, new)
        return text

    def attempt(self, label: str, measure: Callable[[], dict], read: Callable[[dict], T] = Run.from_json) -> T | None:
        """Runs something and takes from its JSON what the table needs; what fails is noted."""
        start, others = time.monotonic(), machine.OtherPrograms()
        try:
            result = measure()
            found = read(result)
        except Failed as error:
            self.note(f"{label}: no result, {error}")
            return None
        except KeyError as error:
            self.note(f"{label}: no result, its JSON has no {error}")
            return None
        self.raw.append({"run": label} | result)
        self.n_results += 1
        if (cores := others.cores()) > MOST_OTHER_CORES:
            self.busy[label] = cores
        log(f"{label}: {found.brief()} ({time.monotonic() - start:.0f} s in all)")
        return found

    def needed(self, label: str, measure: Callable[[], dict], read: Callable[[dict], T] = Run.from_json) -> T | None:
        """Runs something without which the page is not whole."""
        found = self.attempt(label, measure, read)
        self.done = self.done and found is not None
        return found

    def ours(
        self, label: str, verb: str, model: str, files: Command, settings: Settings, seed: int = 0, frozen: bool = False
    ) -> Run | None:
        """A fit, a training run or a stream of Hedgerow."""
        sets = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
        running = ["--seed", seed, "--threads", self.args.threads, *(["--frozen"] if frozen else []), "--json"]
        command = [self.args.hedgerow, verb, "--model", model, *files, *sets, *running]
        return self.needed(f"{label} {OURS} {verb} {model}", lambda: self.execute(command))

    def peer(
        self, label: str, script: str, *options: object, threads: int | None = None, limit: float | None = None
    ) -> Run | None:
        command = [sys.executable, PEER_SCRIPTS / script, *options, "--threads", threads or self.args.threads]
        return self.attempt(f"{label} {script.removesuffix('.py')}", lambda: self.execute(command, limit))

    def files(self, name: str) -> Command:
        """How hedgerow reads a data set."""
        dataset = DATASETS[name]
        train, test = dataset.files(self.args.data)
        return [train, *dataset.target_args(), *dataset.read_args, "--test", test]

    def there(self, name: str) -> bool:
        return name in self.sets and self.ready(DATASETS[name])

    def ready(self, dataset: Dataset) -> bool:
        """Whether the set's files are there; makes them ready if so."""
        data = self.args.data
        missing = dataset.missing(data) if data is not None and data.is_dir() else dataset.sources
        if missing:
            self.note(f"{dataset.name} left out: {', '.join(missing)} not found in the data folder")
            return False
        if not dataset.is_prepared():
            log(f"preparing {dataset.name}")
            subprocess.run([sys.executable, HERE / "datasets.py", data, dataset.name], check=True)
        return True

    def note_busy(self) -> None:
        """Notes the runs whose times are worth little, if there are any."""
        if self.busy:
            self.note(f"other programs took up to {max(self.busy.values()):.1f} cores during {len(self.busy)} of "
                      f"{self.n_results} runs, so these times are not to be trusted: {'; '.join(self.busy)}")  # fmt: skip

    def save(self, name: str) -> None:
        CACHE.mkdir(exist_ok=True)
        (CACHE / f"results-{name}.json").write_text(json.dumps(self.raw, indent=1))


class Part(NamedTuple):
    """A section of a page: its title, and the method that measures it or returns none if there is nothing to run."""

    title: str
    measure: Callable[[Bench], Body | None]


def make(bench: Bench, page: Page, parts: Mapping[str, Part], wanted: Sequence[str]) -> Sections:
    """The sections of those parts that could be run."""
    sections: Sections = {}
    for name in wanted:
        bench.begin()
        made = machine.made(bench.args, "", [])  # before: the load is that at the start
        body = parts[name].measure(bench)
        bench.note_busy()
        bench.save(page.name)
        if body is None or bench.n_results == 0:
            # What the page has is better than that.
            log(f"{page.name}, {name}: not made; its data were not asked for or are not there, or nothing gave a result")
            continue
        only = f" --{page.name}-only {name}" if len(parts) > 1 else ""
        asked = bench.invocation or f"--{page.name}{only}"
        command = " ".join(["python bench/run.py", asked, *bench.args.options])
        versions = ", ".join([made.versions, *bench.versions])
        made = replace(made, commit=bench.commit or made.commit, command=command, versions=versions)
        sections[name] = Section(parts[name].title, made, body, bench.commands, bench.notes)
    return sections
