"""Whether more labels are worth their price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Gain:
    """What more labels would gain in accuracy, as a share of rows."""

    labels: int
    """How many labels more."""
    mean: float
    """The expected gain."""
    low: float
    """The lower end of its 90 % interval."""
    high: float
    """The upper end."""


@dataclass(frozen=True)
class Advice:
    """Whether to stop labelling; true if so."""

    stop: bool
    """Whether to stop."""
    rule: str
    """The rule that was asked."""
    n_labels: int
    """Labels so far."""
    figure: float | None
    """The figure that decided, where it could be computed."""
    reason: str
    """Why."""
    gain: Gain | None
    """What the next ten labels would gain, where there is enough to estimate it by."""

    def __bool__(self) -> bool:
        return self.stop

    def __str__(self) -> str:
        text = f"{'labelling may stop' if self.stop else 'not yet'}: {self.reason}"
        if self.gain is None:
            return text
        mean, low, high = (100 * share for share in (self.gain.mean, self.gain.low, self.gain.high))
        return f"{text}; the next {self.gain.labels} labels would gain about {mean:.2f} points of accuracy ({low:.2f} to {high:.2f})"


def advice_of(told: tuple[Any, ...]) -> Advice:
    """Make advice from what the engine tells."""
    stop, rule, n_labels, figure, reason, gain = told
    return Advice(stop, rule, n_labels, figure, reason, None if gain is None else Gain(*gain))
