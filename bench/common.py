"""What both tables need: programs run one at a time, each in a process of its own, and what they printed kept."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Protocol, TypeVar

from datasets import CACHE, Dataset

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEER_SCRIPTS = HERE / "peers"


def say(text: str) -> None:
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


def run_json(command: list[str | Path], limit: float | None = None, extra: dict[str, str] | None = None) -> dict:
    """Runs a program to its end, or for `limit` seconds, and reads the JSON object that it prints. `extra` goes into its environment."""
    env = {**os.environ, **(extra or {})}
    try:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=limit, env=env)
    except subprocess.TimeoutExpired as error:
        raise Failed(f"stopped after {limit:.0f} s") from error
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
    """Runs systems and keeps what they report."""

    # Where what every run printed is kept.
    results_file: Path

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.raw: list[dict] = []
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        say(text)
        for folder in (self.args.data, ROOT):  # names of files, not where this machine keeps them
            if folder is not None:
                text = text.replace(f"{folder}{os.sep}", "")
        self.notes.append(text)

    def attempt(self, label: str, measure: Callable[[], dict], read: Callable[[dict], T]) -> T | None:
        """Runs something and takes from its JSON what the table needs; what fails is noted."""
        start = time.monotonic()
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
        say(f"{label}: {found.brief()} ({time.monotonic() - start:.0f} s in all)")
        return found

    def ready(self, dataset: Dataset) -> bool:
        """Whether the set's files are there; makes them ready if so."""
        data = self.args.data
        missing = dataset.missing(data) if data is not None and data.is_dir() else dataset.sources
        if missing:
            self.note(f"{dataset.name} left out: {', '.join(missing)} not found in the data folder")
            return False
        if not dataset.is_prepared():
            say(f"preparing {dataset.name}")
            subprocess.run([sys.executable, HERE / "datasets.py", data, dataset.name], check=True)
        return True

    def save(self) -> None:
        CACHE.mkdir(exist_ok=True)
        self.results_file.write_text(json.dumps(self.raw, indent=1))
