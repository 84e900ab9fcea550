"""What the benchmark ran on."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


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
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/benchmarks*.md")
    return f"{found} with changes" if changed else found


def package(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return f"{name} not installed"


def ranger_version() -> str:
    """The version of R's ranger, or nothing where R or ranger is absent."""
    return output("Rscript", "-e", "library(ranger); cat(as.character(packageVersion('ranger')))")


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


def header(hedgerow: str, threads: int, peers: list[str]) -> list[str]:
    """The lines above the table. Load is given because whatever else runs makes the times worth less."""
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    versions = [
        f"{output(hedgerow, '--version') or 'hedgerow'} (commit {commit()})",
        output("rustc", "--version") or "rustc unknown",
        f"Python {sys.version.split()[0]}",
        *peers,
    ]
    return [
        f"{date.today().isoformat()}; {cpu()}, {os.cpu_count()} cores, {memory()}, {platform.system()}{load}; "
        f"{threads} threads.  ",
        ", ".join(versions) + ".",
    ]
