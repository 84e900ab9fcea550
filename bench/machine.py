"""What the benchmark ran on: the computer, the commit, the versions."""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from page import ROOT, Made


def output(*command: str) -> str:
    """What a program prints, or nothing if it is not there or fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def proc_field(path: str, name: str) -> str:
    """A field of a file such as /proc/cpuinfo."""
    if not Path(path).is_file():
        return ""
    for line in Path(path).read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == name:
            return value.strip()
    return ""


def cpu() -> str:
    model = proc_field("/proc/cpuinfo", "model name") or output("sysctl", "-n", "machdep.cpu.brand_string")
    return model or platform.processor() or platform.machine()


def memory() -> str:
    kib = proc_field("/proc/meminfo", "MemTotal").removesuffix(" kB")
    return f"{int(kib) / 2**20:.0f} GiB memory" if kib else "memory unknown"


def commit() -> str:
    found = output("git", "rev-parse", "--short", "HEAD") or "unknown"
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks*.md", ":!bench/results")
    return f"{found} with changes" if changed else found


def package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def r_package(name: str) -> str:
    """The version of a package of R, or nothing where R or the package is absent."""
    return output("Rscript", "-e", f"library({name}); cat(as.character(packageVersion('{name}')))")


class OtherPrograms:
    """How busy programs that we have not started keep the machine, from now on."""

    def __init__(self) -> None:
        self.start = time.monotonic()
        self.before = self.seconds()

    @staticmethod
    def seconds() -> float:
        """Of all cores since the machine was started, less those of our own programs that have ended."""
        stat = Path("/proc/stat")
        if not stat.is_file():
            return 0.0
        user, nice, system, _idle, _wait, interrupts, soft, stolen, *_ = map(int, stat.read_text().split()[1:11])
        all_programs = (user + nice + system + interrupts + soft + stolen) / os.sysconf("SC_CLK_TCK")
        ours = os.times()
        return all_programs - ours.children_user - ours.children_system

    def cores(self) -> float:
        """How many cores they took on average."""
        return (self.seconds() - self.before) / max(time.monotonic() - self.start, 0.01)


def program(hedgerow: Path, target: Path) -> str:
    """The commit of the program: that of the checkout if it was built there, else only what the file itself tells."""
    if target.resolve() in hedgerow.resolve().parents:
        return commit()
    if not hedgerow.is_file():
        return "unknown"
    return f"unknown (a program given by its path, SHA-256 {digest(hedgerow)}; scripts of commit {commit()})"


def digest(path: Path) -> str:
    """Enough of a file's SHA-256 to tell builds apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def made(args: argparse.Namespace, command: str, versions: list[str]) -> Made:
    """What stands above a table. Load is given because whatever else runs makes the times worth less."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    rust = output("rustc", "--version").split(" (")[0] or "rustc unknown"
    known = [output(str(args.hedgerow), "--version") or "hedgerow", rust, f"Python {sys.version.split()[0]}", *versions]
    return Made(
        date=date.today().isoformat(),
        commit=program(args.hedgerow, args.target),
        command=command,
        computer=f"{cpu()}, {os.cpu_count()} cores, {memory()}, {platform.system()}{load}; {args.threads} threads",
        versions=", ".join(known),
    )
