"""Progress of a fit: a bar, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

Watch = Callable[[int, "int | None", "float | None"], "bool | None"]


class Bar:
    """A bar of tqdm (also in notebooks) where that is installed, a line a second on standard error where it is not."""

    def __init__(self, title: str) -> None:
        """Show nothing before there is something to tell."""
        self._title = title
        self._bar: Any = None
        self._shown = 0.0

    def __call__(self, done: int, total: int | None, accuracy: float | None) -> None:
        """Show how far the work has come."""
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._line(done, total, accuracy)
            return
        if self._bar is None:
            self._bar = tqdm(total=total, desc=self._title)
        self._bar.total = total
        if accuracy is not None:
            self._bar.set_postfix(accuracy=f"{accuracy:.4f}", refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        if self._bar is not None:
            self._bar.close()

    def _line(self, done: int, total: int | None, accuracy: float | None) -> None:
        now = time.monotonic()
        if now - self._shown < 1.0 and done != total:
            return
        self._shown = now
        of = f" of {total}" if total else ""
        so_far = f", accuracy {accuracy:.4f}" if accuracy is not None else ""
        print(f"{self._title}: {done}{of}{so_far}", file=sys.stderr)


class Callbacks:
    """Tells scikit-learn's callbacks of every round; one that returns true ends the fit early."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        """Begin the task of which rounds are the parts."""
        self._estimator, self._data = estimator, {"X": X, "y": y}
        self._context = estimator._init_callback_context(task_name="fit", max_subtasks=None)
        self._context.call_on_fit_task_begin(estimator=estimator, **self._data)
        self._told = 0

    def __call__(self, done: int, total: int | None, accuracy: float | None) -> bool:
        """Tell of the rounds since the last time."""
        stop = False
        for _ in range(self._told, done):
            context = self._context.subcontext(task_name="round")
            context.call_on_fit_task_begin(estimator=self._estimator, **self._data)
            stop |= bool(context.call_on_fit_task_end(estimator=self._estimator, **self._data))
        self._told = max(self._told, done)
        return stop

    def close(self) -> None:
        """End the task."""
        self._context.call_on_fit_task_end(estimator=self._estimator, **self._data)


class Watchers:
    """Everybody who watches one fit."""

    def __init__(self, estimator: Any, title: str, X: Any, y: Any) -> None:
        """Find out who watches."""
        self._all: list[Any] = [Bar(title)] if estimator.verbose else []
        if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
            self._all.append(Callbacks(estimator, X, y))

    def watch(self) -> Watch | None:
        """Give what the engine should call, or None if there is nothing to report to."""
        return self._tell if self._all else None

    def _tell(self, done: int, total: int | None, accuracy: float | None) -> bool:
        return any([watcher(done, total, accuracy) for watcher in self._all])

    def close(self) -> None:
        """Tell everybody that it is over."""
        for watcher in self._all:
            watcher.close()
