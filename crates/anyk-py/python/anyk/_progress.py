"""Progress of long-running work: a tqdm bar or a function of the caller."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from typing import Any, Optional, Union

Progress = Union[bool, None, Callable[[str, int, int], Optional[bool]]]
"""``None``: a progress bar for work that takes more than a second, if its length is known and tqdm is installed. ``False``: no bar. A
function is called as ``progress(what, done, of)`` about ten times a second; return ``True`` to stop the work."""

Tick = Callable[[str, int, int, list[str]], Optional[bool]]


class _Bar:
    def __init__(self, tqdm: Any) -> None:
        self.tqdm = tqdm
        self.bar: Any = None
        self.what = ""

    def __call__(self, what: str, done: int, of: int, told: list[str]) -> None:
        if what != self.what:
            self.close()
            self.what = what
        # Without a total, a bar would only count from 0.
        if of and self.bar is None:
            self.bar = self.tqdm(total=of, desc=what, delay=1.0, leave=False)
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        for message in told:
            self.tqdm.write(message)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


class watching:
    """Context manager that returns the progress callback of the compiled module and closes the bar at the end."""

    def __init__(self, progress: Progress) -> None:
        self.tick: Tick | None = None
        self.bar: _Bar | None = None
        if callable(progress):
            self.tick = _function(progress)
        elif (progress is None or progress is True) and sys.stderr is not None:
            try:
                with warnings.catch_warnings():
                    # Without ipywidgets, tqdm warns in a notebook and draws a text bar, which is good enough.
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
            except ImportError:
                self.tick = _function(lambda what, done, of: None)
            else:
                self.bar = _Bar(tqdm)
                self.tick = self.bar
        else:
            self.tick = _function(lambda what, done, of: None)

    def __enter__(self) -> Tick | None:
        return self.tick

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.close()


def _function(progress: Callable[[str, int, int], Optional[bool]]) -> Tick:
    def tick(what: str, done: int, of: int, told: list[str]) -> Optional[bool]:
        for message in told:
            logging.getLogger("anyk").warning(message)
        return progress(what, done, of)

    return tick
